"""The public sources of the rules of servers."""

from __future__ import annotations

from collections.abc import Mapping


def sources_of_fields(fields: Mapping[str, str]) -> Mapping[str, str]:
    """Return the source of each field of ``DialectRules``. ``fields``: a source to its fields, separated by spaces.

    >>> sources_of_fields({"docs.example.com/chat": "rejects media"})
    {'rejects': 'docs.example.com/chat', 'media': 'docs.example.com/chat'}
    """
    return {field: source for source, names in fields.items() for field in names.split()}
