"""Opaque reasoning tokens, and the tag that carries a token in the slot of another format; the seals of tagged tokens.

A tagged token is ``fb1|<issuer>|<kind>|<token>``; in generate_content, whose slot has bytes, it is the base64 of that text. A token
without a tag belongs to the format of its slot. If a token is sealed to an item, the id of the item follows after another bar:
``fb1|responses|encrypted|<token>|<id>``. The same applies to a token that a server of chat_completions bound to a call. A bar in the id
is ``~1`` there, and a tilde ``~0``. If a token came in a body of another format, in a slot that names the issuer, that format is last:
``fb1|generate_content|call|<token>|chat_completions``. A dot and the key of the slot follow the format if it has two slots for the issuer:
``fb1|generate_content|call|<token>|chat_completions.vertex``.
With ``Options(token_key=...)`` a seal follows the kind, after a dot: ``fb1|messages|thinking.<32 hexadecimal digits>|<token>``. It is
checked after decoding and created before encoding, for every tagged token of a request, an answer and a stream, in every pair of formats.
A token without a valid seal is removed from its part and reported. Each format writes such a part as one without a token. A token that
came without a tag is not checked, because only its vendor can do that.
``without_foreign_tokens`` removes tagged tokens from a request that goes to the server of its format without a conversion.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, cast, get_args

from formatbridge import ir
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import is_same_list
from formatbridge.ir import events
from formatbridge.jsontext.codec import checked
from formatbridge.jsontext.pointers import unescape
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger, resolve
from formatbridge.report.losses import Severity

_TAG = "fb1|"
# Four characters of base64 are three bytes: these are "fb1". The fourth byte of the tag is in the next group.
_TAG_IN_BYTES = base64.b64encode(_TAG.encode()).decode()[:4]
_KINDS = ("thinking", "redacted", "encrypted", "thought", "call")
_HIDDEN = ("redacted", "encrypted")
"""Kinds of tokens that stand for the whole reasoning, without its text."""
_BOUND_TO: Mapping[ir.FormatName, Literal["item", "call"]] = {"responses": "item", "generate_content": "call"}
"""Issuers whose tokens are valid only with one item of reasoning, or with one tool call. Its id is part of the tag."""
_BUILT_IN = frozenset(get_args(ir.Format))
_FROM_OUTSIDE = ":"
"""Precedes the name of a format from outside in a tag. A name without it is a built-in format or part of the token."""

PLACEHOLDER = "skip_thought_signature_validator"
"""Google's token for a function call of another model: its server then checks no signature. Source: "Thought Signatures", FAQ."""
_PLACEHOLDER_TEXTS = (PLACEHOLDER, "context_engineering_is_the_way_to_go")  # both are on that page
_PLACEHOLDERS = frozenset(
    token for placeholder in _PLACEHOLDER_TEXTS for token in (placeholder, base64.b64encode(placeholder.encode()).decode())
)  # fmt: skip


def is_placeholder(token: str) -> bool:
    """Return whether a token of generate_content is a placeholder: the text (gemini-cli), or its base64 (pydantic-ai)."""
    return token in _PLACEHOLDERS


def decode_token(
    token: str,
    issuer: ir.FormatName,
    kind: ir.SignatureKind,
    src: str,
    item: str | None = None,
    body_format: ir.FormatName | None = None,
    key: str | None = None,
) -> ir.Signature:
    """Read a token from a slot of ``issuer``. A tagged token gets the issuer and the kind of its tag.

    ``item``: the id of the item that contains it; ``body_format``: the format of the body, if the slot names the issuer;
    ``key``: the key of the slot, if the format has another slot for that issuer.
    """
    # A token that only looks tagged stays whole: a vendor's token may begin with the same letters.
    text = token
    if token.startswith(_TAG_IN_BYTES):  # ``thoughtSignature`` has bytes, which are base64 in JSON
        try:
            text = base64.b64decode(token, validate=True).decode()
        except ValueError:  # no base64, or no text
            text = token
    if text.startswith(_TAG):
        pieces = text.split("|", 3)
        if len(pieces) == 4 and _names_format(pieces[1]) and "." not in pieces[1] and pieces[2].partition(".")[0] in _KINDS:
            known, kind_in_tag = _format_of(pieces[1]), cast(ir.SignatureKind, pieces[2].partition(".")[0])
            inner, received_in, key_in_tag = _split_received_in(pieces[3], known)
            inner, sealed = _split_item(inner) if known in _BOUND_TO else (inner, None)
            return ir.Signature(
                issuer=known,
                kind=kind_in_tag,
                token=inner,
                src=src,
                item_id=sealed,
                received_in=received_in,
                received_key=key_in_tag,
                tagged_text=text,
            )
    received_in = body_format if body_format != issuer else None
    bound = item if issuer in _BOUND_TO else None
    return ir.Signature(issuer=issuer, kind=kind, token=token, src=src, item_id=bound, received_in=received_in, received_key=key)


