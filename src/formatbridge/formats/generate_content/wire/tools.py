"""What the model may call: declared functions, the server's own tools, and how to choose among them."""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import Proto, Repeated, Word
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
    """A function that the client offers.

    The two ways to describe its parameters exclude each other, and so do those for its result.
    Source: official SDK types, 2026-11.
    """

    description: str | None = None
    name: str
    """A letter or underscore, then letters, digits and ``_.:-``; up to 128 characters."""
    parameters: Schema | None = None
    """None: the function takes no arguments."""
    parametersJsonSchema: dict[str, Any] | bool | None = None
    response: Schema | None = None
    responseJsonSchema: dict[str, Any] | bool | None = None
    behavior: Word | None = None
    """BLOCKING or NON_BLOCKING; for live sessions."""


class Tool(Proto):
    """A set of functions or one of the server's tools; several members may be set in one object.

    Source: official SDK types, 2026-11.
    """

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
    """Whether and which functions the model must call.

    Source: official SDK types, 2026-11. Seen: recorded traffic, modes in either case.
    """

    allowedFunctionNames: list[str] | None = None
    """For ANY and VALIDATED; None or [] means all."""
    mode: Word | None = None
    """AUTO (the default), ANY (a call is a must), NONE, or VALIDATED (calls keep to their schema)."""
    streamFunctionCallArguments: bool | None = None
    """True: arguments may come in pieces, as ``partialArgs``."""


class LatLng(Proto):
    """A place on the globe, in degrees.

    Source: official SDK types, 2026-11.
    """

    latitude: Number | None = None
    """-90 to 90."""
    longitude: Number | None = None
    """-180 to 180."""


class RetrievalConfig(Proto):
    """Where the user is and what language they read, for searching.

    Source: official SDK types, 2026-11.
    """

    latLng: LatLng | None = None
    languageCode: str | None = None


class ToolConfig(Proto):
    """How the tools are to be used.

    Source: official SDK types, 2026-11.
    """

    retrievalConfig: RetrievalConfig | None = None
    functionCallingConfig: FunctionCallingConfig | None = None
    includeServerSideToolInvocations: bool | None = None
    """True: the response shows ``toolCall`` and ``toolResponse`` parts."""
