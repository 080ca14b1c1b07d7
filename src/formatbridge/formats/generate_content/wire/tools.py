"""Tools of a request: function declarations, server tools, and the tool configuration.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import EnumValue, Proto, Repeated
from formatbridge.formats.generate_content.wire.hosted_tools import (
    CodeExecution,
    ComputerUse,
    FileSearch,
    Maps,
    McpServer,
    PartnerSearch,
    RetentionSearch,
    Search,
    SearchRetrieval,
    UrlContext,
    WebSearchFilter,
)
from formatbridge.formats.generate_content.wire.retrieval import Retrieval
from formatbridge.formats.generate_content.wire.schema import Schema
from formatbridge.validation.wire_base import Number


class FunctionDeclaration(Proto):
    """A function that the client runs.

    Either ``parameters`` or ``parametersJsonSchema`` is set, and either ``response`` or ``responseJsonSchema``.
    """

    description: str | None = None
    name: str
    """A letter or underscore, then letters, digits and ``_.:-``; up to 128 characters."""
    parameters: Schema | None = None
    """None: the function takes no arguments."""
    parametersJsonSchema: dict[str, Any] | bool | None = None
    response: Schema | None = None
    responseJsonSchema: dict[str, Any] | bool | None = None
    behavior: EnumValue | None = None
    """BLOCKING or NON_BLOCKING; for live sessions."""


class Tool(Proto):
    """A list of functions or a server tool; several fields may be set in one object."""

    retrieval: Retrieval | None = None
    computerUse: ComputerUse | None = None
    fileSearch: FileSearch | None = None
    googleSearch: Search | None = None
    googleMaps: Maps | None = None
    codeExecution: CodeExecution | None = None
    enterpriseWebSearch: WebSearchFilter | None = None
    functionDeclarations: Repeated[FunctionDeclaration] | None = None
    googleSearchRetrieval: SearchRetrieval | None = None
    parallelAiSearch: RetentionSearch | None = None
    urlContext: UrlContext | None = None
    mcpServers: Repeated[McpServer] | None = None
    exaAiSearch: PartnerSearch | None = None


class FunctionCallingConfig(Proto):
    """Whether the model must call functions, and which ones.

    Source: official SDK types, 2026-11. Seen: recorded traffic, modes in either case.
    """

    allowedFunctionNames: list[str] | None = None
    """For ANY and VALIDATED; None or []: all functions."""
    mode: EnumValue | None = None
    """AUTO (the default), ANY (the model must call a function), NONE, or VALIDATED (arguments follow their schema)."""
    streamFunctionCallArguments: bool | None = None
    """True: arguments may be sent in pieces, as ``partialArgs``."""


class LatLng(Proto):
    """A geographic position, in degrees."""

    latitude: Number | None = None
    """-90 to 90."""
    longitude: Number | None = None
    """-180 to 180."""


class RetrievalConfig(Proto):
    """The user's location and language, for searches."""

    latLng: LatLng | None = None
    languageCode: str | None = None


class ToolConfig(Proto):
    """The configuration of the tools."""

    retrievalConfig: RetrievalConfig | None = None
    functionCallingConfig: FunctionCallingConfig | None = None
    includeServerSideToolInvocations: bool | None = None
    """True: the response contains ``toolCall`` and ``toolResponse`` parts."""
