"""Read Arrow data as record batches, and write result columns. pyarrow is optional: it is imported at the first call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from formatbridge.arguments import type_name
from formatbridge.errors import ConfigurationError
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonValue

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_PAYLOAD_BYTES = 4 * 1024 * 1024
"""Bytes of payloads in one result batch. Larger batches take more memory and CPU time for each payload; a column of strings of 2 GiB or
more is an error."""


class ArrowStream(Protocol):
    """A table, a stream of record batches or a data frame with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self) -> object: ...


class ArrowArray(Protocol):
    """A record batch with the Arrow PyCapsule interface."""

    def __arrow_c_array__(self) -> tuple[object, object]: ...


ArrowData = ArrowStream | ArrowArray
"""Both methods have an optional argument, ``requested_schema``, which is not used here."""


def import_pyarrow() -> ModuleType:
    """Return pyarrow; raise ``ConfigurationError`` if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise ConfigurationError("tables need pyarrow, which is not installed: run pip install 'formatbridge[tables]'") from None
    return pyarrow  # type: ignore[no-any-return]  # pyarrow has no types


def record_batches(data: ArrowData | Iterable[ArrowData]) -> Iterator[pa.RecordBatch]:
    """Return the record batches of Arrow data: of a table, a stream or a data frame, or of an iterable of these.

    A table without rows has one empty batch, so that its columns are known. Raises ``ConfigurationError`` for other data.
    """
    if _is_arrow(data):
        return _batches_of(data)
    if isinstance(data, str | bytes | dict) or not isinstance(data, Iterable):
        raise ConfigurationError(f"batches is {type_name(data)}, expected an Arrow table, record batches, or a data frame")
    return _batches_of_each(data)


def _is_arrow(data: object) -> TypeGuard[ArrowData]:
    """Return whether data has the Arrow PyCapsule interface (https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html)."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def _batches_of_each(items: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    for item in items:
        if not _is_arrow(item):
            raise ConfigurationError(f"batches contains {type_name(item)}, expected record batches")
        yield from _batches_of(item)


def _batches_of(data: Any) -> Iterator[pa.RecordBatch]:
    pyarrow = import_pyarrow()
    if isinstance(data, pyarrow.RecordBatch) or not hasattr(data, "__arrow_c_stream__"):
        yield pyarrow.record_batch(data)
        return
    reader = pyarrow.RecordBatchReader.from_stream(data)
    is_empty = True
    for batch in reader:
        is_empty = False
        yield batch
    if is_empty:
        yield pyarrow.RecordBatch.from_pylist([], reader.schema)


def column_of(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return a column of a batch; raise ``ConfigurationError`` unless exactly one column has the name."""
    count = len(batch.schema.get_all_field_indices(name))
    if count != 1:
        problem = f"{count} columns named {name!r}" if count else f"no column {name!r}"
        raise ConfigurationError(f"the table has {problem}, expected one of {', '.join(map(repr, batch.schema.names))}")
    return batch.column(name)


def read_payloads(batch: pa.RecordBatch, name: str) -> tuple[pa.Array, pa.DataType]:
    """Return a payload column as bytes, and the type of its values. Dictionaries and extension types, such as JSON, are resolved.

    Raises ``ConfigurationError`` if the column has neither strings nor bytes.
    """
    pyarrow = import_pyarrow()
    array = column_of(batch, name)
    if isinstance(array, pyarrow.ExtensionArray):
        array = array.storage
    if isinstance(array, pyarrow.DictionaryArray):
        array = array.dictionary_decode()
    names = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    # A column of which all rows are null has the type null, and the result column needs a type for bodies.
    if pyarrow.types.is_null(array.type):
        array = array.cast(pyarrow.string())
    if str(array.type) not in names:
        raise ConfigurationError(f"the column {name!r} has the type {batch.schema.field(name).type}, expected strings or bytes")
    return array.cast(pyarrow.large_binary()), array.type  # bytes, because Arrow does not check that strings are UTF-8


def pieces(batch: pa.RecordBatch, payloads: pa.Array, limit: int = _MAX_PAYLOAD_BYTES) -> Iterator[tuple[int, int]]:
    """Yield the first row and the number of rows of each piece of a batch, with at most ``limit`` bytes of payloads, or one row."""
    if payloads.nbytes <= limit:
        yield 0, batch.num_rows
        return
    from pyarrow import compute

    start = size = 0
    for row, length in enumerate(compute.binary_length(payloads).to_pylist()):
        size += length or 0
        if size > limit and row > start:
            yield start, row - start
            start, size = row, length or 0
    yield start, batch.num_rows - start


class ListColumn:
    """A column of lists of structs, filled row by row. ``fields``: the names and types of the members, ``string`` or ``int32``."""

    def __init__(self, **fields: str) -> None:
        self._fields = fields
        self._members: list[list[Any]] = [[] for _ in fields]  # less memory than a tuple for each item
        self._starts: list[int | None] = []

    def append(self, items: Iterable[Sequence[Any]] | None) -> None:
        """Add a row: the members of each item; None: the row is null."""
        self._starts.append(None if items is None else len(self._members[0]))
        for values, added in zip(self._members, zip(*items or (), strict=True), strict=False):
            values.extend(added)

    def array(self) -> pa.Array:
        """Return the column."""
        pyarrow = import_pyarrow()
        fields = [pyarrow.field(name, getattr(pyarrow, type)()) for name, type in self._fields.items()]
        arrays = [pyarrow.array(values, field.type) for values, field in zip(self._members, fields, strict=True)]
        structs = pyarrow.StructArray.from_arrays(arrays, fields=fields)
        return pyarrow.ListArray.from_arrays(pyarrow.array([*self._starts, len(self._members[0])], pyarrow.int32()), structs)


def json_text(value: JsonValue) -> bytes | None:
    """Return a value of a report as JSON text; null for None."""
    return None if value is None else codec.dumps(value)


def with_columns(batch: pa.RecordBatch, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return a batch with more columns; raise ``ConfigurationError`` if it has one of these names."""
    pyarrow = import_pyarrow()
    schema = batch.schema
    for name, array in columns.items():
        if schema.get_all_field_indices(name):
            raise ConfigurationError(f"the table has a column {name!r} already: pass another prefix=")
        schema = schema.append(pyarrow.field(name, array.type))
    return pyarrow.RecordBatch.from_arrays([*batch.columns, *columns.values()], schema=schema)
