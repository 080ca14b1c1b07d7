"""Load formats: built-in ones by name, others as a ``FormatSpec`` that is an argument or an entry point; and formats of one server."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from formatbridge import ir
from formatbridge.arguments import shown, suggestion, type_name
from formatbridge.dialect import Dialect, DialectRules
from formatbridge.errors import ConfigurationError, UnknownFormatError
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.model_facts import ModelFacts, ReasoningKind
from formatbridge.formats.shared.settings import continues_each_answer, has_output_format
from formatbridge.formats.shared.tool_selection import forces_call, has_functions, is_weakened
from formatbridge.formats.shared.turns import ends_with_answer
from formatbridge.formats.target import FormatOrName, Target

FORMATS: tuple[ir.Format, ...] = get_args(ir.Format)
"""The names of the built-in formats, in the order of all tables."""
ENTRY_POINTS = "formatbridge.formats"
"""The entry point group in which a package registers formats; the name of an entry point is the name of its format."""


def load(format: FormatOrName | str) -> FormatSpec:
    """Return a format by its name, a ``FormatSpec`` unchanged, and the format of a ``Target``, without its dialect.

    Raises ``UnknownFormatError`` for any other value.
    """
    name = format.format if type(format) is Target else format
    try:
        return _load(name)
    except TypeError:  # an unhashable value cannot be looked up
        raise UnknownFormatError(name, FORMATS) from None


def load_both(source: FormatOrName, target: FormatOrName) -> tuple[FormatSpec, FormatSpec]:
    """Return the formats of a conversion, as ``load`` does."""
    if type(target) is Target or type(source) is Target:
        return load(source), load(target)
    try:
        return _load(source), _load(target)
    except TypeError:
        return load(source), load(target)


def load_for_requests(target: FormatOrName, facts: ModelFacts | None = None) -> FormatSpec:
    """Return the format with which requests to a target are encoded: with a dialect, a format with the rules of that server.

    ``facts``: what the model accepts, which may limit what the server does. Raises ``ConfigurationError`` for an unknown dialect, and for
    one without this format.
    """
    spec = load(target)
    rules = _rules_of(target.dialect, spec.name) if type(target) is Target and target.dialect is not None else None
    if facts is not None and "later_instructions" in facts.refuses:
        rules = _without_later_instructions(rules)
    if facts is not None and _excludes_functions(facts, spec):
        rules = _without_reasoning_next_to_functions(rules)
    if facts is not None and rules is not None and facts.reasoning == "none":
        rules = _for_no_reasoning(rules)
    if facts is not None and rules is not None and rules.controls_of_models:
        rules = _for_kind_of_reasoning(rules, facts.reasoning or ("budget" if facts.budgets is not None else None))
    return spec if rules is None else _with_rules(spec, rules)


def target_with_dialect(via: FormatOrName | None) -> Target | None:
    """Return ``via`` if it is a target with a dialect or facts about models, else None. Raise if the dialect lacks the format."""
    if not isinstance(via, Target) or (via.dialect is None and via.model is None):
        return None
    load_for_requests(via)
    return via


def formats_of(dialect: str | Dialect) -> frozenset[str]:
    """Return the names of the formats of a dialect; raise ``ConfigurationError`` for an unknown one."""
    from formatbridge.formats.dialects import DIALECTS

    if isinstance(dialect, Dialect):
        return frozenset(dialect.rules)
    if not isinstance(dialect, str) or dialect not in DIALECTS:
        raise _unknown_dialect(dialect, DIALECTS)
    return frozenset(DIALECTS[dialect].rules)


def _unknown_dialect(dialect: object, known: Iterable[str]) -> ConfigurationError:
    names = list(known)
    return ConfigurationError(
        f"unknown dialect {shown(dialect)}: {suggestion(dialect, names)}expected one of {', '.join(names)}, or a Dialect"
    )


def check_name(name: object) -> None:
    """Raise ``UnknownFormatError`` for a value that is no name of a format, without loading built-in formats."""
    if name not in FORMATS:
        load(name)  # type: ignore[arg-type]  # raises on any other type


@cache
def _load(name: ir.FormatName | FormatSpec) -> FormatSpec:
    if isinstance(name, FormatSpec):
        return name
    if name in FORMATS:
        spec: FormatSpec = getattr(import_module(f"formatbridge.formats.{name}"), name.upper())
        return spec
    registered = _registered()
    if name not in registered:
        raise UnknownFormatError(name, (*FORMATS, *registered))
    spec = registered[name].load()
    if type(spec) is not FormatSpec or spec.name != name:
        raise ConfigurationError(
            f"the entry point {name!r} of {ENTRY_POINTS} is {type_name(spec)}, expected a FormatSpec of that name"
        )
    return spec


@cache
def _registered() -> dict[str, Any]:
    """Return the entry points of the group by name."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _rules_of(dialect: str | Dialect, format: ir.FormatName) -> DialectRules:
    """Return the rules of a dialect, built in or not, for one format."""
    from formatbridge.formats.dialects import DIALECTS  # no conversion without a dialect loads the tables

    if isinstance(dialect, str):
        known = [name for name, each in DIALECTS.items() if format in each.rules]
        if dialect not in DIALECTS:
            raise _unknown_dialect(dialect, known)
        if format not in DIALECTS[dialect].rules:
            raise ConfigurationError(f"dialect {dialect!r} has no format {format!r}, expected one of {', '.join(known)}")
        return DIALECTS[dialect].rules[format]
    if not isinstance(dialect, Dialect):
        raise ConfigurationError(f"dialect is {type_name(dialect)}, expected the name of a dialect or a Dialect")
    if not isinstance(dialect.rules, Mapping):
        raise ConfigurationError(
            f"the rules of dialect {dialect.name!r} are {type_name(dialect.rules)}, expected a mapping by format"
        )
    if format not in dialect.rules:
        raise ConfigurationError(f"dialect {dialect.name!r} has no rules for {format}: use it with {', '.join(dialect.rules)}")
    rules = dialect.rules[format]
    if not isinstance(rules, DialectRules):
        raise ConfigurationError(f"the rules of the dialect are {type_name(rules)}, expected DialectRules")
    return rules