def encode_token(
    signature: ir.Signature, slot: ir.FormatName, *, kind: ir.SignatureKind | None = None, carries_tokens: bool = True
) -> str:
    """Encode a token for an answer of the format ``slot``, tagged if it needs a tag there. ``kind`` replaces the kind in the tag."""
    if kind is None and not is_tagged(signature, slot, carries_tokens=carries_tokens):
        return signature.token
    return _tagged(signature, kind or signature.kind)


def _tagged(signature: ir.Signature, kind: ir.SignatureKind) -> str:
    """Return a token with its tag: with a new seal if it has a seal key, else with the seal of its source."""
    if signature.seal_key is not None:
        return f"{_TAG}{_piece_of(signature.issuer)}|{kind}.{_seal(signature.seal_key, kind)}|{_body_of(signature)}"
    # Without a key, a seal cannot be created again. The one of the source is valid for the same token and kind.
    if signature.tagged_text is not None and _seal_in(signature.tagged_text) and kind == signature.kind:
        return signature.tagged_text
    return f"{_TAG}{_piece_of(signature.issuer)}|{kind}|{_body_of(signature)}"


def _body_of(signature: ir.Signature) -> str:
    return _with_received_in(_with_item(signature), signature)


def _split_received_in(text: str, issuer: ir.FormatName) -> tuple[str, ir.FormatName | None, str | None]:
    """Split a token from the format of the body in which it was received, if that is not its issuer, and from the key of its slot."""
    inner, _, last = text.rpartition("|")
    if not _names_format(last):
        return text, None, None
    name, _, key = last.partition(".")
    received_in = _format_of(name)
    return (inner, received_in, key or None) if received_in != issuer else (inner, None, None)


def _with_received_in(text: str, signature: ir.Signature) -> str:
    """Append the format of the body in which a token was received, if it is not the issuer or the token ends with such a name."""
    if signature.received_in is None and not _names_format(text.rpartition("|")[2]):
        return text
    if signature.received_in is None:
        return f"{text}|{_piece_of(signature.issuer)}"
    return f"{text}|{_piece_of(signature.received_in)}" + (f".{signature.received_key}" if signature.received_key else "")


def _format_of(piece: str) -> ir.FormatName:
    """Return the format that a piece of a tag names."""
    return ir.RegisteredName(piece.removeprefix(_FROM_OUTSIDE))


def _piece_of(format: ir.FormatName) -> str:
    """Return the piece of a tag that names a format."""
    return format if format in _BUILT_IN else f"{_FROM_OUTSIDE}{format}"


def _names_format(piece: str) -> bool:
    """Return whether a piece of a tag names a format. The key of a slot may follow after a dot."""
    return piece.partition(".")[0] in _BUILT_IN or piece[:1] == _FROM_OUTSIDE


def is_native_token(signature: ir.Signature, slot: ir.FormatName) -> bool:
    """Return whether a request of a format may contain a token: the format is its issuer, or the token was received in it."""
    return slot in (signature.issuer, signature.received_in)


def _split_item(text: str) -> tuple[str, str | None]:
    """Split a token that may be sealed to an item from the item's id."""
    token, bar, item = text.rpartition("|")
    return (token, item.replace("~1", "|").replace("~0", "~") or None) if bar else (text, None)


def _with_item(signature: ir.Signature) -> str:
    """Return a token with the id of its item; with an empty id where the token itself has a bar."""
    if signature.issuer not in _BOUND_TO or (signature.item_id is None and "|" not in signature.token):
        return signature.token
    item = (signature.item_id or "").replace("~", "~0").replace("|", "~1")
    return f"{signature.token}|{item}"


def binding_of(signature: ir.Signature) -> Literal["item", "call"] | None:
    """Return whether ``item_id`` is the id of the item with the token, or that of a call; None if the token is not bound."""
    return None if signature.item_id is None else _BOUND_TO.get(signature.issuer)


