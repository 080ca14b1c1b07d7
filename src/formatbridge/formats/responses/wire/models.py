"""The list of models. The body is the same as in chat completions, because both share an endpoint."""

from formatbridge.validation.wire_base import AT_ONCE, Count, Number, Wire


class Model(Wire):
    """A model that requests can use.

    Source: official SDK types, 2026-11; the last three fields: recorded traffic. Seen: other servers, whose lists have only ``id``
    in common.
    """

    id: str
    created: Number | None = None
    """Unix time in seconds; a relay may send a constant."""
    object: str | None = None
    """``model``."""
    owned_by: str | None = None
    shutdown_date: str | None = None
    """The date on which the model is shut down; None: not announced."""
    name: str | None = None
    description: str | None = None
    context_length: Count | None = None
    """Maximum of input and output tokens together."""


class ModelList(Wire):
    """All models that the API key can use.

    Source: official SDK types, 2026-11. Seen: lists without ``object``.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("data",)

    object: str | None = None
    """``list``."""
    data: list[Model] | None
    """Null is an empty list."""
