"""Read facts about models from tables that users have: lists of models, LiteLLM's table, and the catalog of models.dev."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, get_args

from pydantic import BaseModel

from formatbridge import formats
from formatbridge.arguments import shown, suggestion, type_name
from formatbridge.convert.input import read_answer, source_of
from formatbridge.errors import ConfigurationError, InvalidPayloadError
from formatbridge.formats.model_facts import MediaKind, ModelEffort, ModelFacts, ReasoningKind
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import resolve

TableKind = Literal["model_list", "litellm", "models_dev", "facts"]
"""The form of a table:

- ``model_list``: the answer of the endpoint that lists models, of any format, with the fields of OpenRouter, Groq, Mistral and others.
- ``litellm``: ``model_prices_and_context_window.json`` of BerriAI/litellm.
- ``models_dev``: ``api.json`` of models.dev.
- ``facts``: names of models to ``ModelFacts``, or to their arguments.
"""

_FORMS = "a list of models, LiteLLM's table, api.json of models.dev, or an object of model names to the arguments of ModelFacts"
_ARGUMENTS: frozenset[str] = frozenset(ModelFacts.__annotations__)
_MEDIA: Mapping[str, MediaKind] = {
    "text": "text", "image": "image", "audio": "audio", "video": "video", "pdf": "document", "file": "document", "document": "document",
}  # fmt: skip
_EFFORTS: tuple[ModelEffort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "default")
_OPENROUTER_PARAMETERS = {
    "temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "seed": "seed", "stop": "stop", "logprobs": "logprobs",
    "top_logprobs": "top_logprobs", "presence_penalty": "presence_penalty", "frequency_penalty": "frequency_penalty",
    "tools": "tools", "tool_choice": "tool_choice", "response_format": "output_format",
}  # fmt: skip
"""Values of ``supported_parameters`` of OpenRouter's models. Source: openrouter.ai/docs/api-reference/list-available-models."""
_ANTHROPIC_BUDGETS = (1024, None)
"""The smallest budget of Anthropic's models. Source: the official SDK, ``ThinkingConfigEnabledParam.budget_tokens``."""
_ANTHROPIC_PACKAGES = frozenset({"@ai-sdk/anthropic", "@ai-sdk/google-vertex/anthropic"})
_GOOGLE_PACKAGES = frozenset({"@ai-sdk/google", "@ai-sdk/google-vertex"})
"""The SDKs of models.dev's providers whose requests are in the format of Anthropic, or of Google."""
_SAMPLING = frozenset({"temperature", "top_p", "top_k"})
_LITELLM_ANTHROPIC = frozenset({"anthropic", "vertex_ai-anthropic_models"})
"""Providers of LiteLLM that serve only models of Anthropic, in its format."""
_LITELLM_OPENAI = frozenset({"openai", "azure", "chatgpt"})
_LITELLM_GOOGLE = frozenset({"gemini", "vertex_ai", "vertex_ai-language-models"})
"""Providers of LiteLLM that serve the models of OpenAI, and those of Google."""
_GEMINI = re.compile(r"(?:^|/)gemini-(\d+)")
_LITELLM_INSTRUCTIONS = "supports_mid_conversation_system"
"""The column for models that accept a message with the role ``system`` after the first turn."""
_LITELLM_INPUTS: Mapping[str, MediaKind] = {
    "supports_vision": "image", "supports_audio_input": "audio", "supports_video_input": "video", "supports_pdf_input": "document",
}  # fmt: skip