def carries_call_token(part: ir.Part) -> bool:
    """Return whether a part has nothing but a token of the next part."""
    return type(part) is ir.Reasoning and part.signature is not None and part.signature.kind == "call" and not part.text


def is_tagged(signature: ir.Signature, slot: ir.FormatName, *, carries_tokens: bool) -> bool:
    """Return whether a token has a tag in an answer of a format.

    A token of that format has one too if it came in a body of another format, because only the tag has that format: the next request
    returns the token there. ``carries_tokens``: ``Options.carry_reasoning``; without it such a token has no tag.
    """
    if signature.issuer == slot:
        return carries_tokens and signature.received_in is not None
    return signature.received_in != slot


def keeps_id(signature: ir.Signature | None, item_id: str | None, slot: ir.FormatName) -> bool:
    """Return whether a token in an answer of ``slot`` has a tag that contains the id of its item."""
    return (
        signature is not None
        and signature.item_id is not None
        and signature.item_id == item_id
        and is_tagged(signature, slot, carries_tokens=True)
    )


def bound_to(part: ir.Part) -> str | None:
    """Return the id of the call to which a separate token is bound; None if it is not bound to one.

    OpenRouter sends tokens of generate_content in this form, although these belong on the call (fixture reasoning_bound).
    """
    if type(part) is not ir.Reasoning or part.text or part.signature is None:
        return None
    return part.signature.item_id if binding_of(part.signature) == "call" else None


def id_of(part: ir.Reasoning) -> str | None:
    """Return the id to which reasoning is sealed, else the id of its item."""
    return (part.signature and part.signature.item_id) or part.id


def native_token(signature: ir.Signature | None, slot: ir.FormatName, losses: Ledger) -> str | None:
    """Return a token for a request of the format ``slot``. A token of another issuer is dropped and noted."""
    if signature is None:
        return None
    if is_native_token(signature, slot):
        return signature.token
    losses.dropped(signature, code="foreign_signature")
    return None


def is_carried(signature: ir.Signature, slot: ir.FormatName, options: Options) -> bool:
    """Return whether an answer keeps a token. Other tokens are reported where the whole answer is written."""
    return options.carry_reasoning or signature.issuer == slot


def drop_unsigned(part: ir.Reasoning, losses: Ledger, code: str = "unsigned_reasoning") -> None:
    """Note that the target rejects reasoning without a token of its format: the text, the token and the id are dropped.

    ``code``: that of the loss of the text.
    """
    losses.extras(part)
    if part.text:
        losses.dropped(part, "text", code)
        losses.dropped(part.signature, code="foreign_signature")
        drop_field(part, "id", losses)
    elif part.signature:
        drop_empty(part, losses)
    else:
        losses.dropped(part, code="empty")


def drop_empty(part: ir.Reasoning, losses: Ledger) -> None:
    """Note that reasoning with a foreign token and no text is dropped: hidden reasoning as a whole, else its token and its id."""
    signature = part.signature
    if signature and signature.kind in _HIDDEN:
        losses.dropped(part, code="foreign_signature")
    elif signature:
        losses.dropped(signature, code="foreign_signature")
        drop_field(part, "id", losses)


# Seals have two steps, so that the key that is stored with a token cannot seal another token.


def seal_key(signature: ir.Signature, key: bytes) -> bytes:
    """Return the key that seals the tag of one token, of any kind."""
    return _hash_tag(key, signature.issuer, _body_of(signature))


def is_verified(signature: ir.Signature, key: bytes) -> bool:
    """Return whether a token had no tag, or a tag that is sealed with the key."""
    if signature.tagged_text is None:
        return True
    # The bytes are compared in constant time, so that the time does not reveal how many of them are right.
    _, issuer, kind, body = signature.tagged_text.split("|", 3)
    expected = _seal(_hash_tag(key, issuer, body), kind.partition(".")[0])
    return hmac.compare_digest(expected.encode(), _seal_in(signature.tagged_text).encode())


def _seal_in(tagged: str) -> str:
    return tagged.split("|", 3)[2].partition(".")[2]


def _hash_tag(key: bytes, issuer: str, body: str) -> bytes:
    return hmac.digest(key, f"{_TAG}{issuer}|{body}".encode(), "sha256")


def _seal(key: bytes, kind: str) -> str:
    return hmac.digest(key, kind.encode(), "sha256")[:16].hex()


