"""What a caller hands in, read and checked: JSON text, objects and typed models to bodies of a format; errors by their shape."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from formatbridge import formats, ir
from formatbridge.convert.evidence import FormatCandidate, find_candidates, is_sure, likely_formats, read_object
from formatbridge.errors import ConfigurationError, InvalidPayloadError
from formatbridge.formats.format import FormatOrName, FormatSpec, Kind
from formatbridge.formats.registry import format_of_module
from formatbridge.formats.shared.errors import is_error_body
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger, resolve
from formatbridge.validation.error_messages import problems_of
from formatbridge.validation.malformed_fields import Repair, repair

if TYPE_CHECKING:
    from formatbridge.validation.wire_base import Wire

TEXT = (bytes, bytearray, str)
"""What JSON text may be."""

_MODELS: dict[Kind, tuple[str, str]] = {
    "request": ("request", "Request"),
    "response": ("response", "Response"),
    "error": ("error", "Error"),
    "models": ("models", "ModelList"),
}
"""Kind of document to the module of a package of wire models, and the model that describe it."""

KINDS: dict[str, Kind] = {model: kind for kind, (_, model) in _MODELS.items()}
"""Name of a typed model to the kind of document it reads."""


@cache
def wire_model(format: FormatOrName, kind: Kind) -> type[BaseModel]:
    """Return the typed model of one kind of document."""
    wire = import_module(formats.load(format).wire_module)
    module, model = _MODELS[kind]
    if hasattr(wire, "__path__"):  # a package, of which only one module is needed
        wire = import_module(f"{wire.__name__}.{module}")
    return cast("type[BaseModel]", getattr(wire, model))


@cache
def validator_of(format: FormatOrName, kind: Kind) -> Callable[[Any], Any]:
    """Return the function that validates one kind of document, built at its first use."""
    from formatbridge.validation.validators import dict_validator

    return dict_validator(wire_model(format, kind))


def _object_of(body: Any, source: str, kind: Kind, mended: list[codec.Replacement]) -> JsonObject:
    """Turn an object or a typed model into a JSON object of its own; raise ``InvalidPayloadError`` where it is none.

    A typed model of another format than ``source`` is a contradiction: read as the latter it would lose what only its own has.
    ``mended`` takes what was half a character.
    """
    try:
        value = codec.checked(_dumped(body, source, kind) if isinstance(body, BaseModel) else body, mended)
    except codec.NotJsonError as error:
        raise _no_json(error, source, kind) from None
    return value if type(value) is dict else _no_object(value, source, kind)


def _reread(text: bytes | bytearray | str, source: str, kind: Kind, mended: list[codec.Replacement]) -> JsonObject:
    """Read text that the quick parser refused; raise ``InvalidPayloadError`` where it is no JSON object."""
    try:
        value = codec.reread(text, mended)
    except codec.NotJsonError as error:
        raise _no_json(error, source, kind) from None
    return value if type(value) is dict else _no_object(value, source, kind)


def _no_json(error: codec.NotJsonError, source: str, kind: Kind) -> InvalidPayloadError:
    return InvalidPayloadError(source, kind, [(error.pointer, error.message)])


def _no_object(value: Any, source: str, kind: Kind) -> NoReturn:
    raise InvalidPayloadError(source, kind, [("", f"is {codec.describe(value)}, expected an object")])


def _dumped(body: BaseModel, source: str, kind: Kind) -> Any:
    """Return the plain values of a typed model."""
    found = model_of(body)
    if found and found[0] != source:
        raise ConfigurationError(f"source is {source!r} and the body a {found[0]} model, expected one format")
    if found and found[1] not in (kind, None):
        raise codec.NotJsonError("", f"is a {found[1]} model, expected a {kind}")
    from formatbridge.validation.model_dump import dump_model

    return dump_model(body)


def check(raw: JsonObject, format: FormatOrName, kind: Kind) -> JsonObject:
    """Validate a body by its wire model and return it with its keys in the vendor's spelling."""
    format = formats.load(format)
    try:
        return validator_of(format, kind)(raw)  # type: ignore[no-any-return]  # an object, as the models are
    except ValidationError:
        raise InvalidPayloadError(format.name, kind, problems_of(wire_model(format, kind), raw)) from None


