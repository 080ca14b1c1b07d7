"""Bodies that come compressed, opened no further than a limit."""

from __future__ import annotations

import zlib

_PIECE = 256 * 1024
_RATIO = 1000
_FREE = 1024 * 1024
_GZIP = b"\x1f\x8b"
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class UnreadableBodyError(Exception):
    """Stays within the client, which says whose body it was. ``reason`` goes after "the body"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Decompressor:
    """Opens a body piece by piece, at most ``limit`` bytes of it in all.

    Raises ``BodyTooLargeError`` beyond the limit, beyond 1000 bytes for each compressed one (after the first MiB), beyond one MiB more of
    compressed bytes than the limit, whatever they open to, and on bytes that are not compressed as announced.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        encoding = encoding.strip().lower() or "identity"
        if encoding != "identity" and encoding not in _WINDOWS:
            raise UnreadableBodyError(f"is encoded as {encoding[:40]!r}, which nobody asked for")
        self._limit = limit
        self._size = 0
        self._taken = 0
        self._opener = zlib.decompressobj(_WINDOWS[encoding]) if encoding != "identity" else None
        self._is_raw_possible = encoding == "deflate"
        self._begun = b""  # of what may be another body behind the end
        self._is_over = False  # whether something else stands behind the end

    def feed(self, chunk: bytes) -> bytes:
        """Take bytes as they came and return what is in them."""
        if self._opener is None:
            return self._counted(chunk)
        pieces: list[bytes] = []
        is_full = False  # what was taken may open to more
        while chunk or is_full:
            if self._opener.eof:
                chunk = self._behind(chunk)
                continue
            piece = self._open(chunk)
            left = self._opener.unused_data if self._opener.eof else self._opener.unconsumed_tail
            self._take(len(chunk) - len(left))
            pieces.append(self._counted(piece))
            chunk, is_full = left, len(piece) == _PIECE and not self._opener.eof
        return b"".join(pieces)

    @property
    def is_cut(self) -> bool:
        """Whether what came so far lacks its end, which packed bytes have and others do not."""
        return self._opener is not None and self._taken > 0 and not self._opener.eof

    def _behind(self, chunk: bytes) -> bytes:
        """Return what is still to be opened of bytes behind the end: gzip may be several, one behind the other; all else is passed over."""
        chunk, self._begun = self._begun + chunk, b""
        if not self._is_over and chunk.startswith(_GZIP):
            self._opener = zlib.decompressobj(_WINDOWS["gzip"])
            return chunk
        if not self._is_over and chunk == _GZIP[:1]:
            self._begun = chunk
            return b""
        self._is_over = True
        self._take(len(chunk))
        return b""

    def _open(self, chunk: bytes) -> bytes:
        assert self._opener is not None
        try:
            made = self._opener.decompress(chunk, _PIECE)
        except zlib.error as error:
            if not self._is_raw_possible:
                raise UnreadableBodyError("is not compressed as announced") from error
            self._opener = zlib.decompressobj(-15)  # some servers leave out the frame that the name stands for
            self._is_raw_possible = False
            return self._open(chunk)
        self._is_raw_possible = False
        return made

    def _take(self, count: int) -> None:
        self._taken += count
        if self._taken > self._limit + _FREE:
            raise UnreadableBodyError(f"is longer than {self._limit} bytes, the limit")

    def _counted(self, piece: bytes) -> bytes:
        self._size += len(piece)
        if self._size > self._limit:
            raise UnreadableBodyError(f"is longer than {self._limit} bytes, the limit")
        if self._opener is not None and self._size > max(_FREE, self._taken * _RATIO):
            raise UnreadableBodyError(f"is compressed more than {_RATIO} times, the limit")
        return piece
