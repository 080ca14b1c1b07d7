"""The version of the library, which is also in ``pyproject.toml``."""

__version__ = "0.1.0"
