"""The list of models, from GET /v1/models."""

from formatbridge.validation.wire_base import AT_ONCE, Count, Number, Wire


class Model(Wire):
    """A model that requests can use.

    Source: official SDK types, 2026-11; the last three: recorded traffic.
    """

    id: str
    created: Number | None = None
    """Unix time in seconds; Mistral sends one constant for all models (recorded traffic)."""
    object: str | None = None
    """Known: model."""
    owned_by: str | None = None
    shutdown_date: str | None = None
    """ISO 8601 date on which the model is shut down."""
    name: str | None = None
    description: str | None = None
    context_length: Count | None = None
    """Maximum of input and output tokens together."""


class ModelList(Wire):
    """The list of all models, in one page.

    Source: official SDK types, 2026-11.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("data",)

    object: str | None = None
    """Known: list. OpenRouter leaves it out (recorded traffic)."""
    data: list[Model] | None
    """Null is an empty list."""
