"""Fields with reasoning. No official SDK has them, and several of them may repeat the same reasoning."""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Int, Open, Unknown, Wire


class ReasoningEntry(Wire):
    """The fields that all entries of ``reasoning_details`` have in common.

    Seen: recorded traffic.
    """

    id: str | None = None
    format: str | None = None
    """The vendor and version of the tokens. Known: anthropic-claude-v1, google-gemini-v1, openai-responses-v1, xai-responses-v1."""
    index: Int | None = None
    """Index in the list, from 0; stream deltas with the same index belong together."""


class ReasoningText(ReasoningEntry):
    """Reasoning text; without ``text`` where only the signature is sent.

    Seen: recorded traffic.
    """

    type: Literal["reasoning.text"]
    text: str | None = None
    signature: str | None = None


class ReasoningSummary(ReasoningEntry):
    """A summary of the reasoning.

    Seen: recorded traffic.
    """

    type: Literal["reasoning.summary"]
    summary: str | None = None


class ReasoningEncrypted(ReasoningEntry):
    """Encrypted reasoning, which only its vendor can read.

    Seen: recorded traffic.
    """

    type: Literal["reasoning.encrypted"]
    data: str | None = None


ReasoningDetail = Annotated[ReasoningText | ReasoningSummary | ReasoningEncrypted | Unknown, Open("type")]
"""One entry of ``reasoning_details``."""


class SignedThinking(Wire):
    """Reasoning as a block of the messages format.

    Source: proxies' documentation; not in recorded traffic.
    """

    type: Literal["thinking"]
    thinking: str | None = None
    signature: str | None = None


class RedactedThinking(Wire):
    """Redacted reasoning as a block of the messages format.

    Source: proxies' documentation; not in recorded traffic.
    """

    type: Literal["redacted_thinking"]
    data: str | None = None


ThinkingBlock = Annotated[SignedThinking | RedactedThinking | Unknown, Open("type")]
"""One entry of ``thinking_blocks``."""


class Thought(Wire):
    """Fields of a generate_content model on a message or a tool call.

    Seen: recorded traffic.
    """

    thought: bool | None = None
    """True: the content of the message is reasoning, not answer."""
    thought_signature: str | None = None
    """Base64; to be sent back with the same message or call."""


class ExtraContent(Wire):
    """Additional fields by vendor; only one vendor is known, with two servers.

    Seen: recorded traffic; ``vertex`` in earendil-works/pi#6733.
    """

    google: Thought | None = None
    vertex: Thought | None = None
    """The same fields from the server of Vertex AI."""
