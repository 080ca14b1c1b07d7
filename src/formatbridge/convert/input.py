"""Read and validate the bodies that callers pass: JSON text, dicts and typed models; error bodies of any shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from operator import add
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from formatbridge import formats, ir
from formatbridge.convert.evidence import FormatCandidate, find_candidates, is_sure, likely_formats, read_object
from formatbridge.errors import ConfigurationError, InvalidPayloadError
from formatbridge.formats.format import FormatSpec, Kind
from formatbridge.formats.registry import format_of_module
from formatbridge.formats.shared.errors import is_error_body
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger, resolve
from formatbridge.validation.error_messages import problems_of
from formatbridge.validation.malformed_fields import Repair, repair

if TYPE_CHECKING:
    from formatbridge.validation.wire_base import Wire

Body: TypeAlias = Mapping[str, Any] | str | bytes | bytearray | BaseModel
"""A body that a caller may pass: a ``dict`` (typed or not), JSON text, or a typed model of this library or of an official SDK."""

TEXT = (bytes, bytearray, str)
"""The types that are accepted as JSON text."""

_MODELS: dict[Kind, tuple[str, str]] = {
    "request": ("request", "Request"),
    "response": ("response", "Response"),
    "error": ("error", "Error"),
    "models": ("models", "ModelList"),
    "count_request": ("counts", "CountRequest"),
    "count_response": ("counts", "CountResponse"),
}
"""Kind of document to the module of a package of wire models, and the name of the model in it."""

KINDS: dict[str, Kind] = {model: kind for kind, (_, model) in _MODELS.items()}
"""Name of a typed model to the kind of document it reads."""

COUNTS: frozenset[Kind] = frozenset({"count_request", "count_response"})
"""The kinds of documents that only formats with an endpoint for token counts have."""


@cache
def wire_model(format: FormatOrName, kind: Kind) -> type[BaseModel]:
    """Return the typed model of one kind of document; raise ``ConfigurationError`` if the format has no such document."""
    spec = formats.load(format)
    if kind in COUNTS and spec.count is None:
        raise ConfigurationError(f"{spec.name} has no endpoint that counts tokens: use another format")
    wire = import_module(spec.wire_module)
    module, model = _MODELS[kind]
    if hasattr(wire, "__path__"):  # a package: import only the module of this kind, because models take long to build
        wire = import_module(f"{wire.__name__}.{module}")
    return cast("type[BaseModel]", getattr(wire, model))


@cache
def validator_of(format: FormatOrName, kind: Kind) -> Callable[[Any], Any]:
    """Return the function that validates one kind of document; it is compiled at first use."""
    from formatbridge.validation.validators import dict_validator

    return dict_validator(wire_model(format, kind))


def _object_of(body: Any, source: str, kind: Kind, replaced: list[codec.Replacement]) -> JsonObject:
    """Convert a dict or a typed model to a new JSON object; raise ``InvalidPayloadError`` for anything else.

    A typed model of a format other than ``source`` raises ``ConfigurationError``: reading it as ``source`` would lose fields.
    ``replaced`` receives the replacements of lone surrogates.
    """
    try:
        value = codec.checked(_dumped(body, source, kind) if isinstance(body, BaseModel) else body, replaced)
    except codec.NotJsonError as error:
        raise _no_json(error, source, kind) from None
    return value if type(value) is dict else _no_object(value, source, kind)


def _reread(text: bytes | bytearray | str, source: str, kind: Kind, replaced: list[codec.Replacement]) -> JsonObject:
    """Parse text that pydantic-core's parser rejected; raise ``InvalidPayloadError`` if it is no JSON object."""
    try:
        value = codec.reread(text, replaced)
    except codec.NotJsonError as error:
        raise _no_json(error, source, kind) from None
    return value if type(value) is dict else _no_object(value, source, kind)


def _no_json(error: codec.NotJsonError, source: str, kind: Kind) -> InvalidPayloadError:
    return InvalidPayloadError(source, kind, [(error.pointer, error.message)])


def _no_object(value: Any, source: str, kind: Kind) -> NoReturn:
    raise InvalidPayloadError(source, kind, [("", f"is {codec.describe(value)}, expected an object")])


def _dumped(body: BaseModel, source: str, kind: Kind) -> Any:
    """Return a typed model as JSON values."""
    model = model_of(body)
    if model and model[0] != source:
        raise ConfigurationError(f"source is {source!r} and the body a {model[0]} model, expected one format")
    # The kind is None for a model of a part of a body. A request to count tokens may be a whole request (``read_count_request``).
    if model and model[1] not in (kind, None) and (kind, model[1]) != ("count_request", "request"):
        raise codec.NotJsonError("", f"is a {model[1]} model, expected a {kind}")
    from formatbridge.validation.model_dump import dump_model

    return dump_model(body)


