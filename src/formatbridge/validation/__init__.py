"""Validation of bodies: the base of all wire models, validators that return plain dicts, and error messages."""
