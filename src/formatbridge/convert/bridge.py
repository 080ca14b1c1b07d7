"""Two formats for a whole exchange: the request to the endpoint; its answer, stream or error back to the caller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Required, TypedDict, Unpack, cast, overload

from pydantic import BaseModel

from formatbridge import formats, ir
from formatbridge.arguments import type_name
from formatbridge.convert.bodies import (
    Converted,
    ConvertedError,
    ConvertedRequest,
    ModelT_co,
    convert_error,
    convert_request,
    convert_response,
)
from formatbridge.convert.counts import convert_count_response, count_of, request_to_count
from formatbridge.convert.input import Body
from formatbridge.convert.masking import Mask, checked_secrets
from formatbridge.convert.streams import StreamConverter
from formatbridge.errors import FormatBridgeError, LossyConversionError, TruncatedStreamError
from formatbridge.formats.target import FormatOrName, Target, ToChatCompletions, ToGenerateContent, ToMessages, ToResponses
from formatbridge.options import Options, options_of, without_raise_on
from formatbridge.report.ledger import Ledger, null_ledger

if TYPE_CHECKING:
    from formatbridge.formats import typed_models as wires


class BridgeArguments(TypedDict, total=False):
    """The arguments of ``Bridge`` besides the caller's format."""

    via: Required[FormatOrName]
    options: Options | None
    secrets: Iterable[str]


class Bridge(Generic[ModelT_co]):
    """Converts exchanges between the caller's format and the endpoint's format. It has no state; threads and tasks may share it."""

    __slots__ = ("_mask", "_target", "options", "source_format", "target_format")

    @overload
    def __init__(
        self: Bridge[wires.chat_completions.Response], format: ToChatCompletions, **arguments: Unpack[BridgeArguments]
    ) -> None: ...

    @overload
    def __init__(self: Bridge[wires.messages.Response], format: ToMessages, **arguments: Unpack[BridgeArguments]) -> None: ...

    @overload
    def __init__(self: Bridge[wires.responses.Response], format: ToResponses, **arguments: Unpack[BridgeArguments]) -> None: ...

    @overload
    def __init__(
        self: Bridge[wires.generate_content.Response], format: ToGenerateContent, **arguments: Unpack[BridgeArguments]
    ) -> None: ...

    @overload
    def __init__(self: Bridge[BaseModel], format: FormatOrName, **arguments: Unpack[BridgeArguments]) -> None: ...

    def __init__(
        self, format: FormatOrName, *, via: FormatOrName, options: Options | None = None, secrets: Iterable[str] = ()
    ) -> None:
        """Set the two formats. ``secrets``: keys to hide in all errors of the exchanges."""
        mask = Mask(checked_secrets(secrets))
        del secrets  # the lines below may raise, and tracebacks show the variables of a frame
        self.source_format = formats.load(format)
        """The caller's format."""
        self.target_format = formats.load(via)
        """The endpoint's format."""
        formats.load_for_requests(via)  # an unknown dialect raises here and not at the first request
        self._target = via if isinstance(via, Target) else self.target_format
        self.options = options_of(options)
        """The options of every conversion. ``raise_on`` holds for requests and answers, not for errors."""
        self._mask = mask

    @property
    def format(self) -> ir.FormatName:
        """The name of the caller's format."""
        return self.source_format.name

    @property
    def via(self) -> ir.FormatName:
        """The name of the endpoint's format."""
        return self.target_format.name

    def open(
        self, request: Body, *, stream: bool | None = None, model: str | None = None, answer_options: Options | None = None
    ) -> Exchange[ModelT_co]:
        """Convert a request and return its exchange.

        ``stream`` and ``model`` override the fields of the body; generate_content has both in its URL. ``answer_options``: options for the
        conversion of the answer; None: those of the bridge. Raises the same as ``convert_request``.
        """
        converted = convert_request(
            request, source=self.source_format, target=self._target, model=model, stream=stream, options=self.options
        )
        exchange: Exchange[ModelT_co] = Exchange(converted, self.options if answer_options is None else options_of(answer_options))
        exchange._mask = self._mask  # the constructor takes secrets, which the bridge does not keep
        return exchange

    def open_count(self, request: Body, *, model: str | None = None, answer_options: Options | None = None) -> CountExchange:
        """Convert a request to count tokens and return its exchange. The arguments are those of ``open``.

        An endpoint whose format cannot count tokens gets a whole request, from which the caller estimates the count. Raises the same as
        ``convert_count_request``, and ``ConfigurationError`` if neither format has an answer to such a request.
        """
        converted = request_to_count(request, self.source_format, self._target, model, self.options)
        exchange = CountExchange(converted, self.options if answer_options is None else options_of(answer_options))
        exchange._mask = self._mask
        return exchange

    def reject(self, error: FormatBridgeError, status: int = 400) -> ConvertedError:
        """Return the error answer, in the caller's format, to a request for which ``open`` raised an error.

        For a messages request whose ``thread`` the endpoint does not support, the answer has an error code. Anthropic's SDK
        (``lib/threads``) then sends the whole conversation instead.
        """
        if not isinstance(error, FormatBridgeError):
            raise TypeError(f"error is {type_name(error)}, expected an exception of formatbridge")
        message = self._mask.text(str(error))
        body = self.source_format.encode_rejection(error, message) if isinstance(error, LossyConversionError) else None
        return convert_error(body or message, source=self.source_format, target=self.source_format, status=status)

    def __repr__(self) -> str:
        if not hasattr(self, "target_format"):  # in a traceback of an ``__init__`` that raised
            return "<Bridge, not initialized>"
        return f"Bridge({self.format!r}, via={self.via!r})"


