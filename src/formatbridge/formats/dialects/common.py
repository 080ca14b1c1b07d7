"""What the tables of several servers have in common: values, and the form of their public sources."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import MediaSource

MAX_TOKENS = {"max_completion_tokens": "max_tokens"}
"""The older name of the token limit in Chat Completions."""
IMAGES: frozenset[MediaSource] = frozenset({"image_url", "image_data"})
IMAGES_AND_VIDEOS: frozenset[MediaSource] = frozenset({"image_url", "image_data", "video_url", "video_data"})
STILL_IMAGES = frozenset({"image/jpeg", "image/png", "image/webp"})
"""The media types of images without GIF, which several servers reject (``docs/dialects.md``, ``image_types``)."""
FILES_OF_OPENAI = frozenset({"application/pdf", "audio/wav", "audio/x-wav", "audio/wave", "audio/mpeg", "audio/mp3"})
"""The media types of documents and audio that OpenAI reads in Chat Completions (openai-python, ``InputAudio.format``)."""
WEB_SEARCH = frozenset({"web_search_options"})
OF_OPENAI = frozenset({
    "audio", "modalities", "moderation", "prediction", "prompt_cache_options", "prompt_cache_retention", "safety_identifier",
})  # fmt: skip
"""Fields of Chat Completions that the types of other servers than OpenAI's do not have."""
IMAGES_OF_XAI = "docs.x.ai/developers/model-capabilities/images/understanding; cline/cline#5278, chenyme/grok2api#944"
WHY_NO_CACHE_MARKS = (
    "the server's documentation does not mention cache marks; "
    "prompt_cache_breakpoint is a field of OpenAI (openai-python, types/chat)"
)


def sources_of_fields(fields: Mapping[str, str]) -> Mapping[str, str]:
    """Return the source of each field of ``DialectRules``. ``fields``: a source to its fields, separated by spaces.

    >>> sources_of_fields({"docs.example.com/chat": "rejects media"})
    {'rejects': 'docs.example.com/chat', 'media': 'docs.example.com/chat'}
    """
    return {field: source for source, names in fields.items() for field in names.split()}
