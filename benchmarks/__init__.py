"""How fast the library is, compared with the standard library and with its peers.

``pip install 'formatbridge[benchmarks]'``, then ``python -m benchmarks`` prints one table. ``--quick`` takes a minute, ``--case NAME``
measures one case. Peers that are not installed are left out.
"""
