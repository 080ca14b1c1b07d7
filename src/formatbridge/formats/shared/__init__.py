"""Code that several formats share; each module has one subject."""