def load_model_facts(
    table: Mapping[str, object] | str | bytes | BaseModel,
    *,
    kind: TableKind | None = None,
    source: FormatOrName | None = None,
    provider: str | None = None,
) -> dict[str, ModelFacts]:
    """Read facts about models from a table that the caller has: JSON text, its parsed value, or a typed list of models.

    ``kind``: the form of the table; None: it is recognized by its keys. ``source``: the format of a list of models; None: it is detected.
    ``provider``: the only provider of models.dev or LiteLLM to read, such as ``openai``; None: all. A name without a provider is of the
    first in models.dev; in LiteLLM it is a name of the table, or one for which all providers state the same.
    Fields that state nothing about requests are skipped. Raises ``ConfigurationError`` for a table of no known form.

    >>> facts = load_model_facts({"data": [{"id": "m", "object": "model", "context_length": 8192}]}, source="chat_completions")
    >>> facts["m"].context
    8192
    """
    try:
        value = codec.loads(table) if isinstance(table, str | bytes) else table
    except codec.NotJsonError as error:
        raise ConfigurationError(f"the table {error.message}") from None
    kind = _detect_kind(value) if kind is None else kind
    if kind == "model_list":
        return _read_list(value, source)
    readers: Mapping[str, Callable[[Any], dict[str, ModelFacts]]] = {
        "litellm": partial(_read_litellm, provider=provider),
        "models_dev": partial(_read_models_dev, provider=provider),
        "facts": _read_facts,
    }
    if kind not in readers:
        raise ConfigurationError(f"kind is {shown(kind)}, expected model_list, litellm, models_dev or facts")
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"the table is {type_name(value)}, expected an object for {kind}")
    return readers[kind](value)


def _detect_kind(value: Any) -> TableKind:
    """Recognize the form of a table by its keys."""
    # ``{"data": [...]}`` or ``{"models": [...]}``; ``{"openai": {"models": {"m": {...}}}}`` of models.dev;
    # ``{"m": {"litellm_provider": ...}}`` of LiteLLM; ``{"m": {"output_limit": ...}}``.
    if isinstance(value, BaseModel):
        return "model_list"
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"the table is {type_name(value)}, expected {_FORMS}")
    if isinstance(value.get("data"), list) or isinstance(value.get("models"), list):
        return "model_list"
    first = next(iter(value.values()), None)
    if isinstance(first, ModelFacts):
        return "facts"
    rows = [row for row in value.values() if isinstance(row, Mapping)]
    if rows and all(isinstance(row.get("models"), Mapping) for row in rows):
        return "models_dev"
    if any("litellm_provider" in row for row in rows):
        return "litellm"
    if rows and all(row.keys() <= _ARGUMENTS for row in rows):
        return "facts"
    if any(not _ARGUMENTS.isdisjoint(row) for row in rows):
        return "facts"  # with a wrong key, which the error of ``_read_facts`` names
    raise ConfigurationError(f"the form of the table is unknown, expected {_FORMS}")


def _read_facts(table: Mapping[str, Any]) -> dict[str, ModelFacts]:
    facts = {}
    for name, row in table.items():
        if not isinstance(row, ModelFacts | Mapping):
            raise ConfigurationError(f"the facts about {name!r} are {type_name(row)}, expected ModelFacts or its arguments")
        facts[name] = row if isinstance(row, ModelFacts) else _facts_of_row(name, row)
    return facts


def _facts_of_row(name: str, row: Mapping[str, Any]) -> ModelFacts:
    """Return the facts of one row. An error names the model, because a table has many."""
    unknown = next((key for key in row if key not in _ARGUMENTS), None)
    if unknown is not None:
        raise ConfigurationError(
            f"the facts about {name!r} have the key {shown(unknown)}: {suggestion(unknown, sorted(_ARGUMENTS))}"
            f"expected keys among {', '.join(sorted(_ARGUMENTS))}"
        )
    try:
        return ModelFacts(**row)
    except ConfigurationError as error:
        raise ConfigurationError(f"the facts about {name!r}: {error}") from None


def _read_list(body: Any, source: FormatOrName | None) -> dict[str, ModelFacts]:
    """Read the list of models of any format."""
    format = formats.load(source_of(body, "models") if source is None else source)
    try:
        losses, checked, _ = read_answer(body, format, "models")
    except InvalidPayloadError as error:
        raise ConfigurationError(f"the table is no list of models of {format.name}: {error}") from None
    facts = {}
    for model in format.decode_models(checked).models:
        raw = resolve(losses.body, model.src)[1]
        facts[model.id] = _read_model(raw if isinstance(raw, dict) else {}, model.input_limit, model.output_limit)
    return facts


