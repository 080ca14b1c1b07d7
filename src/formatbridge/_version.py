"""The version of the library, as ``pyproject.toml`` says it."""

__version__ = "0.1.0"
