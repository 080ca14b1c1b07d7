"""The list of models; the same body as in chat completions, since both share an endpoint."""

from formatbridge.validation.wire_base import AT_ONCE, Count, Number, Wire


class Model(Wire):
    """A model that can be asked.

    Source: official SDK types, 2026-11; the last three: recorded traffic. Seen: lists of other servers, with ``id`` alone in common.
    """

    id: str
    created: Number | None = None
    """Unix time in seconds; a constant at some relays."""
    object: str | None = None
    """``model``."""
    owned_by: str | None = None
    shutdown_date: str | None = None
    """When the model ends; None: not announced."""
    name: str | None = None
    description: str | None = None
    context_length: Count | None = None
    """Tokens of input and output together."""


class ModelList(Wire):
    """All models that the key may use.

    Source: official SDK types, 2026-11. Seen: lists without ``object``.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("data",)

    object: str | None = None
    """``list``."""
    data: list[Model] | None
    """Null: an empty list, as relays write it."""
