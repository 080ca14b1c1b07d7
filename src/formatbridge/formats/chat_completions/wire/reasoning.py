"""The carriers of reasoning; no vendor's official type has any of them, and several may name the same thoughts."""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Int, Open, Unknown, Wire


class ReasoningEntry(Wire):
    """What every entry of ``reasoning_details`` may carry beside its content.

    Seen: recorded traffic.
    """

    id: str | None = None
    format: str | None = None
    """Whose tokens these are. Known: anthropic-claude-v1, google-gemini-v1, openai-responses-v1, xai-responses-v1."""
    index: Int | None = None
    """Place in the list, from 0; pieces of a stream with the same index belong together."""


class ReasoningText(ReasoningEntry):
    """Thoughts in the model's own words; without text where only the signature is sent.

    Seen: recorded traffic.
    """

    type: Literal["reasoning.text"]
    text: str | None = None
    signature: str | None = None


class ReasoningSummary(ReasoningEntry):
    """Thoughts in the words of a summary.

    Seen: recorded traffic.
    """

    type: Literal["reasoning.summary"]
    summary: str | None = None


class ReasoningEncrypted(ReasoningEntry):
    """Thoughts that only their vendor can read.

    Seen: recorded traffic.
    """

    type: Literal["reasoning.encrypted"]
    data: str | None = None


ReasoningDetail = Annotated[ReasoningText | ReasoningSummary | ReasoningEncrypted | Unknown, Open("type")]
"""One entry of ``reasoning_details``."""


class SignedThinking(Wire):
    """Thoughts as a block of the messages format.

    Source: proxies' documentation; in no recording.
    """

    type: Literal["thinking"]
    thinking: str | None = None
    signature: str | None = None


class RedactedThinking(Wire):
    """Withheld thoughts as a block of the messages format.

    Source: proxies' documentation; in no recording.
    """

    type: Literal["redacted_thinking"]
    data: str | None = None


ThinkingBlock = Annotated[SignedThinking | RedactedThinking | Unknown, Open("type")]
"""One entry of ``thinking_blocks``."""


class Thought(Wire):
    """What a generate_content model says beside a message or a tool call.

    Seen: recorded traffic.
    """

    thought: bool | None = None
    """True: the content beside it is thought, not answer."""
    thought_signature: str | None = None
    """Base64; goes back with the message or call that it came with."""


class ExtraContent(Wire):
    """Additions by vendor; of these only one is known.

    Seen: recorded traffic.
    """

    google: Thought | None = None
