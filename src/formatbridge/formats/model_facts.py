"""Facts about a model, which the caller passes in: the library has no table of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from formatbridge import ir
from formatbridge.arguments import shown, type_name
from formatbridge.errors import ConfigurationError, FormatBridgeError

ReasoningKind = Literal["effort", "budget", "adaptive", "level", "none", "always"]
"""How a request controls the reasoning of a model:

- ``effort``: an effort only, such as ``reasoning_effort`` of OpenAI's models.
- ``budget``: a number of tokens: ``thinking.budget_tokens`` of Claude 4.5 and earlier, ``thinkingBudget`` of Gemini 2.5.
- ``adaptive``: the model decides, guided by an effort: ``thinking.type: adaptive`` of later Claude models.
- ``level``: ``thinkingLevel`` of Gemini 3.
- ``none``: the model does not reason.
- ``always``: the model reasons in every request. ``efforts`` or ``budgets`` state how much; without both it has no such setting.
"""
ModelEffort = ir.Effort | Literal["default"]
"""An effort that a model accepts; ``default`` is the word of Groq for no effort."""
MediaKind = Literal["text", "image", "audio", "video", "document"]
"""A kind of input or output; ``document`` is a PDF or another file."""

FEATURES: frozenset[str] = frozenset(
    {
        "tools",
        "tool_choice",
        "combined_tools",
        "output_format",
        "json_schema",
        "json_with_functions",
        "reasoning_with_functions",
        "later_instructions",
        "prefill",
    }
)
"""What ``ModelFacts.refuses`` may name besides settings:

- ``tools``, ``tool_choice``, ``output_format``: the part of a request with this name.
- ``combined_tools``: tools that the server runs, next to functions. The functions stay.
- ``json_schema``: an output format with a schema. It becomes JSON mode.
- ``json_with_functions``: JSON mode or a schema, next to functions. The functions stay.
- ``reasoning_with_functions``: functions with reasoning, in chat_completions only. The functions stay.
- ``later_instructions``: instructions after the first turn. They move before it.
- ``prefill``: a final turn of the model. It is left out.
"""
_OF_SERVERS = frozenset({"stream_options", "usage_in_stream"})
"""Settings of a connection, which a server rejects for all its models: ``DialectRules.rejects`` lists them."""
PARAMETERS: frozenset[str] = (frozenset(ir.Settings.__annotations__) | FEATURES) - _OF_SERVERS
"""The names for ``ModelFacts.refuses``: the canonical settings of requests but those of a connection, and ``FEATURES``."""

_KINDS: frozenset[str] = frozenset(get_args(MediaKind))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What one model accepts. A conversion with these facts writes a request that the model accepts, and reports each difference.

    Every field may be left out; then the conversion does what it does without facts. Raises ``ConfigurationError`` for invalid values.

    >>> facts = ModelFacts(output_limit=64_000, reasoning="budget", refuses=frozenset({"top_k"}))
    """

    output_limit: int | None = None
    """The longest answer in tokens. A target that requires a limit gets this one by default; a larger limit is reduced to it."""
    context: int | None = None
    """The longest input in tokens. Nothing counts the tokens of a request; ``explain`` shows the number."""
    refuses: frozenset[str] = frozenset()
    """What the model rejects, by canonical name (see ``PARAMETERS``). It is left out or replaced, and reported.

    A parameter that the target format requires stays, such as ``max_tokens`` in messages.
    """
    reasoning: ReasoningKind | None = None
    """How a request controls the reasoning of the model; None: unknown."""
    efforts: tuple[ModelEffort, ...] = ()
    """The efforts that the model accepts; another effort becomes the nearest of them. Empty: unknown.

    For ``effort`` and ``level`` they include ``none`` if a request can turn reasoning off; otherwise this becomes the lowest effort.
    A model with no other efforts than ``none`` and ``default`` decides how much it reasons, so an effort is left out.
    """
    budgets: tuple[int, int | None] | None = None
    """The smallest and the largest budget for reasoning in tokens, without 0 for no reasoning; another budget becomes the nearest of them.

    A largest budget of None has no bound besides ``output_limit``. None: unknown.
    """
    inputs: frozenset[MediaKind] | None = None
    """The kinds of input that the model accepts; others are left out and reported as ``impossible``. None: unknown."""
    outputs: frozenset[MediaKind] | None = None
    """The kinds of output of the model; others are not requested. None: unknown."""

    def __post_init__(self) -> None:
        for name in ("output_limit", "context"):
            value = getattr(self, name)
            if value is not None and not (type(value) is int and value > 0):
                raise ConfigurationError(f"{name} is {shown(value)}, expected None or an integer of 1 or more")
        if self.reasoning is not None and self.reasoning not in get_args(ReasoningKind):
            expected = ", ".join(get_args(ReasoningKind))
            raise ConfigurationError(f"reasoning is {shown(self.reasoning)}, expected None or one of {expected}")
        _require_budgets(self.budgets)
        _require_names("refuses", self.refuses, PARAMETERS)
        _require_names("efforts", self.efforts, frozenset({*ir.EFFORT_ORDER, "default"}))
        for name in ("inputs", "outputs"):
            if getattr(self, name) is not None:
                _require_names(name, getattr(self, name), _KINDS)
        object.__setattr__(self, "refuses", frozenset(self.refuses))
        object.__setattr__(self, "efforts", tuple(self.efforts))
        object.__setattr__(self, "budgets", None if self.budgets is None else tuple(self.budgets))
        for name in ("inputs", "outputs"):
            kinds = getattr(self, name)
            object.__setattr__(self, name, None if kinds is None else frozenset(kinds))


