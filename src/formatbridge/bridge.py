"""Two formats joined for a whole exchange: the request over, the answer, stream or error back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from formatbridge import formats, ir
from formatbridge.convert import Converted, ConvertedError, ConvertedRequest, convert_error, convert_request, convert_response
from formatbridge.options import Options, options_of
from formatbridge.streams import StreamConverter


class Bridge:
    """Joins the caller's format to the wire's. It holds no exchange and may be used by many at once."""

    __slots__ = ("format", "options", "via")

    def __init__(self, format: ir.Format | str, *, via: ir.Format | str, options: Options | None = None) -> None:
        #: The caller's format.
        self.format: ir.Format = formats.load(format).NAME
        #: The format on the wire.
        self.via: ir.Format = formats.load(via).NAME
        #: What every conversion of an exchange goes by; ``raise_on`` holds for requests and answers, never for errors.
        self.options = options_of(options)

    def open(self, request: Any, *, stream: bool | None = None, model: str | None = None, home: Options | None = None) -> Exchange:
        """Convert a request and return the exchange that it begins.

        ``home``: what brings the answer home; None: the bridge's options, which the request goes by.
        ``stream`` and ``model`` override the body's; generate_content keeps both in its URL. Raises what ``convert_request`` raises.
        """
        made = convert_request(request, source=self.format, target=self.via, model=model, stream=stream, options=self.options)
        return Exchange(made, self.options if home is None else options_of(home))

    def __repr__(self) -> str:
        if not hasattr(self, "via"):  # a traceback shows a bridge that could not be made, too
            return "<Bridge, not made>"
        return f"Bridge({self.format!r}, via={self.via!r})"


class Exchange:
    """One request that crossed over; it brings home whatever answers it."""

    __slots__ = ("options", "request")

    def __init__(self, request: ConvertedRequest, options: Options) -> None:
        #: The request in the wire's format.
        self.request = request
        #: What the conversions go by.
        self.options = options

    def response(self, body: Any) -> Converted:
        """Convert the wire's whole answer; one that failed, or an error in the place of one, becomes a ``ConvertedError``."""
        made = self.request
        return convert_response(body, source=made.target, target=made.source, request=made, options=self.options)

    def stream(self) -> StreamConverter:
        """Return a converter for the wire's stream, a new one at each call."""
        made = self.request
        return StreamConverter(source=made.target, target=made.source, request=made, options=self.options)

    def error(self, status: int, body: Any) -> ConvertedError:
        """Convert the wire's error; losses never raise here, for the error matters more."""
        lenient = replace(self.options, raise_on=None)
        made = self.request
        return convert_error(body, source=made.target, target=made.source, status=status, options=lenient)

    def __repr__(self) -> str:
        return f"<Exchange {self.request.source} via {self.request.target}>"