_MOST_DERIVED = 256
"""Derived formats that are kept; an application may create dialects without end."""


@lru_cache(maxsize=_MOST_DERIVED)
def _without_later_instructions(rules: DialectRules | None) -> DialectRules:
    """Return the rules of a server for a model that accepts no instructions after the first turn. None: no known server."""
    if rules is None:
        return DialectRules(server="the model", accepts_later_instructions=False)
    return replace(rules, accepts_later_instructions=False) if rules.accepts_later_instructions else rules


def _excludes_functions(facts: ModelFacts, spec: FormatSpec) -> bool:
    """Return whether a model that reasons rejects functions with reasoning in a format."""
    is_refused = "reasoning_with_functions" in facts.refuses and spec.server_requests.reasoning_may_exclude_functions
    return is_refused and facts.reasoning != "none"


@lru_cache(maxsize=_MOST_DERIVED)
def _without_reasoning_next_to_functions(rules: DialectRules | None) -> DialectRules:
    """Return the rules of a server for a model that rejects functions with reasoning. None: no known server."""
    if rules is None:
        return DialectRules(server="the model", functions_exclude_reasoning=True)
    return replace(rules, functions_exclude_reasoning=True)


@lru_cache(maxsize=_MOST_DERIVED)
def _for_no_reasoning(rules: DialectRules) -> DialectRules:
    """Return the rules of a server for a model that does not reason."""
    if not (rules.ignores_while_reasoning or rules.rejects_while_reasoning or rules.final_answer_field or rules.excludes_reasoning):
        return rules
    return replace(
        rules,
        ignores_while_reasoning=frozenset(),
        rejects_while_reasoning=frozenset(),
        final_answer_field=None,
        forced_call_excludes_reasoning=False,
        format_excludes_reasoning=False,
        prefill_excludes_reasoning=False,
        functions_exclude_reasoning=False,
    )