def check_request_tokens(request: ir.Request, key: bytes, losses: Ledger) -> ir.Request:
    """Return a request without the tokens that are not sealed with the key."""
    messages = [replace(message, parts=_checked_parts(message.parts, key, losses)) for message in request.messages]
    return replace(request, messages=messages)


def check_response_tokens(response: ir.Response, key: bytes, losses: Ledger) -> ir.Response:
    """Return an answer without the tokens that are not sealed with the key. The encoder seals the remaining tokens again."""
    choices = [replace(choice, parts=_checked_parts(choice.parts, key, losses)) for choice in response.choices]
    return replace(response, choices=choices)


def check_event_tokens(new_events: list[events.Event], key: bytes) -> list[events.Event]:
    """Return events without the tokens that are not sealed with the key. ``check_response_tokens`` reports these in the whole answer."""
    return [result for event in new_events if (result := _checked_event(event, key)) is not None]


def _checked_event(event: events.Event, key: bytes) -> events.Event | None:
    """Return an event without a token that is not sealed; None if the event has nothing else."""
    match event:
        case events.PartStart():
            part = _checked(event.part, key, None)
            return event if part is event.part else replace(event, part=part)
        case events.PartEnd() if event.part is not None:
            part = _checked(event.part, key, None)
            return event if part is event.part else replace(event, part=part)
        # The next two events have a token that was sent after its part, or next to it.
        case events.SignatureUpdate(signature=signature) if not _verify_and_set_seal_key(signature, key):
            return None
        case events.PartUpdate(signature=ir.Signature() as signature) if not _verify_and_set_seal_key(signature, key):
            bare = replace(event, signature=None)
            return bare if bare.citation or bare.transcript or bare.extra else None
    return event


def _checked_parts(parts: list[ir.Part], key: bytes, losses: Ledger) -> list[ir.Part]:
    return [_checked(part, key, losses) for part in parts]


def _checked(part: ir.Part, key: bytes, losses: Ledger | None) -> ir.Part:
    """Return a part without its token, if that is not sealed; for a tool result, also without such tokens of its content."""
    if isinstance(part, ir.ToolResult):
        content = [_checked(inner, key, losses) for inner in part.content]
        if not is_same_list(part.content, content):
            part = replace(part, content=content)
    signature: ir.Signature | None = getattr(part, "signature", None)
    if signature is None or _verify_and_set_seal_key(signature, key):
        return part
    if losses is not None:
        is_hidden = isinstance(part, ir.Reasoning) and not part.text and signature.kind in _HIDDEN
        losses.dropped(part if is_hidden else signature, code="unverified_token")
    return replace(part, signature=None)  # type: ignore[arg-type]  # only parts that may have one come here


def _verify_and_set_seal_key(signature: ir.Signature, key: bytes) -> bool:
    """Return whether a token is verified, and set the key that seals its tag if it is."""
    if not is_verified(signature, key):
        return False
    signature.seal_key = seal_key(signature, key)
    return True


_LABELS = frozenset({"type", "role", "id", "index", "format", "thought", "status"})
"""Members of a part that are no content."""
_SIGNED = frozenset({"thinking", "reasoning"})
"""Types of reasoning in messages and responses, whose servers refuse it without their token."""
_GONE = object()
"""A marker in a list for an item that is removed later."""


Removed = Mapping[str, list[int]]
"""The indexes of the items that were removed from the lists of a body, in ascending order, by the pointer of the list."""


def original_pointer(pointer: str, removed: Removed) -> str:
    """Translate a pointer into a body without some items to one into the original body."""
    original = ""
    for step in pointer.split("/")[1:]:
        if original not in removed:
            original = f"{original}/{step}"
            continue
        index = int(step)
        for gone in removed[original]:
            index += gone <= index
        original = f"{original}/{index}"
    return original


