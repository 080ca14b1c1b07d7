"""The list of models."""

from formatbridge.formats.generate_content.wire._proto import Int64, Proto
from formatbridge.validation.wire_base import AT_ONCE, Count, Number


class DeployedModel(Proto):
    """Where a tuned model is served.

    Source: official SDK types, 2026-11, which rename both fields.
    """

    endpoint: str | None = None
    deployedModelId: str | None = None


class Checkpoint(Proto):
    """A version of a tuned model that was kept.

    Source: official SDK types, 2026-11.
    """

    checkpointId: str | None = None
    epoch: Int64 | None = None
    step: Int64 | None = None


class Model(Proto):
    """One model; a relay leaves all but the name null.

    Source: specification, Model list entry; official SDK types, 2026-11. Seen: recorded traffic.
    """

    name: str
    """``models/...``; some relays leave the prefix out."""
    baseModelId: str | None = None
    version: str | None = None
    versionId: str | None = None
    """``version``, on the vendor's cloud platform."""
    displayName: str | None = None
    description: str | None = None
    inputTokenLimit: Count | None = None
    outputTokenLimit: Count | None = None
    supportedGenerationMethods: list[str] | None = None
    """generateContent, countTokens, embedContent and others."""
    temperature: Number | None = None
    """The default."""
    maxTemperature: Number | None = None
    topP: Number | None = None
    """The default."""
    topK: Number | None = None
    """The default."""
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
    """A page of models, under the name that goes with their kind.

    Source: specification, GET models; official SDK types, 2026-11. Seen: recorded traffic.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("models", "tunedModels", "publisherModels")

    models: list[Model] | None = None
    tunedModels: list[Model] | None = None
    publisherModels: list[Model] | None = None
    nextPageToken: str | None = None
    """None or "": the last page."""