def _require_names(field: str, names: object, known: frozenset[str]) -> None:
    """Check a field that is a collection of known names."""
    if isinstance(names, str) or not isinstance(names, frozenset | set | tuple | list):
        raise ConfigurationError(f"{field} is {type_name(names)}, expected a set of names, or a tuple")
    for name in names:
        if name not in known:
            raise ConfigurationError(f"{field} has {shown(name)}, expected names among {', '.join(sorted(known))}")


def _require_budgets(budgets: object) -> None:
    """Check the field ``budgets``: two numbers in ascending order, the second of which may be None."""
    if budgets is None:
        return
    if isinstance(budgets, tuple | list) and len(budgets) == 2:
        smallest, largest = budgets
        if type(smallest) is int and smallest > 0 and (largest is None or (type(largest) is int and largest >= smallest)):
            return
    raise ConfigurationError(
        f"budgets is {shown(budgets)}, expected None or the smallest and the largest budget in tokens, such as (1024, 32768), "
        'without the 0 for no reasoning; a model that rejects 0 has reasoning="always"'
    )


def _require_facts(source: Mapping[str, object]) -> None:
    """Check a mapping that does not have a model: the arguments of ``ModelFacts`` have no names of models."""
    name, first = next(iter(source.items()), (None, None))
    if first is not None and not isinstance(first, ModelFacts):
        raise ConfigurationError(
            f"model maps {shown(name)} to {type_name(first)}, expected names of models with their ModelFacts; "
            "facts about one model are ModelFacts(...)"
        )


ModelSource = ModelFacts | Mapping[str, ModelFacts] | Callable[[str], ModelFacts | None]
"""Facts about one model, or where to find them by the model's name."""


def facts_of(source: ModelSource | None, model: str) -> ModelFacts | None:
    """Return the facts about a model; None if the source has none. Raises ``ConfigurationError`` for a source of another type.

    A mapping is searched for the name, and then for the name without the parts before its last slash: ``openai/gpt-5`` is ``gpt-5``.
    """
    if source is None or isinstance(source, ModelFacts):
        return source
    if isinstance(source, Mapping):
        facts = source.get(model, source.get(model.rpartition("/")[2]))
        if facts is None:
            _require_facts(source)
    elif callable(source):
        try:
            facts = source(model)
        except FormatBridgeError:
            raise
        except Exception as error:
            raise ConfigurationError(
                f"the function for facts raised {type(error).__name__} for the model {model!r}: {error}"
            ) from error
    else:
        raise ConfigurationError(f"model is {type_name(source)}, expected ModelFacts, a mapping of them, or a function of a name")
    if facts is not None and not isinstance(facts, ModelFacts):
        raise ConfigurationError(f"the facts about {model!r} are {type_name(facts)}, expected ModelFacts or None")
    return facts
