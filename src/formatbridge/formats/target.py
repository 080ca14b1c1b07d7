"""A format as the target of a request, with what is known about the server and the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal

from typing_extensions import TypeVar

from formatbridge import ir
from formatbridge.dialect import Dialect
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.model_facts import ModelSource

FormatT_co = TypeVar("FormatT_co", bound=ir.FormatName | FormatSpec, default=Any, covariant=True)
"""The format of a ``Target``."""


@dataclass(frozen=True, slots=True)
class Target(Generic[FormatT_co]):
    """A format, with what is known about the server and the model that receive the request.

    ``Target`` is accepted wherever ``target`` or ``via`` names a format. The dialect and the model change requests only.

    >>> target = Target("chat_completions", dialect="openrouter")
    """

    format: FormatT_co
    """The format."""
    dialect: str | Dialect | None = field(default=None, kw_only=True)
    """A built-in dialect by its name, or one of the caller; None: any server of the format."""
    model: ModelSource | None = field(default=None, kw_only=True)
    """Facts about the model, or a mapping or function that has them by the name of the model; None: unknown."""

    @property
    def dialect_name(self) -> str | None:
        """The name of the dialect; None: any server of the format."""
        return self.dialect.name if isinstance(self.dialect, Dialect) else self.dialect

    def __repr__(self) -> str:
        name, dialect = (self.format.name if isinstance(self.format, FormatSpec) else self.format), self.dialect_name
        return f"Target({name!r}{f', dialect={dialect!r}' if dialect else ''}{', model=...' if self.model else ''})"

    if not TYPE_CHECKING:

        def __class_getitem__(cls, _format: Any) -> type[Target]:
            """Return the class itself: ``typing`` would set an attribute of each instance, which a frozen class with slots rejects."""
            return cls


FormatOrName = ir.FormatName | FormatSpec | Target
"""The type of the arguments ``source``, ``target`` and ``via``. It has no ``str``, so that type checkers reject a misspelt name."""
ToChatCompletions = Literal["chat_completions"] | Target[Literal["chat_completions"]]
ToMessages = Literal["messages"] | Target[Literal["messages"]]
ToResponses = Literal["responses"] | Target[Literal["responses"]]
ToGenerateContent = Literal["generate_content"] | Target[Literal["generate_content"]]
"""Targets of a known format, by which overloads select the typed models of results."""
