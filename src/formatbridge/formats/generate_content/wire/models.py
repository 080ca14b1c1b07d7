"""The list of models."""

from formatbridge.formats.generate_content.wire._proto import Int64, Proto
from formatbridge.validation.wire_base import AT_ONCE, Count, Number


class DeployedModel(Proto):
    """The endpoint that serves a tuned model.

    Source: official SDK types, 2026-11, which rename both fields.
    """

    endpoint: str | None = None
    deployedModelId: str | None = None


class Checkpoint(Proto):
    """A checkpoint of a tuned model.

    Source: official SDK types, 2026-11.
    """

    checkpointId: str | None = None
    epoch: Int64 | None = None
    step: Int64 | None = None


class Model(Proto):
    """A model; relays send null for all fields except the name.

    Source: specification, Model list entry; official SDK types, 2026-11. Seen: recorded traffic.
    """

    name: str
    """``models/...``; the prefix may be missing."""
    baseModelId: str | None = None
    version: str | None = None
    versionId: str | None = None
    """``version``, as named on the vendor's cloud platform."""
    displayName: str | None = None
    description: str | None = None
    inputTokenLimit: Count | None = None
    outputTokenLimit: Count | None = None
    supportedGenerationMethods: list[str] | None = None
    """generateContent, countTokens, embedContent and others."""
    temperature: Number | None = None
    """The default value."""
    maxTemperature: Number | None = None
    topP: Number | None = None
    """The default value."""
    topK: Number | None = None
    """The default value."""
    thinking: bool | None = None
    deployedModels: list[DeployedModel] | None = None
    labels: dict[str, str] | None = None
    defaultCheckpointId: str | None = None
    checkpoints: list[Checkpoint] | None = None
    createTime: str | None = None
    """RFC 3339; tuned models only."""
    updateTime: str | None = None
    """RFC 3339; tuned models only."""


class ModelList(Proto):
    """A page of models; the field name depends on the kind of models.

    Source: specification, GET models; official SDK types, 2026-11. Seen: recorded traffic.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("models", "tunedModels", "publisherModels")

    models: list[Model] | None = None
    tunedModels: list[Model] | None = None
    publisherModels: list[Model] | None = None
    nextPageToken: str | None = None
    """None or "": the last page."""