def check(raw: JsonObject, format: FormatOrName, kind: Kind) -> JsonObject:
    """Validate a body by its wire model and return it with the documented keys."""
    format = formats.load(format)
    try:
        return validator_of(format, kind)(raw)  # type: ignore[no-any-return]  # an object, as the models are
    except ValidationError:
        raise InvalidPayloadError(format.name, kind, problems_of(wire_model(format, kind), raw)) from None


def read_checked(body: Any, format: FormatSpec, kind: Kind) -> tuple[Ledger, JsonObject]:
    """Read and validate the body that a caller passes; return its ledger and the validated body."""
    losses = _read_object(body, format, kind)
    return losses, _checked_object(losses, losses.body, "", format, kind)


def _checked_object(losses: Ledger, raw: JsonObject, pointer: str, format: FormatSpec, kind: Kind) -> JsonObject:
    """Validate the body of a ledger, or an object in it at ``pointer``, and return it with the documented keys."""
    if format.content_fields.get(kind) not in raw:
        _refuse_other_format(raw, format, kind)
    try:
        checked: JsonObject = validator_of(format, kind)(raw)
    except ValidationError:
        _refuse_infinity(losses, format.name, kind)  # it may cause the other faults
        problems = [(pointer + relative, message) for relative, message in problems_of(wire_model(format, kind), raw)]
        raise InvalidPayloadError(format.name, kind, problems) from None
    if losses.text is not None and not codec.is_finite(losses.body, losses.text):
        _refuse_infinity(losses, format.name, kind)
    return checked


def read_count_request(body: Any, format: FormatSpec) -> tuple[Ledger, JsonObject, JsonObject, str]:
    """Read and validate a request to count tokens, or a whole request in its place.

    Return its ledger, the request in it as passed and as validated, and the key of the request in the body; empty: it is the body itself.
    """
    # Gemini: ``{"contents": [...]}``, or ``{"generateContentRequest": {"model": "models/m", "contents": [...]}}``.
    losses = _read_object(body, format, "count_request")
    raw: JsonObject = losses.body
    field = format.count.request_field if format.count is not None else None
    key = next((name for name in format.keys_of(field) if raw.get(name) is not None), "") if field else ""
    if not key:
        return losses, raw, _checked_object(losses, raw, "", format, "request"), ""
    others = raw.keys() - {key, *format.url_fields}
    if others:  # the server requires one or the other: https://ai.google.dev/api/tokens
        problems = [(f"/{escape(name)}", f"is not allowed together with {key}: remove one of the two") for name in sorted(others)]
        raise InvalidPayloadError(format.name, "request", problems)
    if not isinstance(raw[key], dict):
        raise InvalidPayloadError(format.name, "request", [(f"/{key}", f"is {codec.describe(raw[key])}, expected an object")])
    losses.repaired(raw[key], partial(add, f"/{key}"))  # the decoder reads this object; the report has pointers into the body
    return losses, raw[key], _checked_object(losses, raw[key], f"/{key}", format, "request"), key


def read_answer(body: Any, format: FormatSpec, kind: Kind) -> tuple[Ledger, JsonObject, Repair | None]:
    """Read the body of a server as ``read_checked`` does, without its malformed fields; the third value holds these.

    Raises ``InvalidPayloadError`` if the body lacks essential fields, and for an error body in place of an answer.
    """
    losses = _read_object(body, format, kind)
    _refuse_other_format(losses.body, format, kind)
    repaired = None
    try:
        checked = validator_of(format, kind)(losses.body)
    except ValidationError:
        _refuse_infinity(losses, format.name, kind)
        repaired = repair_answer(losses.body, format, kind)
        if repaired is None:
            raise InvalidPayloadError(format.name, kind, problems_of(wire_model(format, kind), losses.body)) from None
        checked = repaired.checked
    if losses.text is not None and not codec.is_finite(losses.body, losses.text):
        _refuse_infinity(losses, format.name, kind)
    return losses, checked, repaired


def repair_answer(raw: JsonObject, format: FormatSpec, kind: Kind) -> Repair | None:
    """Return an answer without its malformed fields; None if it lacks essential fields, and for an error body in its place."""
    if kind == "response" and is_error_body(raw):
        return None
    model = cast("type[Wire]", wire_model(format, kind))
    # Without the essential fields any JSON object would become an answer without content.
    return repair(model, raw, model.ESSENTIAL)


