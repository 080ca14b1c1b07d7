"""The list of models in this format, from GET /v1/models."""

from formatbridge.validation.wire_base import AT_ONCE, Count, Number, Wire


class Model(Wire):
    """A model that may be named in requests.

    Source: official SDK types, 2026-11; the last three: recorded traffic.
    """

    id: str
    created: Number | None = None
    """Unix seconds; relays send one constant for all models."""
    object: str | None = None
    """Known: model."""
    owned_by: str | None = None
    shutdown_date: str | None = None
    """ISO 8601 date from which on the model is gone."""
    name: str | None = None
    description: str | None = None
    context_length: Count | None = None
    """Tokens of input and output together."""


class ModelList(Wire):
    """The whole list of models, in one page.

    Source: official SDK types, 2026-11.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("data",)

    object: str | None = None
    """Known: list. Some servers leave it out."""
    data: list[Model] | None
    """Null: an empty list, as relays write it."""