class BaseExchange(Generic[ModelT_co]):
    """One converted request. It converts the answer or error to the caller's format."""

    __slots__ = ("_mask", "options", "request")

    def __init__(self, request: ConvertedRequest, options: Options, secrets: Iterable[str] = ()) -> None:
        """Take a converted request. ``secrets``: keys to hide in all errors."""
        self._mask = Mask(checked_secrets(secrets))
        del secrets
        self.request = request
        """The request in the endpoint's format."""
        self.options = options
        """The options of the conversions of the answer."""

    def response(self, body: object) -> Converted[ModelT_co] | ConvertedError:
        """Convert the endpoint's whole answer. A failed answer, or an error instead of an answer, becomes a ``ConvertedError``."""
        try:
            converted = self._convert(body)
        except FormatBridgeError as error:
            if not self._mask:
                raise
            masked = self._mask.error(error)
        else:
            masks = self._mask and isinstance(converted, ConvertedError)
            return cast("Converted[ModelT_co]", self._mask.whole(converted) if masks else converted)
        del body  # tracebacks show this frame, and must not show data from the relay
        raise masked.with_traceback(None)

    def _convert(self, body: Any) -> Converted | ConvertedError:
        raise NotImplementedError

    def error(self, status: int, body: object) -> ConvertedError:
        """Convert the endpoint's error. ``raise_on`` does not apply, so that the error is not replaced by ``LossyConversionError``."""
        lenient = without_raise_on(self.options)
        request = self.request
        converted = convert_error(body, source=request.target_format, target=request.source_format, status=status, options=lenient)
        return self._mask.whole(converted) if self._mask else converted

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.request.source} via {self.request.target}>"


class Exchange(BaseExchange[ModelT_co]):
    """One converted request. It converts the answer, stream or error to the caller's format."""

    __slots__ = ()

    def stream(self) -> StreamConverter[ModelT_co]:
        """Return a new converter for the endpoint's stream."""
        request = self.request
        settings: dict[str, Any] = {
            "source": request.target_format,
            "target": request.source_format,
            "request": request,
            "options": self.options,
        }
        return MaskingConverter(self._mask, **settings) if self._mask else StreamConverter(**settings)

    def _convert(self, body: Any) -> Converted | ConvertedError:
        request = self.request
        return convert_response(
            body, source=request.target_format, target=request.source_format, request=request, options=self.options
        )


class CountExchange(BaseExchange):
    """One converted request to count tokens. It converts the answer or error to the caller's format.

    A caller whose format has no such answer gets the endpoint's answer unchanged.
    """

    __slots__ = ("answer_format",)

    def __init__(self, request: ConvertedRequest, options: Options) -> None:
        super().__init__(request, options)
        source_format, target_format = request.source_format, request.target_format
        self.answer_format = source_format if source_format.count is not None else target_format
        """The format of the answer: the caller's, or else the endpoint's."""
        count_of(self.answer_format)

    def estimated(self, tokens: int) -> Converted:
        """Return the answer for a number of input tokens that no server counted."""
        result = count_of(self.answer_format).encode_response(ir.TokenCount(tokens), null_ledger())
        formats = self.request.target_format, self.answer_format
        return Converted(result, Ledger({}, formats[0].field_paths), *formats, "count_response")

    def _convert(self, body: Any) -> Converted | ConvertedError:
        return convert_count_response(body, source=self.request.target_format, target=self.answer_format, options=self.options)


class MaskingConverter(StreamConverter[ModelT_co]):
    """A converter that hides secrets in the errors of a stream: in its error event, in exceptions and in ``error``."""

    def __init__(self, mask: Mask, **settings: Any) -> None:
        super().__init__(**settings)
        self._mask = mask

    @property
    def error(self) -> ir.Error | None:
        """The error in the source's stream, without the secrets; None if there was none."""
        error = super().error
        masked: ir.Error | None = self._mask.whole(error)
        return masked

    def feed(self, chunk: bytes) -> bytes:
        """Work as ``StreamConverter.feed``; from an error on, hide the secrets."""
        try:
            converted = super().feed(chunk)
        except FormatBridgeError as error:
            masked = self._mask.error(error)
        else:
            return self._mask.body(converted) if converted and self._source.error is not None else converted
        del chunk  # tracebacks show this frame, and must not show data from the relay
        raise masked.with_traceback(None)

    def finish(self) -> bytes:
        """Work as ``StreamConverter.finish``, and hide the secrets in an error."""
        try:
            converted = super().finish()
        except FormatBridgeError as error:
            masked = self._mask.error(error)
        else:
            return self._mask.body(converted) if self._source.error is not None else converted
        raise masked.with_traceback(None)

    def abort(self, cause: BaseException | None = None) -> TruncatedStreamError:
        """Work as ``StreamConverter.abort``, and hide the secrets in the error."""
        return self._mask.error(super().abort(cause))
