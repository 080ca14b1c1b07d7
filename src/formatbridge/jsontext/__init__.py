"""JSON text and values: parsing, writing, pointers (RFC 6901) and limits on depth."""
