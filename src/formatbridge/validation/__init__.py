"""Validation of bodies: the base of all wire models, validators that return dicts, and error messages."""