def read_checked(body: Any, format: FormatSpec, kind: Kind) -> tuple[Ledger, JsonObject]:
    """Read and validate the body that a caller passes; return its ledger, and the body as ``check`` returns it."""
    losses = _read_object(body, format, kind)
    _refuse_other_format(losses.body, format, kind)
    try:
        checked = validator_of(format, kind)(losses.body)
    except ValidationError:
        _refuse_infinity(losses, format.name, kind)  # it may cause the other faults
        raise InvalidPayloadError(format.name, kind, problems_of(wire_model(format, kind), losses.body)) from None
    if losses.text is not None and not codec.is_finite(losses.body, losses.text):
        _refuse_infinity(losses, format.name, kind)
    return losses, checked


def read_answer(body: Any, format: FormatSpec, kind: Kind) -> tuple[Ledger, JsonObject, Repair | None]:
    """Read what a server sent as ``read_checked`` does, but without its malformed details, which the third value has.

    Raises ``InvalidPayloadError`` where that leaves nothing to read, and on an error in the place of an answer.
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
    """Return an answer without its malformed details; None where that leaves nothing to read, and for an error in its place."""
    if kind == "response" and is_error_body(raw):
        return None
    model = cast("type[Wire]", wire_model(format, kind))
    return repair(model, raw, model.ESSENTIAL)


def note_malformed(losses: Ledger, repaired: Repair | None) -> None:
    """Report what was left out of an answer before it was decoded."""
    if repaired is not None:
        losses.repaired(repaired.body, repaired.original)
        losses.malformed(repaired.pointers)


def check_answer(raw: JsonObject, format: FormatSpec, kind: Kind = "response") -> JsonObject:
    """Validate an answer as ``check`` does, and leave out its malformed details."""
    try:
        return check(raw, format, kind)
    except InvalidPayloadError:
        repaired = repair_answer(raw, format, kind)
        if repaired is None:
            raise
        return repaired.checked


def _read_object(body: Any, format: FormatSpec, kind: Kind) -> Ledger:
    """Read the JSON object that a caller passes; return a ledger that holds it."""
    if not isinstance(body, TEXT):
        return _read_slowly(body, format, kind)
    if isinstance(body, bytearray):  # the caller may change it before the report is read
        body = bytes(body)
    try:  # infinities pass, for ``1e400`` becomes one without a word; ``_refuse_infinity`` looks for them
        raw = from_json(body, allow_inf_nan=False, cache_strings="keys")
    except (ValueError, TypeError):
        return _read_slowly(body, format, kind)
    return Ledger(raw, format.field_paths, body) if type(raw) is dict else _no_object(raw, format.name, kind)


def _read_slowly(body: Any, format: FormatSpec, kind: Kind) -> Ledger:
    """Read an object or a typed model, or text that the quick parser refuses, of which half a character may be mended."""
    mended: list[codec.Replacement] = []
    text = body if isinstance(body, TEXT) else None
    raw = _object_of(body, format.name, kind, mended) if text is None else _reread(text, format.name, kind, mended)
    losses = Ledger(raw, format.field_paths, text)
    if mended:
        losses.replaced(mended)
    return losses


def _refuse_infinity(losses: Ledger, source: str, kind: Kind) -> None:
    """Raise ``InvalidPayloadError`` where a number of a body's text is an infinity, which no JSON can hold."""
    if losses.text is None:
        return
    try:
        codec.checked(losses.body)
    except codec.NotJsonError as error:
        raise _no_json(error, source, kind) from None


def source_of(body: Any, kind: Kind) -> str:
    """Return the name of a body's format, where ``source`` is None: that of a typed model, or the detected one.

    Raises ``ConfigurationError`` where detection is not sure, with the formats that the body may have.
    """
    found = model_of(body)
    if found is not None:
        return found[0]
    try:
        value = read_object(body)
    except codec.NotJsonError:
        value = None
    if not isinstance(value, dict):
        raise ConfigurationError(f"source is missing, and the {kind} is no JSON object that shows its format: pass source=")
    candidates = _candidates(value, kind)
    if is_sure(candidates):
        return candidates[0].format
    names = [candidate.format for candidate in candidates]
    problem = f"may be {' or '.join(names)}" if names else "matches no format"
    raise ConfigurationError(f"source is missing, and the {kind} {problem}: pass source=")


def _candidates(body: JsonObject, kind: Kind) -> list[FormatCandidate]:
    """Return the built-in formats that have evidence for one kind of document in a body."""
    return [candidate for candidate in find_candidates(body) if candidate.kind == kind]


