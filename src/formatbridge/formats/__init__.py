"""The wire formats: one package for each, their registry, and what several have in common in ``shared``."""

from formatbridge.formats.registry import FORMATS, load, load_both

__all__ = ["FORMATS", "load", "load_both"]