def without_foreign_tokens(
    raw: JsonObject, body: JsonObject, format: FormatSpec, text: object, losses: Ledger, key: bytes | None
) -> tuple[JsonObject, Removed]:
    """Return a request without the tokens of other vendors, and note each; the same object if it has none. Also return the removed items.

    An object that is empty without its token is removed too, and so is reasoning that the server accepts only with its token. A carried
    token of this format is restored, with the id to which it is sealed. ``body``: the validated request. ``text``: the request as the
    caller passed it; JSON text is searched for a tag first. ``key``: carried tokens that are not sealed with it are removed too; None:
    seals are not checked.
    """
    # A client sends back a converted answer with carried tokens, and this request goes to the vendor of its format directly.
    # That server would reject the token of another vendor (anthropics/anthropic-sdk-python#1598, openai/codex#8128).
    if isinstance(text, bytes | bytearray | str) and not _may_hold_tag(text):
        return raw, {}
    tokens = _carried(raw, body, format)
    if not tokens:
        return raw, {}
    result: JsonObject = checked(raw)
    emptied: dict[str, list[Any]] = {}
    has_lost = False
    for pointer, signature in tokens.items():
        code = "foreign_signature" if signature.issuer != format.name else "unverified_token"
        if signature.issuer == format.name and (key is None or is_verified(signature, key)):
            owner, last = _steps_to(result, pointer)[-1]
            owner[last] = signature.token
            if binding_of(signature) == "item":
                owner["id"] = signature.item_id
            continue
        has_lost = True
        gone, turn = _take_out(result, pointer, emptied)
        severity: Severity = "info" if gone == pointer and code == "foreign_signature" else "lossy"  # the signed text stays
        losses.dropped_at(gone, code, severity=severity)
        if turn is not None:
            losses.dropped_at(turn, "empty")
    removed = {
        list_pointer: [index for index, item in enumerate(items) if item is _GONE] for list_pointer, items in emptied.items()
    }
    for items in emptied.values():
        items[:] = [item for item in items if item is not _GONE]
    return format.repair_history(result, losses) if has_lost else result, removed


def _may_hold_tag(text: bytes | bytearray | str) -> bool:
    """Return whether JSON text may contain a tagged token. Most text has none, so most requests need not be decoded."""
    if isinstance(text, str):
        return _TAG in text or _TAG_IN_BYTES in text
    return _TAG.encode() in text or _TAG_IN_BYTES.encode() in text


def _carried(raw: JsonObject, body: JsonObject, format: FormatSpec) -> dict[str, ir.Signature]:
    """Return the tagged tokens of a request, by pointer."""
    tokens: dict[str, ir.Signature] = {}
    for signature in _signatures(format.decode_request(body, model=None, stream=None)):
        pointer, token = resolve(raw, signature.src, format.field_paths)
        if isinstance(token, str) and token != signature.token:
            tokens[pointer] = signature
    return tokens


def _signatures(request: ir.Request) -> Iterator[ir.Signature]:
    for message in request.messages:
        for part in message.parts:
            for each in (part, *part.content) if isinstance(part, ir.ToolResult) else (part,):
                signature = getattr(each, "signature", None)
                if signature is not None:
                    yield signature


def _steps_to(body: JsonObject, pointer: str) -> list[tuple[Any, Any]]:
    """Return the objects and lists on the path to a value, each with the key or index of the next step."""
    steps: list[tuple[Any, Any]] = []
    node: Any = body
    for step in pointer.split("/")[1:]:
        key = int(step) if isinstance(node, list) else unescape(step)
        steps.append((node, key))
        node = node[key]
    return steps


def _take_out(body: JsonObject, pointer: str, emptied: dict[str, list[Any]]) -> tuple[str, str | None]:
    """Remove a token from a body, and its part if that is empty or rejected without it.

    Return the pointer of the removed value, and of the turn, if that was removed too. Lists keep their length until all tokens are
    removed.
    """
    # /messages/1/content/0/signature: after the token, its block is removed if it is empty now, then the content, then the turn.
    levels, steps = _steps_to(body, pointer), pointer.split("/")
    del levels[-1][0][levels[-1][1]]
    depth, gone = len(levels) - 1, pointer
    turn = None
    while depth > 1 and not _has_content(levels[depth][0]):
        owner, key = levels[depth - 1]
        if isinstance(owner, list):
            owner[key] = _GONE
            emptied["/".join(steps[:depth])] = owner
        else:
            del owner[key]
        removed = "/".join(steps[: depth + 1])
        if depth == 2:
            turn = removed
        elif not isinstance(levels[depth][0], list):
            gone = removed
        depth -= 1
    return (turn, None) if turn is not None and gone == pointer else (gone, turn)


def _has_content(node: Any) -> bool:
    """Return whether a list or an object still has content."""
    if isinstance(node, list):
        return any(item is not _GONE for item in node)
    return node.get("type") not in _SIGNED and any(value for key, value in node.items() if key not in _LABELS)