def _refuse_other_format(body: JsonObject, format: FormatSpec, kind: Kind) -> None:
    """Raise ``InvalidPayloadError`` on a body without content that is clearly of another format. It would become empty."""
    name = format.content_fields.get(kind)
    likely = _other_formats(body, format.name, kind) if name is not None and name not in body else None
    if likely:
        names, reasons = " or ".join(candidate.format for candidate in likely), ", ".join(likely[0].reasons[:3])
        message = f"looks like a {kind} of {names} ({reasons}), expected {format.name} with {name}"
        raise InvalidPayloadError(format.name, kind, [("", message)])


def _other_formats(body: JsonObject, format: ir.FormatName, kind: Kind) -> list[FormatCandidate]:
    """Return the likely formats of a body; none where the given format is one of them."""
    likely = likely_formats(_candidates(body, kind))
    return [] if any(candidate.format == format for candidate in likely) else likely


def model_of(body: Any) -> tuple[ir.FormatName, Kind | None] | None:
    """Return the format and kind of a typed model, a subclass included; None where it is none of ours."""
    for ancestor in type(body).__mro__ if isinstance(body, BaseModel) else ():
        name = format_of_module(ancestor.__module__)
        if name is not None:
            return name, KINDS.get(ancestor.__name__)
    return None


def _decode_error_text(body: Any, mended: list[codec.Replacement]) -> Any:
    """Return an error body, text in the place of bytes. U+FFFD replaces bytes that are not UTF-8; ``mended`` takes each text with any."""
    if not isinstance(body, bytes | bytearray):
        return body
    raw = bytes(body)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        text = raw.decode(errors="replace")
    found: list[codec.Replacement] = []
    try:
        value = codec.loads(text, [])
        codec.loads(raw.decode(errors="surrogateescape"), found)  # each such byte becomes a lone surrogate, which has a pointer
    except codec.NotJsonError:  # no JSON, or such a byte is in a key: then the whole body is named
        mended.append(codec.Replacement("", raw.decode(errors="backslashreplace"), text, "invalid_utf8"))
        return text
    for pointer, before, _, code in found:
        after = resolve(value, pointer)[1]
        is_byte = "\\udc" in before and isinstance(after, str)
        mended.append(codec.Replacement(pointer, before.replace("\\udc", "\\x"), after, "invalid_utf8" if is_byte else code))
    return text


def read_error_body(body: Any, source: ir.FormatName, mended: list[codec.Replacement]) -> tuple[JsonObject, str | None, str | None]:
    """Read an error body by its shape: an object, a list of one, or anything else, which is then the message.

    The second value is the pointer of the object, None where there is none; the third is the JSON text of the body, where it came as text
    that holds one. ``mended`` takes what was no valid Unicode.
    """
    body = _decode_error_text(body, mended)
    text = body if isinstance(body, str) else None
    if isinstance(body, str):
        found: list[codec.Replacement] = []
        try:
            body = codec.loads(body, found)
        except codec.NotJsonError:
            return _object_of({"message": body}, source, "error", mended), None, None
        mended += found
    if isinstance(body, dict | BaseModel):
        return _object_of(body, source, "error", mended), "", text
    if isinstance(body, list) and len(body) == 1 and isinstance(body[0], dict):
        inner: list[codec.Replacement] = []
        only = _object_of(body[0], source, "error", inner)
        mended += [mend._replace(pointer=f"/0{mend.pointer}") for mend in inner]
        return only, "/0", text
    whole = _object_of({"message": body}, source, "error", mended)["message"]
    return {"message": "" if whole is None else codec.dumps(whole).decode()}, None, None


def is_error_response(body: Any, source: ir.FormatName) -> bool:
    """Say whether what is no answer is an error that came in the place of one."""
    try:
        raw, at, _ = read_error_body(body, source, [])
    except InvalidPayloadError:
        return False
    return at is not None and is_error_body(raw) and not _other_formats(raw, source, "response")


def check_error(raw: JsonObject, format: FormatSpec) -> tuple[JsonObject, bool]:
    """Validate an error body. One that breaks every known shape is put in words, as few as will do, and the second value is false."""
    told = _in_words(raw, "error", "message", "detail")
    detail = raw.get("error")
    inner = {**raw, "error": _in_words(detail, "message")} if isinstance(detail, dict) else raw
    for reading in (raw, inner, told):
        try:
            return check(reading, format, "error"), reading is raw
        except InvalidPayloadError:
            continue
    return {"message": codec.dumps(raw).decode()}, False


def _in_words(raw: JsonObject, *keys: str) -> JsonObject:
    """Return an object with JSON text for whatever stands under some keys and is no text."""
    texts = {key: raw[key] for key in keys if raw.get(key) is not None and not isinstance(raw[key], str)}
    return raw | {key: codec.dumps(value).decode() for key, value in texts.items()}
