"""Adapt a canonical request to the model that receives it, by facts that the caller passes.

This happens before the format encodes the request. Each difference is noted. Without facts nothing of this runs.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.model_facts import MediaKind, ModelFacts
from formatbridge.formats.shared.parts import is_same_list
from formatbridge.formats.shared.settings import (
    ANCHORS,
    drop_amount,
    drop_setting_with_code,
    drop_visibility,
    effort_for_server,
    effort_of_budget,
    effort_setting,
    has_output_format,
    is_reasoning_off,
)
from formatbridge.formats.shared.tool_selection import (
    all_tools,
    forces_call,
    has_functions,
    is_run_by_caller,
    server_tool_name,
    with_free_choice,
    without_tools,
)
from formatbridge.formats.shared.turns import without_final_answers
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_REFUSED, _NO_REASONING, _ALWAYS, _INPUT = "refused_by_model", "no_reasoning", "always_reasons", "unsupported_by_model"
_COMBINATION = "refused_combination"
_STAYS_ON = "reasoning_stays_on"
_OUTPUT_LIMIT, _CONTROL, _BUDGET_BOUNDS = "output_limit", "reasoning_control", "reasoning_budget"
_LEVELS: tuple[ir.Effort, ...] = ("low", "high")
"""Levels that all models have that reason by level. Source: ai.google.dev/gemini-api/docs/thinking, thinking levels."""
_BUDGETS: dict[ir.Effort, int] = {effort: limit for limit, effort in ANCHORS}


def adapt_to_model(request: ir.Request, facts: ModelFacts, spec: FormatSpec, losses: Ledger) -> ir.Request:
    """Return a request that a model accepts; the same object if nothing changes. ``spec``: the format in which it is encoded."""
    # Order: parameters first, because the limit of the answer also limits a budget for reasoning.
    if facts.refuses:
        request = _without_refused(request, facts.refuses - spec.required_settings, losses)
        if "json_schema" in facts.refuses and request.output_format is not None and request.output_format.type != "text":
            request = _without_schema(request, request.output_format, spec, losses)
    limit = request.settings.get("max_tokens")
    if facts.output_limit is not None and limit is not None and limit > facts.output_limit:
        after = losses.changed(request, "max_tokens", facts.output_limit, _OUTPUT_LIMIT)
        request = _with_settings(request, {**request.settings, "max_tokens": after})
    if facts.reasoning is not None or _efforts_of(facts) or facts.budgets is not None:
        request = _adapt_reasoning_settings(request, facts, spec, losses)
    if facts.inputs is not None:
        request = _without_unsupported_media(request, facts.inputs, losses)
    if facts.outputs is not None:
        request = _without_unsupported_outputs(request, facts.outputs, losses)
    return request


def _efforts_of(facts: ModelFacts) -> tuple[ir.Effort, ...]:
    """Return the amounts of reasoning of a model, and ``none`` if it can turn reasoning off.

    ``default`` is the same as no effort (official SDK of Groq, ``reasoning_effort``).
    """
    return tuple(
        effort for effort in facts.efforts if effort != "default" and not (effort == "none" and facts.reasoning == "always")
    )


def options_for_model(request: ir.Request, facts: ModelFacts, spec: FormatSpec, options: Options) -> Options:
    """Return options whose default limit is that of the model, less the budget for reasoning, which targets add to it."""
    if facts.output_limit is None:
        return options
    budget = None if request.reasoning is None or spec.excludes_reasoning(request) else request.reasoning.budget
    reserved = max(spec.smallest_budget or 0, budget) if budget else 0
    return replace(options, default_max_tokens=max(1, facts.output_limit - reserved))


def _with_settings(request: ir.Request, settings: dict[str, Any]) -> ir.Request:
    return replace(request, settings=settings)  # type: ignore[arg-type]  # the same keys


def _without_refused(request: ir.Request, refused: frozenset[str], losses: Ledger) -> ir.Request:
    """Leave out the parameters that the model rejects."""
    for name in [name for name in request.settings if name in refused]:
        drop_setting_with_code(request, name, _REFUSED, losses)
        request = _with_settings(request, {key: value for key, value in request.settings.items() if key != name})
    if "tools" in refused:
        request = _without_choice(without_tools(request, _REFUSED, "impossible", losses), _REFUSED, losses)
    if "tool_choice" in refused:
        request = _without_choice(request, _REFUSED, losses)
    if "combined_tools" in refused:
        request = _without_combined_tools(request, losses)
    if request.output_format is not None and request.output_format.type != "text":
        request = _without_refused_format(request, request.output_format, refused, losses)
    return without_final_answers(request, _REFUSED, losses) if "prefill" in refused else request


def _without_refused_format(request: ir.Request, format: ir.OutputFormat, refused: frozenset[str], losses: Ledger) -> ir.Request:
    """Leave out JSON mode and schemas, if the model rejects them, or rejects them next to functions.

    An agent with its functions can still work, so its requests must pass by default: that loss is not ``impossible``.
    """
    if "output_format" in refused:
        return _without_output_format(request, format, losses)
    if "json_with_functions" not in refused or not _may_call_tool_of_caller(request):
        return request
    losses.dropped(format, code=_COMBINATION, severity="lossy")
    return replace(request, output_format=None)


def _without_output_format(request: ir.Request, format: ir.OutputFormat, losses: Ledger) -> ir.Request:
    losses.dropped(format, code=_REFUSED, severity="impossible")
    return replace(request, output_format=None)


def _may_call_tool_of_caller(request: ir.Request) -> bool:
    """Return whether the model may call a tool that the caller runs."""
    is_off = request.tool_choice is not None and request.tool_choice.mode == "none"
    tools = all_tools(request)
    return not is_off and any(not isinstance(tool, ir.HostedTool | ir.McpServer) for tool in tools)


def _without_schema(request: ir.Request, format: ir.OutputFormat, spec: FormatSpec, losses: Ledger) -> ir.Request:
    """Replace an output format with a schema by JSON mode. It is left out for a server that has no JSON mode."""
    if spec.dialect is not None and "json_object" not in spec.dialect.output_formats:
        return _without_output_format(request, format, losses)
    if format.type != "json_schema":
        return request
    losses.changed(format, "", {"type": "json_object"}, _REFUSED)
    # Messages has an instruction in place of JSON mode, which includes the schema.
    return replace(request, output_format=ir.OutputFormat(type="json_object", schema=format.schema, src=format.src))


def _without_choice(request: ir.Request, code: str, losses: Ledger) -> ir.Request:
    """Leave out the tool choice."""
    choice = request.tool_choice
    if choice is None:
        return request
    if choice.mode != "auto":
        losses.dropped(choice, code=code)
    losses.extras(choice)
    return replace(request, tool_choice=None)


def _without_combined_tools(request: ir.Request, losses: Ledger) -> ir.Request:
    """Leave out the tools that the server runs if there are functions too, and a tool choice that names only such tools.

    An agent with its functions can still work, so its requests must pass by default: this loss is not ``impossible``.
    """
    tools = all_tools(request)
    excluded = [tool for tool in tools if isinstance(tool, ir.HostedTool) and _is_built_in(tool)]
    if not excluded or all(isinstance(tool, ir.HostedTool | ir.McpServer) for tool in tools):
        return request
    for tool in excluded:
        losses.dropped(tool, code=_COMBINATION)
    is_excluded = set(map(id, excluded)).__contains__

    def kept(tools: list[ir.Tool]) -> list[ir.Tool]:
        return [tool for tool in tools if not is_excluded(id(tool))]

    messages = [replace(message, tools=kept(message.tools)) if message.tools else message for message in request.messages]
    request = replace(request, tools=kept(request.tools), messages=messages)
    return _without_choice_of(request, set(map(server_tool_name, excluded)), losses)


def _is_built_in(tool: ir.HostedTool) -> bool:
    """Return whether a model that refuses ``combined_tools`` rejects a tool next to functions.

    A tool search is useful only with functions, and image generation is a modality of the answer in the format of Google. Functions may
    replace actions of ``computerUse`` (the official SDK, ``ComputerUse.excluded_predefined_functions``). The caller runs some tools that
    the vendor defines.
    """
    return tool.family not in ("image_generation", "tool_search") and not is_run_by_caller(tool)


def _without_choice_of(request: ir.Request, excluded: Set[str], losses: Ledger) -> ir.Request:
    """Leave out server tools of a tool choice that the request has no more; without any other tool, the choice itself."""
    choice = request.tool_choice
    if choice is None:
        return request
    if choice.mode == "hosted" and choice.names and set(choice.names) <= excluded:
        losses.dropped(choice, code=_COMBINATION)
        return replace(request, tool_choice=None)
    hosted, free = ([name for name in names if name not in excluded] for names in (choice.hosted, choice.always_allowed))
    if (hosted, free) == (choice.hosted, choice.always_allowed):
        return request
    if choice.mode == "allowed" and not (choice.names or hosted):
        losses.dropped(choice, code=_COMBINATION)
        return replace(request, tool_choice=None)
    return replace(request, tool_choice=replace(choice, hosted=hosted, always_allowed=free))


def _adapt_reasoning_settings(request: ir.Request, facts: ModelFacts, spec: FormatSpec, losses: Ledger) -> ir.Request:
    """Adapt the settings of reasoning, the efforts of messages, and a forced call that excludes reasoning."""
    if spec.dialect is not None and _cannot_be_off(facts):
        if spec.dialect.functions_exclude_reasoning and has_functions(request):
            request = _without_choice(without_tools(request, _STAYS_ON, "impossible", losses), _STAYS_ON, losses)
        if spec.dialect.forced_call_excludes_reasoning and forces_call(request):
            request = _without_forced_call(request, losses)
        if spec.dialect.format_excludes_reasoning and has_output_format(request):
            losses.dropped(request.output_format, code=_STAYS_ON, severity="impossible")
            request = replace(request, output_format=None)
    # What an encoder drops next to a forced call needs no change, unless the model does not reason at all.
    if request.reasoning is not None and (not spec.excludes_reasoning(request) or _never_reasons(request.reasoning, facts)):
        request = replace(request, reasoning=_adapt_reasoning(request, request.reasoning, facts, spec, losses))
    has_efforts = "Message.effort" in spec.field_paths.places  # other formats drop them
    return _with_message_efforts(request, facts, spec, losses) if has_efforts else request


def _adapt_reasoning(
    request: ir.Request, config: ir.ReasoningConfig, facts: ModelFacts, spec: FormatSpec, losses: Ledger
) -> ir.ReasoningConfig | None:
    """Return the settings of reasoning in the kind that the model accepts; None if it has no such setting."""
    # Models have one kind of control each: a budget in tokens, an effort, a level, a choice of the model, or none.
    if facts.reasoning == "none":
        _note_no_reasoning(config, losses)
        return None
    if config.mode == "between_tools" and facts.reasoning not in (None, "adaptive"):
        losses.changed(config, "mode", "off", _CONTROL)
        config = replace(config, mode="off")
    if is_reasoning_off(config):
        return _as_little(config, facts, spec, losses) if _cannot_be_off(facts) else config
    if facts.reasoning == "always" and not _efforts_of(facts) and facts.budgets is None:
        return _without_amount(config, _ALWAYS, losses)
    is_switch = bool(facts.efforts) and {"none", "default"}.issuperset(facts.efforts)
    if is_switch and facts.reasoning in (None, "effort"):  # reasoning is on or off
        return _without_amount(config, _CONTROL, losses)
    if _control_of(spec) == "thinking_adaptive":  # the encoder writes no amount
        return config
    adapted = _in_kind_of_model(config, request, facts, spec, losses)
    if adapted is None:
        return None
    adapted = _with_known_effort(adapted, facts, spec, losses)
    return (
        _with_allowed_budget(adapted, facts, spec, losses)
        if _has_budgets(spec) or "budget" in _amounts_of_server(spec)
        else adapted
    )


def _note_no_reasoning(config: ir.ReasoningConfig, losses: Ledger) -> None:
    """Note the settings that a model without reasoning does not have. Reasoning that is off is no loss."""
    if is_reasoning_off(config):
        drop_visibility(config, _NO_REASONING, losses, severity="info")
    else:
        _drop_config(config, _NO_REASONING, losses)
    losses.extras(config)


def _in_kind_of_model(
    config: ir.ReasoningConfig, request: ir.Request, facts: ModelFacts, spec: FormatSpec, losses: Ledger
) -> ir.ReasoningConfig | None:
    """Return settings with a budget or an effort, whichever the model has; None if no setting remains."""
    if facts.reasoning == "budget" or (facts.reasoning == "always" and not _efforts_of(facts)):
        return _as_budget(config, request, facts, spec, losses) if _has_budgets(spec) else config
    return config if facts.reasoning is None else _as_effort(config, facts, spec, losses)


def _has_budgets(spec: FormatSpec) -> bool:
    """Return whether a request has a budget, instead of an effort that the server translates to one."""
    is_ignored = spec.dialect is not None and "thinking/budget_tokens" in spec.dialect.ignores_nested
    return (spec.smallest_budget is not None and not is_ignored) or _amounts_of_server(spec) == {"budget"}


def _control_of(spec: FormatSpec) -> str | None:
    """Return how a request for the server turns reasoning on; None: as the format."""
    return None if spec.dialect is None else spec.dialect.reasoning_control


def _amounts_of_server(spec: FormatSpec) -> Set[str]:
    """Return in which units a request sets the amount of reasoning, if servers of the format differ in this."""
    return spec.server_requests.reasoning_amounts(spec.dialect) if spec.dialect is not None else frozenset()


def _never_reasons(config: ir.ReasoningConfig, facts: ModelFacts) -> bool:
    """Return whether the settings turn reasoning on, and the model does not reason."""
    return facts.reasoning == "none" and not is_reasoning_off(config)


def _drop_config(config: ir.ReasoningConfig, code: str, losses: Ledger) -> None:
    """Note each setting of reasoning. The node has no pointer, because some formats have its settings in several objects."""
    for name in ("effort", "budget", "mode"):
        losses.dropped(config, name, code)
    drop_visibility(config, code, losses)


def _cannot_be_off(facts: ModelFacts) -> bool:
    """Return whether the model reasons in every request.

    Gemini 3 has a lowest level instead (ai.google.dev/gemini-api/docs/thinking); OpenAI's models before GPT-5.1 lack the effort ``none``
    (the official SDK, ``shared_params.Reasoning.effort``).
    """
    if facts.reasoning in ("effort", "level"):
        return "none" not in _efforts_of(facts) and bool(_efforts_of(facts) or facts.reasoning == "level")
    return facts.reasoning == "always"


def _without_forced_call(request: ir.Request, losses: Ledger) -> ir.Request:
    """Let the model choose a tool, because the server rejects a forced call of a model that always reasons."""
    choice = request.tool_choice
    assert choice is not None
    return with_free_choice(request, choice, _STAYS_ON, losses)


def _as_little(config: ir.ReasoningConfig, facts: ModelFacts, spec: FormatSpec, losses: Ledger) -> ir.ReasoningConfig | None:
    """Replace "no reasoning" by the least that the model accepts; None if it accepts no amount."""
    name = "mode" if config.mode == "off" else "effort"
    if _efforts_of(facts) or facts.reasoning == "level":
        lowest = _lowest_effort(facts, spec)
        losses.changed(config, name, lowest, _STAYS_ON)
        drop_amount(config, losses)
        return replace(config, mode=None, effort=lowest, budget=None)
    if facts.budgets is not None:
        losses.changed(config, name, facts.budgets[0], _STAYS_ON)
        drop_amount(config, losses)
        return replace(config, mode="on", effort=None, budget=facts.budgets[0])
    _drop_config(config, _ALWAYS, losses)
    return None


def _without_amount(config: ir.ReasoningConfig, code: str, losses: Ledger) -> ir.ReasoningConfig:
    for name in ("effort", "budget"):
        losses.dropped(config, name, code)
    return replace(config, mode=None, effort=None, budget=None)


def _as_budget(
    config: ir.ReasoningConfig, request: ir.Request, facts: ModelFacts, spec: FormatSpec, losses: Ledger
) -> ir.ReasoningConfig | None:
    """Replace an effort, or a model that decides, by a budget in tokens; None if the answer is too short for one.

    A model with efforts keeps the effort too. A decision of the model stays in a format whose budgets can express it.
    """
    shows = facts.reasoning == "budget" and config.visibility not in (None, "hide")  # only a model that reasons shows its reasoning
    name = "effort" if config.effort is not None else "mode" if config.mode is not None else "visibility" if shows else None
    if config.budget is not None or name is None or (name == "mode" and config.mode == "adaptive" and spec.has_automatic_budget):
        return config
    budget = _budget_of(config.effort, request, facts, spec)
    keeps_effort = name == "effort" and bool(_efforts_of(facts))
    if budget is None:
        if keeps_effort:
            return config
        _drop_config(config, _BUDGET_BOUNDS, losses)
        return None
    if not keeps_effort:
        losses.changed(config, name, budget, _CONTROL)
    elif config.mode is not None:
        losses.changed(config, "mode", budget, _CONTROL)
    return replace(config, mode="on", budget=budget, effort=config.effort if keeps_effort else None)


def _budget_of(effort: ir.Effort | None, request: ir.Request, facts: ModelFacts, spec: FormatSpec) -> int | None:
    """Return the budget that corresponds to an effort, within the bounds of the model, and half of the longest answer.

    The budget is a part of the answer, so the other half is left for the text. None: the smallest budget is as long as the answer.
    """
    smallest, largest = facts.budgets or (1, None)
    smallest = max(smallest, spec.smallest_budget or 1)
    limits = (request.settings.get("max_tokens"), facts.output_limit)
    longest = min((limit for limit in limits if limit is not None), default=None)
    if longest is not None and smallest >= longest:
        return None
    bounds = (limit for limit in (largest, None if longest is None else longest // 2) if limit is not None)
    return max(smallest, min([_BUDGETS.get(effort or "high", _BUDGETS["high"]), *bounds]))


def _as_effort(config: ir.ReasoningConfig, facts: ModelFacts, spec: FormatSpec, losses: Ledger) -> ir.ReasoningConfig:
    """Replace a budget by an effort, or by the decision of an adaptive model that has an effort already."""
    is_adaptive = facts.reasoning == "adaptive"
    if config.budget is None:
        has_efforts = _control_of(spec) is None or "effort" in _amounts_of_server(spec)
        if config.effort is None and config.mode in ("on", "adaptive") and facts.reasoning == "level" and has_efforts:
            level = _written_effort("high", facts, spec)
            losses.changed(config, "mode", level, _CONTROL)
            return replace(config, mode=None, effort=level)
        return replace(config, mode="adaptive") if is_adaptive and config.mode == "on" else config
    mode = "adaptive" if is_adaptive else config.mode
    if config.effort is not None:
        losses.dropped(config, "budget", _CONTROL)
        return replace(config, mode=mode, budget=None)
    effort = _written_effort(effort_of_budget(config.budget), facts, spec)
    losses.changed(config, "budget", effort, _CONTROL)
    return replace(config, mode=mode, budget=None, effort=effort)


def _with_known_effort(config: ir.ReasoningConfig, facts: ModelFacts, spec: FormatSpec, losses: Ledger) -> ir.ReasoningConfig:
    if config.effort is None and facts.efforts:
        return _with_written_effort(config, facts, spec, losses)
    effort = _known_effort(config, facts, spec, losses)
    return config if effort == config.effort else replace(config, effort=effort)


def _with_written_effort(config: ir.ReasoningConfig, facts: ModelFacts, spec: FormatSpec, losses: Ledger) -> ir.ReasoningConfig:
    """Replace a budget or a mode by an effort of the model, if the encoder would write an effort that the model does not accept."""
    name, effort = effort_setting(config)
    if effort is None:
        return config
    if name == "budget":
        is_written = not _has_budgets(spec) and "budget" not in _amounts_of_server(spec)
    else:
        has_mode = spec.smallest_budget is not None or _control_of(spec) not in (None, "reasoning_effort")
        is_written = config.mode in ("on", "adaptive") and not has_mode
    written = _written_effort(effort, facts, spec)
    if not is_written or written in (effort, effort_for_server(effort, spec.dialect)):
        return config
    losses.changed(config, name, written, _CONTROL)
    return replace(config, mode=None if name == "mode" else config.mode, budget=None, effort=written)


def _known_effort(node: ir.ReasoningConfig | ir.Message, facts: ModelFacts, spec: FormatSpec, losses: Ledger) -> ir.Effort | None:
    """Return the effort of a node, or the nearest one that the model accepts; None for an effort of an unknown name."""
    effort = node.effort
    if effort is None:
        return None
    nearest = _nearest_effort(effort, facts, spec)
    if nearest == effort:
        return effort
    if effort not in ir.EFFORT_ORDER:
        losses.dropped(node, "effort", _REFUSED)
        return None
    losses.changed(node, "effort", nearest, _CONTROL)
    return nearest


def _nearest_effort(effort: ir.Effort, facts: ModelFacts, spec: FormatSpec) -> ir.Effort:
    """Return the effort that the model accepts and that is nearest; of two the lower. ``none`` is no amount of reasoning.

    An effort that the server replaces by one of the model stays, because the encoder replaces it. If the server accepts no effort of the
    model, the facts are those of another server, and have no effect.
    """
    accepted = _accepted_by_both(facts, spec)
    stays = effort in _efforts_of(facts) and (effort == "none" or effort_for_server(effort, spec.dialect) in accepted)
    if not accepted or stays:
        return effort
    position = ir.EFFORT_ORDER.index(effort) if effort in ir.EFFORT_ORDER else -1
    return min(accepted, key=lambda each: (abs(ir.EFFORT_ORDER.index(each) - position), ir.EFFORT_ORDER.index(each)))


def _accepted_by_both(facts: ModelFacts, spec: FormatSpec) -> list[ir.Effort]:
    """Return the amounts of reasoning that the model and the server accept; empty if the efforts of the model are unknown."""
    amounts = (each for each in _efforts_of(facts) if each != "none")
    return [each for each in amounts if effort_for_server(each, spec.dialect) == each]


def _written_effort(effort: ir.Effort, facts: ModelFacts, spec: FormatSpec) -> ir.Effort:
    """Return the effort that the server gets in place of another setting."""
    nearest = _nearest_effort(effort, facts, spec)
    return effort_for_server(nearest, spec.dialect) or nearest


def _lowest_effort(facts: ModelFacts, spec: FormatSpec) -> ir.Effort:
    """Return the lowest effort that the server and the model accept."""
    lowest = min(_accepted_by_both(facts, spec) or _efforts_of(facts) or _LEVELS, key=ir.EFFORT_ORDER.index)
    return effort_for_server(lowest, spec.dialect) or lowest


def _with_allowed_budget(
    config: ir.ReasoningConfig, facts: ModelFacts, spec: FormatSpec, losses: Ledger
) -> ir.ReasoningConfig | None:
    """Replace a budget that the model does not accept by the nearest one that it does, or by half of the longest answer.

    None: the longest answer has no room for the smallest budget of the format.
    """
    budget = config.budget
    if budget is None:
        return config
    smallest, largest = facts.budgets or (1, None)
    allowed = max(smallest, budget if largest is None else min(budget, largest))
    if facts.output_limit is not None and allowed >= facts.output_limit:
        allowed = max(facts.output_limit // 2, spec.smallest_budget or 1)
        if allowed >= facts.output_limit:
            _drop_config(config, _BUDGET_BOUNDS, losses)
            return None
    return replace(config, budget=losses.changed(config, "budget", allowed, _BUDGET_BOUNDS))


def _with_message_efforts(request: ir.Request, facts: ModelFacts, spec: FormatSpec, losses: Ledger) -> ir.Request:
    """Replace the efforts of messages that the model does not accept. A message with nothing but such an effort is left out."""
    messages = []
    for message in request.messages:
        effort = None if message.effort is None else _effort_of_message(message, facts, spec, losses)
        if effort == message.effort:
            messages.append(message)
        elif effort or message.parts or message.tools or message.extra:
            messages.append(replace(message, effort=effort))
    return request if is_same_list(messages, request.messages) else replace(request, messages=messages)


def _effort_of_message(message: ir.Message, facts: ModelFacts, spec: FormatSpec, losses: Ledger) -> ir.Effort | None:
    """Return an effort that the model accepts; None if it has no efforts. No format has a budget for a single message."""
    is_off = message.effort == "none"
    if facts.reasoning == "none":
        if not is_off:
            losses.dropped(message, "effort", _NO_REASONING)
        return None
    if facts.reasoning in ("budget", "always") and not _efforts_of(facts):
        losses.dropped(message, "effort", _CONTROL if facts.reasoning == "budget" or facts.budgets else _ALWAYS)
        return None
    if is_off and _cannot_be_off(facts):
        lowest = _lowest_effort(facts, spec)
        losses.changed(message, "effort", lowest, _STAYS_ON)
        return lowest
    return _known_effort(message, facts, spec, losses)


def _without_unsupported_media(request: ir.Request, inputs: frozenset[MediaKind], losses: Ledger) -> ir.Request:
    """Leave out the media that the model cannot read, in messages and in tool results."""
    messages = []
    for message in request.messages:
        parts = [adapted for part in message.parts if (adapted := _readable(part, inputs, losses)) is not None]
        messages.append(message if is_same_list(parts, message.parts) else replace(message, parts=parts))
    return request if is_same_list(messages, request.messages) else replace(request, messages=messages)


def _readable(part: ir.Part, inputs: frozenset[MediaKind], losses: Ledger) -> ir.Part | None:
    """Return a part without media that the model cannot read; None for such a part itself."""
    if isinstance(part, ir.Media) and part.kind not in inputs:
        losses.dropped(part, code=_INPUT)
        return None
    if isinstance(part, ir.ToolResult):
        content = [adapted for inner in part.content if (adapted := _readable(inner, inputs, losses)) is not None]
        return part if len(content) == len(part.content) else replace(part, content=content)
    return part


def _without_unsupported_outputs(request: ir.Request, outputs: frozenset[MediaKind], losses: Ledger) -> ir.Request:
    """Leave out requests for media that the model does not produce."""
    if request.audio is not None and "audio" not in outputs:
        losses.dropped(request.audio, code=_INPUT)
        request = replace(request, audio=None)
    if request.image is not None and "image" not in outputs:
        losses.dropped(request.image, code=_INPUT)
        request = replace(request, image=None)
    modalities = request.settings.get("modalities")
    if modalities:
        kept = [kind for kind in modalities if kind.lower() in outputs]
        for index, kind in enumerate(modalities):
            if kind not in kept:
                losses.dropped(request, f"modalities.{index}", _INPUT)
        if len(kept) < len(modalities):
            request = _with_settings(request, {**request.settings, "modalities": kept})
    return request
