"""Two formats joined for a whole exchange: the request over, the answer, stream or error back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from formatbridge import formats, ir
from formatbridge.arguments import a
from formatbridge.convert.bodies import (
    Converted,
    ConvertedError,
    ConvertedRequest,
    convert_error,
    convert_request,
    convert_response,
)
from formatbridge.convert.masking import Mask, checked_secrets
from formatbridge.convert.streams import StreamConverter
from formatbridge.errors import FormatBridgeError, LossyConversionError, TruncatedStreamError
from formatbridge.formats.format import FormatOrName
from formatbridge.options import Options, options_of


class Bridge:
    """Joins the caller's format to the wire's. It holds no exchange and may be used by many at once."""

    __slots__ = ("_mask", "options", "source_format", "target_format")

    def __init__(
        self, format: FormatOrName, *, via: FormatOrName, options: Options | None = None, secrets: Iterable[str] = ()
    ) -> None:
        """Take the two formats. ``secrets``: keys, which are hidden in all errors of the exchanges."""
        mask = Mask(checked_secrets(secrets))
        del secrets
        #: The caller's format.
        self.source_format = formats.load(format)
        #: The endpoint's format.
        self.target_format = formats.load(via)
        #: What every conversion of an exchange goes by; ``raise_on`` holds for requests and answers, never for errors.
        self.options = options_of(options)
        self._mask = mask

    @property
    def format(self) -> ir.FormatName:
        """The name of the caller's format."""
        return self.source_format.name

    @property
    def via(self) -> ir.FormatName:
        """The name of the endpoint's format."""
        return self.target_format.name

    def open(self, request: Any, *, stream: bool | None = None, model: str | None = None, home: Options | None = None) -> Exchange:
        """Convert a request and return the exchange that it begins.

        ``home``: what brings the answer home; None: the bridge's options, which the request goes by.
        ``stream`` and ``model`` override the body's; generate_content keeps both in its URL. Raises what ``convert_request`` raises.
        """
        made = convert_request(
            request, source=self.source_format, target=self.target_format, model=model, stream=stream, options=self.options
        )
        exchange = Exchange(made, self.options if home is None else options_of(home))
        exchange._mask = self._mask
        return exchange

    def reject(self, error: FormatBridgeError, status: int = 400) -> ConvertedError:
        """Return the error answer, in the caller's format, to a request that ``open`` raised on.

        A request of messages whose ``thread`` the endpoint cannot keep gets the error code upon which Anthropic's SDK sends the whole
        conversation.
        """
        if not isinstance(error, FormatBridgeError):
            raise TypeError(f"error is {a(error)}, expected an exception of formatbridge")
        message = self._mask.text(str(error))
        body = self.source_format.encode_rejection(error, message) if isinstance(error, LossyConversionError) else None
        return convert_error(body or message, source=self.source_format, target=self.source_format, status=status)

    def __repr__(self) -> str:
        if not hasattr(self, "target_format"):  # a traceback shows a bridge that could not be made, too
            return "<Bridge, not made>"
        return f"Bridge({self.format!r}, via={self.via!r})"


class Exchange:
    """One request that crossed over; it brings home whatever answers it."""

    __slots__ = ("_mask", "options", "request")

    def __init__(self, request: ConvertedRequest, options: Options, secrets: Iterable[str] = ()) -> None:
        """Take a converted request. ``secrets``: keys, which are hidden in all errors."""
        self._mask = Mask(checked_secrets(secrets))
        del secrets
        #: The request in the wire's format.
        self.request = request
        #: What the conversions go by.
        self.options = options

    def response(self, body: Any) -> Converted:
        """Convert the wire's whole answer; one that failed, or an error in the place of one, becomes a ``ConvertedError``."""
        request = self.request
        try:
            made = convert_response(
                body, source=request.target_format, target=request.source_format, request=request, options=self.options
            )
        except FormatBridgeError as error:
            if not self._mask:
                raise
            masked = self._mask.error(error)
        else:
            return self._mask.whole(made) if self._mask and isinstance(made, ConvertedError) else made
        del body  # this frame shows in tracebacks, where what the relay sent has no place
        raise masked.with_traceback(None)

    def stream(self) -> StreamConverter:
        """Return a converter for the wire's stream, a new one at each call."""
        request = self.request
        settings: dict[str, Any] = {
            "source": request.target_format,
            "target": request.source_format,
            "request": request,
            "options": self.options,
        }
        return MaskingConverter(self._mask, **settings) if self._mask else StreamConverter(**settings)

    def error(self, status: int, body: Any) -> ConvertedError:
        """Convert the wire's error; losses never raise here, for the error matters more."""
        lenient = replace(self.options, raise_on=None)
        made = self.request
        converted = convert_error(body, source=made.target_format, target=made.source_format, status=status, options=lenient)
        return self._mask.whole(converted) if self._mask else converted

    def __repr__(self) -> str:
        return f"<Exchange {self.request.source} via {self.request.target}>"


class MaskingConverter(StreamConverter):
    """A converter that hides secrets in the errors of a stream: in its error event, in what it raises and in ``error``."""

    def __init__(self, mask: Mask, **settings: Any) -> None:
        super().__init__(**settings)
        self._mask = mask

    @property
    def error(self) -> ir.Error | None:
        """The error that the source's stream brought, without the secrets; None: none yet."""
        error = super().error
        masked: ir.Error | None = self._mask.whole(error)
        return masked

    def feed(self, chunk: bytes) -> bytes:
        """Do as ``StreamConverter.feed``; from an error on, hide the secrets."""
        try:
            made = super().feed(chunk)
        except FormatBridgeError as error:
            masked = self._mask.error(error)
        else:
            return self._mask.body(made) if made and self._source.error is not None else made
        del chunk  # this frame shows in tracebacks, where what the relay sent has no place
        raise masked.with_traceback(None)

    def finish(self) -> bytes:
        """Do as ``StreamConverter.finish``, and hide the secrets in an error."""
        try:
            made = super().finish()
        except FormatBridgeError as error:
            masked = self._mask.error(error)
        else:
            return self._mask.body(made) if self._source.error is not None else made
        raise masked.with_traceback(None)

    def abort(self, cause: BaseException | None = None) -> TruncatedStreamError:
        """Do as ``StreamConverter.abort``, and hide the secrets in the error."""
        return self._mask.error(super().abort(cause))
