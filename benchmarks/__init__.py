"""How fast the library is, beside the standard library and its peers. ``python -m benchmarks`` prints one table."""