@lru_cache(maxsize=_MOST_DERIVED)
def _for_kind_of_reasoning(rules: DialectRules, kind: ReasoningKind | None) -> DialectRules:
    """Return the rules of a server for a model with one kind of reasoning; None: unknown."""
    control = None if kind is None else rules.controls_of_models.get(kind)
    return rules if control is None else replace(rules, reasoning_control=control, controls_of_models={})


@lru_cache(maxsize=_MOST_DERIVED)
def _with_rules(spec: FormatSpec, rules: DialectRules) -> FormatSpec:
    """Return a format whose requests are written for one server."""
    _check_rules(rules, spec)
    _check_names(rules, frozenset(spec.settings.wire.values()))
    tools = spec.tool_rules
    if rules.has_custom_tools is not None:
        tools = replace(tools, has_custom_tools=rules.has_custom_tools)
    if rules.has_namespaces is not None:
        tools = replace(tools, has_namespaces=rules.has_namespaces)
    if rules.has_tool_search is not None:
        tools = replace(tools, has_tool_search=rules.has_tool_search)
    if rules.server_tools is not None:
        tools = replace(tools, server_families=rules.server_tools, families_of_format=tools.server_families)
    if rules.accepts_allowed_tools is not None:
        tools = replace(tools, allowed_modes=tools.allowed_modes if rules.accepts_allowed_tools else frozenset())
    if rules.requires_letter_first:
        tools = replace(tools, requires_letter_first=True)
    if rules.longest_tool_name is not None:
        tools = replace(tools, longest_name=rules.longest_tool_name)
    return replace(spec, dialect=rules, tool_rules=tools, excludes_reasoning=_excludes_reasoning(spec, rules))


def _excludes_reasoning(spec: FormatSpec, rules: DialectRules) -> Callable[[ir.Request], bool]:
    """Return a check for requests with which a server rejects reasoning."""
    excluding = [
        *([spec.excludes_reasoning] if rules.reasoning_excludes_settings else []),
        *([forces_call] if rules.forced_call_excludes_reasoning else []),
        *([has_output_format] if rules.format_excludes_reasoning else []),
        *([has_functions] if rules.functions_exclude_reasoning else []),
        *([ends_with_answer] if continues_each_answer(rules) else []),
    ]

    def excludes_reasoning(request: ir.Request) -> bool:
        choice = request.tool_choice
        if choice is not None and is_weakened(choice, rules.tool_modes):  # the server does not get it
            request = replace(request, tool_choice=None)
        return any(excludes(request) for excludes in excluding)

    return excludes_reasoning


_EFFORTS = frozenset({*ir.EFFORT_ORDER, "default"})


def _check_rules(rules: DialectRules, spec: FormatSpec) -> None:
    """Raise ``ConfigurationError`` for rules with a value of another type or an unknown word."""
    for name, hint in _hints().items():
        value = getattr(rules, name)
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        problem = None if value is None and NoneType in kinds else _problem_of(value, kinds[0])
        if problem is not None:
            raise ConfigurationError(f"{name} of the dialect {problem}")
    if needed := rules.unread & {"model", spec.content_fields.get("request")}:
        raise ConfigurationError(f"the dialect rejects {min(needed)!r}, which every request needs: remove it from the rules")
    if unknown := (rules.efforts or _EFFORTS) - _EFFORTS:
        raise ConfigurationError(f"efforts of the dialect contains {min(unknown)!r}, expected {', '.join(sorted(_EFFORTS))}")
    if misplaced := rules.controls_of_models.keys() - set(get_args(ReasoningKind)):
        expected = ", ".join(get_args(ReasoningKind))
        raise ConfigurationError(f"controls_of_models of the dialect contains {min(misplaced)!r}, expected {expected}")
    if misspelt := rules.ranges.keys() - ir.Settings.__annotations__.keys():
        settings = ", ".join(sorted(ir.Settings.__annotations__))
        raise ConfigurationError(f"ranges of the dialect contains {min(misspelt)!r}, expected {settings}")


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(DialectRules)


