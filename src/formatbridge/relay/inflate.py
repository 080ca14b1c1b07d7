"""Bodies that come compressed, opened no further than a limit."""

from __future__ import annotations

import zlib

_PIECE = 256 * 1024
_RATIO = 1000
_FREE = 1024 * 1024
_GZIP = b"\x1f\x8b"
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class BodyTooLargeError(Exception):
    """Stays within the client, which says whose body it was. ``reason`` goes after "the body"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Opener:
    """Opens a body piece by piece, at most ``limit`` bytes of it in all.

    Raises ``BodyTooLargeError`` beyond the limit, beyond 1000 bytes for each compressed one (after the first MiB), and on bytes that are
    not compressed as announced.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        encoding = encoding.strip().lower() or "identity"
        if encoding != "identity" and encoding not in _WINDOWS:
            raise BodyTooLargeError(f"is encoded as {encoding[:40]!r}, which nobody asked for")
        self._limit = limit
        self._size = 0
        self._taken = 0
        self._opener = zlib.decompressobj(_WINDOWS[encoding]) if encoding != "identity" else None
        self._is_raw_possible = encoding == "deflate"

    def feed(self, chunk: bytes) -> bytes:
        """Take bytes as they came and return what is in them."""
        if self._opener is None:
            return self._counted(chunk)
        pieces: list[bytes] = []
        while chunk:
            piece = self._open(chunk)
            left = self._left()
            self._taken += len(chunk) - len(left)
            pieces.append(self._counted(piece))
            chunk = left
        return b"".join(pieces)

    def _left(self) -> bytes:
        """Return what is still to be opened; a body of gzip may be several, one behind the other."""
        assert self._opener is not None
        behind = self._opener.unused_data
        if not behind.startswith(_GZIP):
            return self._opener.unconsumed_tail
        self._opener = zlib.decompressobj(_WINDOWS["gzip"])
        return behind

    def _open(self, chunk: bytes) -> bytes:
        assert self._opener is not None
        try:
            made = self._opener.decompress(chunk, _PIECE)
        except zlib.error as error:
            if not self._is_raw_possible:
                raise BodyTooLargeError("is not compressed as announced") from error
            self._opener = zlib.decompressobj(-15)  # some servers leave out the frame that the name stands for
            self._is_raw_possible = False
            return self._open(chunk)
        self._is_raw_possible = False
        return made

    def _counted(self, piece: bytes) -> bytes:
        self._size += len(piece)
        if self._size > self._limit:
            raise BodyTooLargeError(f"is longer than {self._limit} bytes, the limit")
        if self._opener is not None and self._size > max(_FREE, self._taken * _RATIO):
            raise BodyTooLargeError(f"is compressed more than {_RATIO} times, the limit")
        return piece