def note_malformed(losses: Ledger, repaired: Repair | None) -> None:
    """Report the malformed fields that were removed from an answer before it was decoded."""
    if repaired is not None:
        losses.repaired(repaired.body, repaired.original)
        losses.malformed(repaired.pointers)


def check_answer(raw: JsonObject, format: FormatSpec, kind: Kind = "response") -> JsonObject:
    """Validate an answer as ``check`` does, without its malformed fields."""
    try:
        return check(raw, format, kind)
    except InvalidPayloadError:
        repaired = repair_answer(raw, format, kind)
        if repaired is None:
            raise
        return repaired.checked


def _read_object(body: Any, format: FormatSpec, kind: Kind) -> Ledger:
    """Read the JSON object that a caller passes; return a ledger that holds it. U+FFFD replaces lone surrogates."""
    text: bytes | str | None = None
    replacements: list[codec.Replacement] = []
    if not isinstance(body, TEXT):
        raw = _object_of(body, format.name, kind, replacements)
    else:
        text = bytes(body) if isinstance(body, bytearray) else body  # the caller may change it before the report is read
        # pydantic-core's parser rejects lone surrogates, and its errors have no pointers. It reads ``1e400`` as infinity without an error;
        # ``_refuse_infinity`` checks for it later.
        try:
            raw = from_json(text, allow_inf_nan=False, cache_strings="keys")
        except (ValueError, TypeError):
            raw = _reread(text, format.name, kind, replacements)
        if type(raw) is not dict:
            _no_object(raw, format.name, kind)
    losses = Ledger(raw, format.field_paths, text)
    if replacements:
        losses.replaced(replacements)
    return losses


def _refuse_infinity(losses: Ledger, source: str, kind: Kind) -> None:
    """Raise ``InvalidPayloadError`` if a number in the text of a body is infinite, which JSON cannot represent."""
    if losses.text is None:
        return
    try:
        codec.checked(losses.body)
    except codec.NotJsonError as error:
        raise _no_json(error, source, kind) from None


def source_of(body: Any, kind: Kind) -> ir.FormatName:
    """Return the name of a body's format, where ``source`` is None: that of a typed model, or the detected one.

    Raises ``ConfigurationError`` where detection is not sure, with the formats that the body may have.
    """
    model = model_of(body)
    if model is not None:
        return model[0]
    try:
        value = read_object(body)
    except codec.NotJsonError:
        value = None
    noun = "list of models" if kind == "models" else kind
    if not isinstance(value, dict):
        raise ConfigurationError(f"source is missing, and the {noun} is no JSON object that shows its format: pass source=")
    candidates = _candidates(value, kind)
    if is_sure(candidates):
        return candidates[0].format
    names = [candidate.format for candidate in candidates]
    problem = f"may be {' or '.join(names)}" if names else "matches no format"
    raise ConfigurationError(f"source is missing, and the {noun} {problem}: pass source=")


def _candidates(body: JsonObject, kind: Kind) -> list[FormatCandidate]:
    """Return the built-in formats that have evidence for one kind of document in a body."""
    return [candidate for candidate in find_candidates(body) if candidate.kind == kind]


def _refuse_other_format(body: JsonObject, format: FormatSpec, kind: Kind) -> None:
    """Raise ``InvalidPayloadError`` on a body without content that is clearly of another format. It would become empty."""
    # The wire models require almost nothing and accept unknown fields, so that a body of another format is mostly valid here.
    name = format.content_fields.get(kind)
    if name is not None and name not in body and (likely := _other_formats(body, format.name, kind)):
        names, reasons = " or ".join(candidate.format for candidate in likely), ", ".join(likely[0].reasons[:3])
        message = f"looks like a {kind} of {names} ({reasons}), expected {format.name} with {name}"
        raise InvalidPayloadError(format.name, kind, [("", message)])


def _other_formats(body: JsonObject, format: ir.FormatName, kind: Kind) -> list[FormatCandidate]:
    """Return the likely formats of a body; none where that format is one of them."""
    likely = likely_formats(_candidates(body, kind))
    return [] if any(candidate.format == format for candidate in likely) else likely


def model_of(body: Any) -> tuple[ir.FormatName, Kind | None] | None:
    """Return the format and kind of a typed model or an instance of its subclass; None for other classes."""
    for ancestor in type(body).__mro__ if isinstance(body, BaseModel) else ():
        name = format_of_module(ancestor.__module__)
        if name is not None:
            return name, KINDS.get(ancestor.__name__)
    return None