def _problem_of(value: object, kind: Any) -> str | None:
    """Return why a value of ``DialectRules`` is invalid; None if it is valid. ``kind``: its type."""
    if get_origin(kind) is Literal:
        return None if value in get_args(kind) else f"is {value!r}, expected one of {', '.join(get_args(kind))}"
    if get_origin(kind) is frozenset:
        return _problem_of_set(value, *get_args(kind))
    if kind == Mapping[str, tuple[float, float]]:
        is_valid = isinstance(value, Mapping) and all(isinstance(name, str) and _is_range(each) for name, each in value.items())
        return None if is_valid else f"is {value!r}, expected a mapping of settings to the smallest and the largest number"
    if get_origin(kind) is Mapping:
        is_valid = isinstance(value, Mapping) and all(isinstance(each, str) for pair in value.items() for each in pair)
        if not is_valid:
            return f"is {value!r}, expected a mapping of strings to strings"
        member = get_args(kind)[1]
        return _problem_of_set({*value.values()}, member) if get_origin(member) is Literal else None  # type: ignore[attr-defined]
    if kind is int and isinstance(value, int) and value < 0:
        return f"is {value!r}, expected a number of 0 or more"
    expected = {bool: "True or False", int: "a number of 0 or more", str: "text"}
    return None if type(value) is kind else f"is {value!r}, expected {expected[kind]}"


def _problem_of_set(value: object, member: Any) -> str | None:
    """Return why a value is no set of strings, or of the words of a ``Literal``."""
    if not isinstance(value, Set) or not all(isinstance(each, str) for each in value):
        return f"is {value!r}, expected a set of strings"
    unknown = value - set(get_args(member)) if get_origin(member) is Literal else None
    return f"contains {min(unknown)!r}, expected {', '.join(sorted(get_args(member)))}" if unknown else None


def _is_range(value: object) -> bool:
    """Return whether a value is a pair of numbers of which the first is not the larger one."""
    is_pair = isinstance(value, tuple) and len(value) == 2 and all(type(each) in (int, float) for each in value)
    return is_pair and value[0] <= value[1]  # type: ignore[index]  # a pair


def _check_names(rules: DialectRules, settings: frozenset[str]) -> None:
    """Raise ``ConfigurationError`` for a name that two fields of a request would have, so that one value would be lost.

    ``settings``: the fields of flat settings. They keep their names unless the rules change them or leave the fields out.
    """
    taken_names = settings - rules.names.keys() - rules.unread
    for field, name in rules.names.items():
        if name in taken_names:
            problem = f"maps {field!r} to {name!r}, the name of another field"
            raise ConfigurationError(f"names of the dialect {problem}: choose another name, or add that field to names or unread")
        taken_names |= {name}


def format_of_module(module: str) -> ir.Format | None:
    """Return the built-in format whose wire models are defined in a module; None for other modules."""
    return next((name for name in FORMATS if module.startswith(f"formatbridge.formats.{name}.wire")), None)


def _reduced(spec: FormatSpec) -> tuple[Any, ...]:
    """Pickle and copy a built-in or registered format by its name, so that it stays the same object."""
    is_known = spec.name in FORMATS or spec.name in _registered()
    return (load, (spec.name,)) if is_known and load(spec.name) is spec else spec.__reduce_ex__(2)  # type: ignore[return-value]


copyreg.pickle(FormatSpec, _reduced)