def _read_model(raw: JsonObject, context: int | None, output_limit: int | None) -> ModelFacts:
    """Return the facts in one model of a list: capabilities of Anthropic, parameters of OpenRouter, ``thinking`` of Gemini."""
    capabilities, architecture = raw.get("capabilities"), raw.get("architecture")
    supported = raw.get("supported_parameters")
    reasoning, efforts = _read_openrouter_reasoning(raw)
    if isinstance(capabilities, dict):
        reasoning, efforts = _read_anthropic_reasoning(capabilities)
    elif raw.get("thinking") is False:  # Gemini
        reasoning = "none"
    return ModelFacts(
        output_limit=_read_positive(output_limit),
        context=_read_positive(context),
        refuses=_read_refused(supported) if isinstance(supported, list) else frozenset(),
        reasoning=reasoning,
        efforts=efforts,
        budgets=_ANTHROPIC_BUDGETS if isinstance(capabilities, dict) and reasoning == "budget" else None,
        inputs=_read_anthropic_inputs(capabilities)
        if isinstance(capabilities, dict)
        else _read_media(architecture, "input_modalities"),
        outputs=_read_media(architecture, "output_modalities"),
    )


def _read_refused(supported: Iterable[Any]) -> frozenset[str]:
    """Return the parameters that are missing in a list of supported parameters."""
    listed = set(map(str, supported))
    return frozenset(name for parameter, name in _OPENROUTER_PARAMETERS.items() if parameter not in listed)


def _read_openrouter_reasoning(raw: JsonObject) -> tuple[ReasoningKind | None, tuple[ModelEffort, ...]]:
    """Read ``reasoning`` of a model of OpenRouter. The model accepts the effort ``none`` unless its reasoning is mandatory.

    Source: openrouter.ai/docs/client-sdks/python/components/modelreasoning.
    """
    reasoning, supported = raw.get("reasoning"), raw.get("supported_parameters")
    if isinstance(reasoning, dict):
        is_mandatory, listed = reasoning.get("mandatory") is True, reasoning.get("supported_efforts") or []
        return "always" if is_mandatory else "effort", _select_efforts([*listed, "none"] if listed and not is_mandatory else listed)
    if isinstance(supported, list) and "reasoning" not in supported:
        return "none", ()
    return None, ()


def _read_anthropic_reasoning(capabilities: JsonObject) -> tuple[ReasoningKind | None, tuple[ModelEffort, ...]]:
    """Read ``capabilities.thinking`` and ``capabilities.effort``. Source: the official SDK's types of the same names.

    A model that rejects ``thinking.type: disabled`` always reasons.
    """
    effort = capabilities.get("effort")
    efforts = _select_efforts([name for name in _EFFORTS if isinstance(effort, dict) and _is_supported(effort, name)])
    thinking = capabilities.get("thinking")
    if not isinstance(thinking, dict):
        return None, efforts
    if thinking.get("supported") is False:
        return "none", efforts
    types = thinking.get("types")
    if isinstance(types, dict):
        if isinstance(types.get("disabled"), dict) and not _is_supported(types, "disabled"):
            return "always", efforts
        if _is_supported(types, "adaptive"):
            return "adaptive", efforts
        if _is_supported(types, "enabled"):
            return "budget", efforts
    return None, efforts


def _read_anthropic_inputs(capabilities: JsonObject) -> frozenset[MediaKind] | None:
    known: Mapping[str, MediaKind] = {"image_input": "image", "pdf_input": "document"}
    if not any(name in capabilities for name in known):
        return None
    return _add_text_kind(kind for name, kind in known.items() if _is_supported(capabilities, name))


def _add_text_kind(kinds: Iterable[MediaKind]) -> frozenset[MediaKind]:
    return frozenset(kinds) | {"text"}


def _is_supported(capabilities: JsonObject, name: str) -> bool:
    capability = capabilities.get(name)
    return isinstance(capability, dict) and capability.get("supported") is True


def _select_efforts(values: Any) -> tuple[ModelEffort, ...]:
    """Return the efforts of models among some values, in their order."""
    listed = set(values) if isinstance(values, list) else set()
    return tuple(effort for effort in _EFFORTS if effort in listed)


