"""Convert vendors' batch files line by line. The file of the requests to which results belong is read here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from io import TextIOBase
from typing import BinaryIO

from formatbridge.arguments import type_name
from formatbridge.convert.batch import BatchConverter, BatchLine, OriginalRequest
from formatbridge.convert.bodies import ConvertedRequest
from formatbridge.errors import ConfigurationError, InvalidPayloadError
from formatbridge.formats.target import FormatOrName
from formatbridge.options import Options, options_of, without_raise_on


def convert_batch(
    lines: Iterable[str | bytes],
    *,
    source: FormatOrName,
    target: FormatOrName,
    model: str | None = None,
    requests: BinaryIO | None = None,
    options: Options | None = None,
) -> Iterator[BatchLine]:
    """Convert the lines of a vendor's batch file: OpenAI's (for chat_completions and responses), Anthropic's or Gemini's.

    Request files and result files are distinguished by their lines. Ids are kept. One line is in memory at a time, and blank lines are
    skipped. An invalid line has an ``error``, and the conversion continues. Whether ids repeat is not checked. ``raise_on`` of the options
    applies to each line, with the losses of its envelope.

    ``model``: the model of a request that does not name it, as in files of generate_content.

    ``requests``: for results, the file of the original requests in the format of the target; a binary file that can seek. Each answer is
    converted with its request, as with ``convert_response(..., request=)``, and original ids are restored. Pass the ``model`` and the
    ``options`` with which the requests were converted, and their target as ``source``. In memory are the ids and one request. A result with
    an unknown id has an ``error``.

    Raises ``ConfigurationError`` if a format has no batch files, if ``lines`` is one text, or if ``requests`` is no binary file.

    >>> with open("batch.jsonl") as lines:
    ...     for line in convert_batch(lines, source="chat_completions", target="messages"):
    ...         print(line.custom_id, line.error or line.losses)
    """
    if isinstance(lines, str | bytes) or not isinstance(lines, Iterable):
        raise ConfigurationError(f"lines is {type_name(lines)}, expected an iterable of lines, such as an open file")
    converter = batch_converter(source=source, target=target, model=model, requests=requests, options=options)
    return (
        converter.convert(number, text) for number, text in enumerate(map(_checked_line, lines), 1) if text and not text.isspace()
    )


def _checked_line(text: str | bytes) -> str | bytes:
    if not isinstance(text, str | bytes | bytearray):
        raise ConfigurationError(f"a line is {type_name(text)}, expected str or bytes")
    return text


def batch_converter(
    *,
    source: FormatOrName,
    target: FormatOrName,
    model: str | None = None,
    requests: BinaryIO | None = None,
    options: Options | None = None,
) -> BatchConverter:
    """Return a converter of lines. The arguments are those of ``convert_batch``."""
    converter = BatchConverter(source=source, target=target, model=model, options=options)
    if requests is None:
        return converter
    # Results may be in another order than requests (OpenAI, guide "Batch API"), so ids connect them. The conversion of a request
    # is repeated with the same arguments, and so returns the names of the tools that it changed.
    lenient = without_raise_on(options_of(options))
    file = _RequestFile(requests, BatchConverter(source=target, target=source, model=model, options=lenient))
    return BatchConverter(source=source, target=target, model=model, requests=file.find, options=options)


class _RequestFile:
    """The file of the original requests, read one by one because they may not fit into memory.

    ``converter``: how they were converted.
    """

    def __init__(self, file: BinaryIO, converter: BatchConverter) -> None:
        if isinstance(file, TextIOBase) or not callable(getattr(file, "seek", None)):
            raise ConfigurationError(f'requests is {type_name(file)}, expected a binary file, such as open(path, "rb")')
        self._file, self._converter = file, converter
        self._places: dict[str, tuple[str | None, int]] = {}  # the id after the conversion: the id, and the offset in bytes
        offset = file.seek(0)
        for number, text in enumerate(file, 1):
            with suppress(InvalidPayloadError):  # a line that cannot be read was not sent, so it has no result
                id = converter.read_id(text)
                self._places[converter.converted_id(number, id)] = id, offset
            offset += len(text)

    def find(self, id: str) -> OriginalRequest | None:
        """Return the request of the result with an id, or None for an unknown id."""
        if id not in self._places:
            return None
        original_id, offset = self._places[id]
        return OriginalRequest(original_id, partial(self._convert_at, offset))

    def _convert_at(self, offset: int) -> ConvertedRequest:
        self._file.seek(offset)
        return self._converter.convert_request(self._file.readline())
