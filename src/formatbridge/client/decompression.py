"""Decompression of bodies, up to a limit."""

from __future__ import annotations

import zlib

_CHUNK_SIZE = 256 * 1024
_MAX_RATIO = 1000
_ALLOWANCE = 1024 * 1024
_GZIP = b"\x1f\x8b"
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class UnreadableBodyError(Exception):
    """A body is too large or has an unexpected encoding. The client converts it to a public error. ``reason`` completes "the body ..."."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Decompressor:
    """Decompresses a body chunk by chunk, to at most ``limit`` bytes in all. ``encoding``: the value of the header ``content-encoding``.

    Raises ``UnreadableBodyError`` beyond the limit; beyond a ratio of 1000 (after the first MiB); if the compressed bytes exceed the limit
    by more than one MiB; and on bytes that are invalid in the encoding.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        encoding = encoding.strip().lower() or "identity"
        if encoding != "identity" and encoding not in _WINDOWS:
            raise UnreadableBodyError(
                f"is encoded as {encoding[:40]!r}, which was not requested: accepted are {', '.join(_WINDOWS)}"
            )
        self._encoding = encoding
        self._limit = limit
        self._decompressed_size = 0
        self._compressed_size = 0
        self._zlib = zlib.decompressobj(_WINDOWS[encoding]) if encoding != "identity" else None
        self._may_lack_header = encoding == "deflate"
        self._next_member_start = b""  # the first byte of what may be another gzip member
        self._has_trailing_bytes = False  # whether other bytes follow the end

    def feed(self, chunk: bytes) -> bytes:
        """Take bytes as received and return them decompressed."""
        if self._zlib is None:
            return self._count_decompressed(chunk)
        pieces: list[bytes] = []
        is_full = False  # whether zlib may have more output
        while chunk or is_full:
            if self._zlib.eof:
                chunk = self._after_end(chunk)
                continue
            piece = self._decompress(chunk)
            rest = self._zlib.unused_data if self._zlib.eof else self._zlib.unconsumed_tail
            self._count_compressed(len(chunk) - len(rest))
            pieces.append(self._count_decompressed(piece))
            chunk, is_full = rest, len(piece) == _CHUNK_SIZE and not self._zlib.eof
        return b"".join(pieces)

    @property
    def is_truncated(self) -> bool:
        """Whether the end of a compressed body was not read yet; False for other bodies."""
        return self._zlib is not None and self._compressed_size > 0 and not self._zlib.eof

    def _after_end(self, chunk: bytes) -> bytes:
        """Return the bytes after the end that are still to be decompressed. gzip allows several members; other bytes are ignored."""
        chunk, self._next_member_start = self._next_member_start + chunk, b""
        if not self._has_trailing_bytes and chunk.startswith(_GZIP):
            self._zlib = zlib.decompressobj(_WINDOWS["gzip"])
            return chunk
        if not self._has_trailing_bytes and chunk == _GZIP[:1]:
            self._next_member_start = chunk
            return b""
        self._has_trailing_bytes = True
        self._count_compressed(len(chunk))
        return b""

    def _decompress(self, chunk: bytes) -> bytes:
        assert self._zlib is not None
        try:
            output = self._zlib.decompress(chunk, _CHUNK_SIZE)
        except zlib.error as error:
            if not self._may_lack_header:
                raise UnreadableBodyError(
                    f"is not valid {self._encoding} data, expected the encoding of the header content-encoding"
                ) from error
            self._zlib = zlib.decompressobj(-15)  # without the zlib header (RFC 9110, 8.4.1.2)
            self._may_lack_header = False
            return self._decompress(chunk)
        self._may_lack_header = False
        return output

    def _count_compressed(self, count: int) -> None:
        self._compressed_size += count
        if self._compressed_size > self._limit + _ALLOWANCE:
            raise UnreadableBodyError(f"is longer than {self._limit} bytes, the limit max_response_bytes")

    def _count_decompressed(self, piece: bytes) -> bytes:
        self._decompressed_size += len(piece)
        if self._decompressed_size > self._limit:
            raise UnreadableBodyError(f"is longer than {self._limit} bytes, the limit max_response_bytes")
        if self._zlib is not None and self._decompressed_size > max(_ALLOWANCE, self._compressed_size * _MAX_RATIO):
            raise UnreadableBodyError(f"is compressed more than {_MAX_RATIO} times, the limit")
        return piece