def _read_media(raw: Any, name: str) -> frozenset[MediaKind] | None:
    """Return the kinds of media in a list of modalities; None without such a list."""
    listed = raw.get(name) if isinstance(raw, Mapping) else None
    return frozenset(_MEDIA[kind] for kind in listed if kind in _MEDIA) if isinstance(listed, list) else None


def _read_positive(value: Any) -> int | None:
    """Return a number above 0, also a whole float such as ``8192.0``, which data frames and spreadsheets contain."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and value > 0 else None


def _read_litellm(table: Mapping[str, Any], provider: str | None) -> dict[str, ModelFacts]:
    """Read LiteLLM's table; its row ``sample_spec`` describes the columns. Rows of other modes than chat and responses are skipped.

    Most names begin with their provider, such as ``mistral/``, which a request has not. Such a row is listed by the rest of its name, too:
    for one ``provider`` always, and for all if the rows with the same rest state the same facts.
    """
    rows = {name: row for name, row in table.items() if name != "sample_spec" and isinstance(row, Mapping)}
    has_instructions = any(row.get(_LITELLM_INSTRUCTIONS) is True for row in rows.values())  # an older table has no such column
    selected = {name: row for name, row in rows.items() if provider is None or _is_of_provider(row, provider)}
    if not selected and provider is not None:
        number = len({str(row.get("litellm_provider")) for row in rows.values()})
        raise ConfigurationError(f"provider is {shown(provider)}, expected one of the {number} providers of the table")
    facts = {
        name: _read_litellm_row(name, row, has_instructions)
        for name, row in selected.items()
        if row.get("mode") in ("chat", "responses", "completion", None)
    }
    by_model: dict[str, set[ModelFacts]] = {}
    for name, each in facts.items():
        by_model.setdefault(_name_of_model(name, rows[name]), set()).add(each)
    return {model: same.pop() for model, same in by_model.items() if len(same) == 1} | facts


def _is_of_provider(row: Mapping[str, Any], provider: str) -> bool:
    """Return whether a row is of a provider. Vertex AI has several names, such as ``vertex_ai-language-models``."""
    name = str(row.get("litellm_provider"))
    return name == provider or name.startswith(f"{provider}-")


def _name_of_model(name: str, row: Mapping[str, Any]) -> str:
    """Return the name of a row without its provider, which begins it: ``vertex_ai/`` for ``vertex_ai-language-models``."""
    prefix, _, model = name.partition("/")
    return model if model and _is_of_provider(row, prefix) else name


def _is_anthropic(name: str, row: Mapping[str, Any]) -> bool:
    """Return whether a model is one of Anthropic. Bedrock has those of several vendors: ``us.anthropic.claude-sonnet-4-5-...``."""
    provider = str(row.get("litellm_provider"))
    return provider in _LITELLM_ANTHROPIC or (provider.startswith("bedrock") and "anthropic." in name)


def _read_litellm_row(name: str, row: Mapping[str, Any], has_instructions: bool) -> ModelFacts:
    """Read one row. A column that is missing states nothing; ``supports_...: false`` states that the model lacks it.

    ``has_instructions``: the table states which models accept instructions after the first turn.
    """
    efforts, is_anthropic = _read_litellm_efforts(row), _is_anthropic(name, row)
    reasoning = _read_litellm_reasoning(name, row, efforts)
    return ModelFacts(
        output_limit=_read_positive(row.get("max_output_tokens")),
        context=_read_positive(row.get("max_input_tokens")),
        refuses=_read_litellm_refused(row, has_instructions and is_anthropic),
        reasoning=reasoning,
        efforts=efforts,
        budgets=_ANTHROPIC_BUDGETS if reasoning == "budget" and is_anthropic else None,
        inputs=_read_litellm_inputs(row),
        outputs=_read_media(row, "supported_output_modalities"),
    )


def _read_litellm_inputs(row: Mapping[str, Any]) -> frozenset[MediaKind] | None:
    """Read the kinds of input of one row: a list, which never has documents, and flags. Without both they are unknown.

    A kind without a flag is unknown, and only kinds that the row denies are missing.
    """
    listed = _read_media(row, "supported_modalities")
    flags = {kind: row.get(flag) for flag, kind in _LITELLM_INPUTS.items()}
    kinds = _add_text_kind(listed | {"document"}) if listed else frozenset(get_args(MediaKind))
    kinds = (kinds | {kind for kind, flag in flags.items() if flag is True}) - {
        kind for kind, flag in flags.items() if flag is False
    }
    return kinds if listed or False in flags.values() else None


def _read_litellm_efforts(row: Mapping[str, Any]) -> tuple[ModelEffort, ...]:
    """Read the efforts of one row: a list, or a flag for each effort that few models have. Without both they are unknown.

    High and medium need no flag, and low is missing only if its flag is false.
    Source: BerriAI/litellm, litellm_core_utils/reasoning_effort_capability.py.
    """
    if isinstance(row.get("reasoning_effort_levels"), list):
        return _select_efforts(row["reasoning_effort_levels"])
    flags = {
        effort: row[f"supports_{effort}_reasoning_effort"] for effort in _EFFORTS if f"supports_{effort}_reasoning_effort" in row
    }
    if not flags and row.get("supports_output_config") is not True:  # the effort of Anthropic's models
        return ()
    return _select_efforts([effort for effort in _EFFORTS if flags.get(effort, effort in ("low", "medium", "high"))])


def _read_litellm_reasoning(name: str, row: Mapping[str, Any], efforts: tuple[ModelEffort, ...]) -> ReasoningKind | None:
    """Read how a model reasons. Models of Anthropic without the flag for adaptive thinking take a budget.

    A model of OpenAI that reasons has an effort, which may be unknown. The name of a model of Google states its version: since Gemini 3
    it has a level, before a budget. Without the column for reasoning nothing is known.

    Sources: BerriAI/litellm, llms/anthropic/common_utils.py, ``is_adaptive_thinking_model`` and ``_is_always_on_thinking_model``;
    llms/openai/chat/o_series_transformation.py, ``o_series_only_param``; llms/vertex_ai/gemini, ``_is_gemini_3_or_newer``.
    """
    if row.get("supports_reasoning") is False:
        return "none"
    if row.get("thinking_always_on") is True:
        return "always"
    if row.get("supports_adaptive_thinking") is True:
        return "adaptive"
    reasons = row.get("supports_reasoning") is True
    if reasons and _is_anthropic(name, row):
        return "budget"
    version = _GEMINI.search(name) if (reasons or efforts) and row.get("litellm_provider") in _LITELLM_GOOGLE else None
    if version is not None:
        return "level" if int(version[1]) >= 3 else "budget"
    return "effort" if efforts or (reasons and row.get("litellm_provider") in _LITELLM_OPENAI) else None


def _read_litellm_refused(row: Mapping[str, Any], requires_flag: bool) -> frozenset[str]:
    """Read what a model refuses. The flag for schemas does not concern JSON mode.

    ``requires_flag``: without the flag for later instructions the model rejects them, as those of Anthropic do. The flag for parallel calls
    concerns a parameter of OpenAI's models only; other providers list models with it that call one function at a time.

    Sources: BerriAI/litellm, docs/completion/json_mode.md, "Check if model supports `json_schema`"; the module for ``role: "system"``
    messages after the first turn, and BerriAI/litellm#36969; router_utils/pre_call_checks/continuation_prefill_check.py;
    llms/openai/chat/o_series_transformation.py, ``_supports_parallel_tool_calls``.
    """
    flags = {
        "supports_function_calling": "tools",
        "supports_tool_choice": "tool_choice",
        "supports_response_schema": "json_schema",
        "supports_assistant_prefill": "prefill",
        _LITELLM_INSTRUCTIONS: "later_instructions",
    }
    if row.get("litellm_provider") in _LITELLM_OPENAI:
        flags["supports_parallel_function_calling"] = "parallel_tool_calls"
    refused = {name for flag, name in flags.items() if row.get(flag) is False}
    if requires_flag and row.get(_LITELLM_INSTRUCTIONS) is not True:
        refused.add("later_instructions")
    sampling = _SAMPLING if row.get("supports_sampling_params") is False else frozenset()
    return frozenset(refused | ({"tool_choice"} if "tools" in refused else set()) | sampling)


# models.dev.


def _read_models_dev(table: Mapping[str, Any], provider: str | None) -> dict[str, ModelFacts]:
    """Read ``api.json``. Each model is listed by provider and name, and by its name alone for the first provider with that name."""
    if provider is not None and provider not in table:
        raise ConfigurationError(f"provider is {shown(provider)}, expected one of the {len(table)} providers of the catalog")
    facts: dict[str, ModelFacts] = {}
    for id, row in table.items():
        if provider in (None, id):
            for name, model in row["models"].items():
                model_facts = _read_models_dev_model(model, row.get("npm"))
                facts[f"{id}/{name}"] = model_facts
                facts.setdefault(name, model_facts)
    return facts


def _read_models_dev_model(model: Mapping[str, Any], package: Any) -> ModelFacts:
    """Read one model. ``package``: the SDK of its provider, which states the format of its requests.

    Source: anomalyco/models.dev, AGENTS.md, "Model fields" and "Reasoning options"; README.md, "Adding a New Provider Model", where
    ``structured_output`` is "a dedicated structured output feature", which JSON mode is not.
    """
    limit = model.get("limit")
    limit = limit if isinstance(limit, Mapping) else {}
    refused = {"tools", "tool_choice"} if model.get("tool_call") is False else set()
    if model.get("temperature") is False:
        refused |= {"temperature"}
    if model.get("structured_output") is False:
        refused |= {"json_schema"}
    reasoning, efforts, budgets = _read_models_dev_reasoning(model, package)
    return ModelFacts(
        output_limit=_read_positive(limit.get("output")),
        context=_read_positive(limit.get("context")),
        refuses=frozenset(refused),
        reasoning=reasoning,
        efforts=efforts,
        budgets=budgets,
        inputs=_read_media(model.get("modalities"), "input"),
        outputs=_read_media(model.get("modalities"), "output"),
    )


def _read_models_dev_reasoning(
    model: Mapping[str, Any], package: Any
) -> tuple[ReasoningKind | None, tuple[ModelEffort, ...], tuple[int, int | None] | None]:
    """Read the kind of reasoning, the efforts and the budgets of one model. ``toggle``: a field turns reasoning on and off.

    An empty list states that no field of a request controls reasoning. In Google's format a budget of 0 turns reasoning off, so a model
    whose smallest budget is larger always reasons. A model of Anthropic with efforts and budgets accepts both together.
    """
    listed = model.get("reasoning_options")
    if model.get("reasoning") is False:
        return "none", (), None
    if not isinstance(listed, list):
        return None, (), None
    if not listed:
        return "always", (), None
    options = {option.get("type"): option for option in listed if isinstance(option, Mapping)}
    efforts = _select_efforts(options["effort"].get("values")) if "effort" in options else ()
    budgets = _read_models_dev_budgets(options["budget_tokens"]) if "budget_tokens" in options else None
    has_toggle = "toggle" in options
    if efforts:
        if package in _ANTHROPIC_PACKAGES:
            return "budget" if budgets else "adaptive" if has_toggle else "always", efforts, budgets
        kind: ReasoningKind = "level" if package in _GOOGLE_PACKAGES else "effort"
        return kind, _select_efforts([*efforts, "none"]) if has_toggle else efforts, budgets
    if budgets is None:
        return None, (), None
    is_always_on = package in _GOOGLE_PACKAGES and not has_toggle and options["budget_tokens"].get("min", 0) > 0
    return "always" if is_always_on else "budget", (), budgets


def _read_models_dev_budgets(option: Mapping[str, Any]) -> tuple[int, int | None]:
    smallest, largest = _read_positive(option.get("min")) or 1, _read_positive(option.get("max"))
    return smallest, None if largest is None else max(smallest, largest)
