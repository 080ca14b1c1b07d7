"""How fast the library is, beside the standard library and its peers.

``pip install 'formatbridge[benchmarks]'``, then ``python -m benchmarks`` prints one table; ``--quick`` in a minute, ``--case NAME``
a part of it. Peers that are not installed are left out.
"""
