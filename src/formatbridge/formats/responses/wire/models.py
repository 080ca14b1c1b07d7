"""The list of models; the same body as in chat completions, since both share an endpoint."""

from typing import Literal

from formatbridge.formats._wire import AT_ONCE, Int, Wire


class Model(Wire):
    """A model that can be asked.

    Source: official SDK types, 2026-11. Seen: lists of other servers, with ``id`` alone in common.
    """

    id: str
    created: Int | None = None
    """Unix time in seconds; a constant at some relays."""
    object: str | None = None
    """``model``."""
    owned_by: str | None = None
    shutdown_date: str | None = None
    """When the model ends; None: not announced."""


class ModelList(Wire):
    """All models that the key may use.

    Source: official SDK types, 2026-11. Seen: lists without ``object``.
    """

    model_config = AT_ONCE

    object: Literal["list"] | None = None
    data: list[Model]