def _decode_error_text(body: Any, replaced: list[codec.Replacement]) -> Any:
    """Return an error body with bytes decoded. U+FFFD replaces bytes that are not UTF-8; ``replaced`` receives the replacements."""
    if not isinstance(body, bytes | bytearray):
        return body
    # Gateways write error pages in other encodings. Such a page may be the only reason that the caller gets, so none is rejected.
    raw = bytes(body)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        text = raw.decode(errors="replace")
    # The report names the string with the invalid bytes. The parser returns pointers only for lone surrogates, and
    # ``surrogateescape`` turns each invalid byte into one: ``b"\xe9"`` becomes ``"\udce9"``. The report then shows ``\xe9``.
    surrogates: list[codec.Replacement] = []
    try:
        value = codec.loads(text, [])
        codec.loads(raw.decode(errors="surrogateescape"), surrogates)  # each such byte becomes a lone surrogate with a pointer
    except codec.NotJsonError:  # no JSON, or such a byte is in a key: the report names the whole body
        replaced.append(codec.Replacement("", raw.decode(errors="backslashreplace"), text, "invalid_utf8"))
        return text
    for pointer, before, _, code in surrogates:
        after = resolve(value, pointer)[1]
        is_byte = "\\udc" in before and isinstance(after, str)
        replaced.append(codec.Replacement(pointer, before.replace("\\udc", "\\x"), after, "invalid_utf8" if is_byte else code))
    return text


def read_error_body(
    body: Any, source: ir.FormatName, replaced: list[codec.Replacement]
) -> tuple[JsonObject, str | None, str | None]:
    """Read an error body of any shape: an object, a list of one object, or any other value, which becomes the message.

    The second value is the pointer of the object; None if there is none. The third is the JSON text of the body, if it was text that
    contains an object. ``replaced`` receives the replacements of invalid Unicode.
    """
    # ``{"error": {...}}``; ``[{"error": {...}}]``, from Gemini for a stream without ``alt=sse``, which is a JSON array
    # (flachesis/gemini-rust#29); ``"upstream timeout"``; HTML.
    body = _decode_error_text(body, replaced)
    text = body if isinstance(body, str) else None
    if isinstance(body, str):
        surrogates: list[codec.Replacement] = []
        try:
            body = codec.loads(body, surrogates)
        except codec.NotJsonError:
            return _object_of({"message": body}, source, "error", replaced), None, None
        replaced += surrogates
    if isinstance(body, dict | BaseModel):
        return _object_of(body, source, "error", replaced), "", text
    if isinstance(body, list) and len(body) == 1 and isinstance(body[0], dict):
        in_member: list[codec.Replacement] = []
        member = _object_of(body[0], source, "error", in_member)
        replaced += [each._replace(pointer=f"/0{each.pointer}") for each in in_member]
        return member, "/0", text
    whole = _object_of({"message": body}, source, "error", replaced)["message"]
    return {"message": "" if whole is None else codec.dumps(whole).decode()}, None, None


def is_error_response(body: Any, source: ir.FormatName) -> bool:
    """Return whether a body that is no valid answer is an error body."""
    try:
        raw, pointer, _ = read_error_body(body, source, [])
    except InvalidPayloadError:
        return False
    return pointer is not None and is_error_body(raw) and not _other_formats(raw, source, "response")


def check_error(raw: JsonObject, format: FormatSpec) -> tuple[JsonObject, bool]:
    """Validate an error body; the second value is false if it fits no known shape.

    In that case malformed members become JSON text: ``error.message``, or else the known members. If that is not enough, the whole body
    becomes the message.
    """
    # Such as ``{"error": {"message": {...}}}``, or ``{"message": [...]}``. The candidate that changes the least is first.
    flattened = _with_json_text(raw, "error", "message", "detail")
    error = raw.get("error")
    nested = {**raw, "error": _with_json_text(error, "message")} if isinstance(error, dict) else raw
    for candidate in (raw, nested, flattened):
        try:
            return check(candidate, format, "error"), candidate is raw
        except InvalidPayloadError:
            continue
    return {"message": codec.dumps(raw).decode()}, False


def _with_json_text(raw: JsonObject, *keys: str) -> JsonObject:
    """Return an object in which the values of some keys are JSON text, unless they are strings."""
    texts = {key: raw[key] for key in keys if raw.get(key) is not None and not isinstance(raw[key], str)}
    return raw | {key: codec.dumps(value).decode() for key, value in texts.items()}
