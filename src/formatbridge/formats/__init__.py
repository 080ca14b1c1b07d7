"""The wire formats: one package for each, the registry, and ``shared`` with the code that several formats use."""

from formatbridge.formats.registry import FORMATS, load, load_both, load_for_requests

__all__ = ["FORMATS", "load", "load_both", "load_for_requests"]
