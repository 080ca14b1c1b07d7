"""Convert a column of payloads in Arrow tables, row by row.

pyarrow is optional: it is imported at the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeGuard, get_args

from typing_extensions import TypeVar

from formatbridge import formats
from formatbridge.arguments import shown, type_name
from formatbridge.convert.bodies import (
    Converted,
    ConvertedError,
    ConvertedRequest,
    convert_error,
    convert_request,
    convert_response,
)
from formatbridge.errors import ConfigurationError, FormatBridgeError, LossyConversionError
from formatbridge.formats.registry import load_for_requests
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.codec import without_surrogates
from formatbridge.jsontext.types import JsonValue
from formatbridge.options import Options, options_of
from formatbridge.report.losses import Addition, Loss
from formatbridge.report.summary import summarize

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


TableKind = Literal["request", "response", "error"]
LossDetail = Literal["full", "summary", "none"]


ValueT_co = TypeVar("ValueT_co", default=Any, covariant=True)


@dataclass(frozen=True)  # no slots: with them, typing cannot create a ``Column[str](...)``
class Column(Generic[ValueT_co]):
    """An argument of ``convert_table`` that has another value in each row.

    >>> targets = {"claude": "messages", "gemini": "generate_content"}
    >>> convert_table(table, column="body", source="chat_completions", target=Column("vendor", targets))
    """

    name: str
    """The column of the table."""
    values: Mapping[Any, ValueT_co] | Callable[[Any], ValueT_co] | None = None  # a checker does not know the values of a column
    """The values of the argument: a mapping from the values of the column, or a function of them, whose results are kept for a
    batch. None: the column has the values themselves. Null in the column is None."""

    def value_of(self, value: Any) -> ValueT_co:
        """Return the argument for a value of the column; raise ``ConfigurationError`` if there is none."""
        if self.values is None:
            return value  # type: ignore[no-any-return]  # a value of the column
        if not isinstance(self.values, Mapping):
            try:
                return self.values(value)
            except FormatBridgeError:
                raise
            except Exception as error:
                problem = f"the function of column {self.name!r} raised {type(error).__name__} for {shown(value)}: {error}"
                raise ConfigurationError(problem) from error
        if value not in self.values:
            raise ConfigurationError(
                f"column {self.name!r} has {shown(value)}, expected one of {', '.join(map(shown, self.values))}"
            )
        return self.values[value]


def convert_table(
    batches: ArrowData | Iterable[ArrowData],
    *,
    column: str,
    source: FormatOrName | Column[FormatOrName | str | None] | None = None,
    target: FormatOrName | Column[FormatOrName | str],
    kind: TableKind = "request",
    model: str | Column[str | None] | None = None,
    stream: bool | Column[bool | None] | None = None,
    status: int | Column[int | None] | None = None,
    losses: LossDetail = "full",
    prefix: str = "converted_",
    options: Options | None = None,
) -> Iterator[Any]:  # pa.RecordBatch; pyarrow has no types, and strict checkers reject an unknown type in the caller's code
    """Convert a column of payloads in an Arrow table; yield its record batches with columns for the results.

    ``batches``: a ``pyarrow.Table``, a ``RecordBatchReader``, one record batch or an iterable of them, or a data frame with the Arrow
    PyCapsule interface, such as those of Polars and pandas. It is read batch by batch. A batch with more than 4 MiB of payloads becomes
    several batches. A table without rows gives one batch without rows, which has the columns.

    ``column``: the payloads, as strings or bytes. ``kind``: what they are. ``model``, ``stream``: as in ``convert_request``. ``status``:
    as in ``convert_error``, and required there. Each of ``source``, ``target``, ``model``, ``stream`` and ``status`` may be a ``Column``.

    The columns of the results, with ``prefix`` before their names:

    - ``body``: the payload in the target format, of the same type as the payload column.
    - ``path`` of requests: the URL path. ``status`` of answers and errors: the HTTP status of an error, otherwise null.
    - ``losses``: a list of ``path``, ``kind``, ``severity``, ``code``, ``why``, ``before`` and ``after``, the last two as JSON text.
      ``losses="summary"``: a list of ``pattern``, ``kind``, ``severity``, ``code``, ``why`` and ``count``, without values.
    - ``additions``: a list of ``path``, ``value`` as JSON text, and ``why``. ``losses="none"`` leaves out both lists.
    - ``error``: why the row was not converted, otherwise null.

    A row that cannot be converted has an error and no body, and the conversion continues. Null stays null. Raises ``ConfigurationError``
    if pyarrow is not installed, for a column that the table lacks, and for a result column that it has already.
    """
    _import_pyarrow()
    arguments = {"source": source, "target": target, "model": model, "stream": stream, "status": status}
    columns = {name: value for name, value in arguments.items() if isinstance(value, Column)}
    constants: dict[str, Any] = {name: value for name, value in arguments.items() if name not in columns and value is not None}
    _check_arguments(kind, losses, prefix, {*constants, *columns})
    if "source" in constants:
        formats.load(constants["source"])
    if "target" in constants:
        load_for_requests(constants["target"])
    convert = partial(_CONVERT[kind], options=options_of(options), **constants)
    table = _Table(column, kind, convert, columns, losses, prefix)
    return table.convert_batches(_record_batches(batches))


_CONVERT: dict[str, Callable[..., Converted]] = {"request": convert_request, "response": convert_response, "error": convert_error}
_ARGUMENTS = {"request": {"model", "stream"}, "response": set[str](), "error": {"status"}}
"""The arguments of each kind besides source, target and options."""


def _check_arguments(kind: str, losses: str, prefix: str, arguments: set[str]) -> None:
    """Raise ``ConfigurationError`` for a value that is not documented, and for arguments that another kind has."""
    for name, value, known in (("kind", kind, get_args(TableKind)), ("losses", losses, get_args(LossDetail))):
        if value not in known:
            raise ConfigurationError(f"{name} is {shown(value)}, expected one of {', '.join(known)}")
    if not isinstance(prefix, str):
        raise ConfigurationError(f"prefix is {type_name(prefix)}, expected a string")
    if "target" not in arguments:
        raise ConfigurationError("target is missing: pass a format or a Column")
    for name in sorted(arguments - {"source", "target"} - _ARGUMENTS[kind]):
        raise ConfigurationError(f"{name} does not apply to kind {kind!r}: leave it out")
    if kind == "error" and "status" not in arguments:
        raise ConfigurationError("status is missing: pass the HTTP status of the errors, or a Column with it")


@dataclass(frozen=True, slots=True)
class _Table:
    """The conversion of one table. ``convert``: the conversion of a payload with the arguments that are the same in all rows."""

    column: str
    kind: TableKind
    convert: Callable[..., Converted]
    columns: Mapping[str, Column]
    losses: LossDetail
    prefix: str

    def convert_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert each batch."""
        for batch in batches:
            payloads, type = read_payloads(batch, self.column)
            for start, count in pieces(batch, payloads):
                piece = batch.slice(start, count)
                results = self._convert_rows(payloads.slice(start, count), piece)
                yield _with_columns(piece, {f"{self.prefix}{name}": array for name, array in results.arrays(type).items()})

    def _convert_rows(self, payloads: pa.Array, batch: pa.RecordBatch) -> _Results:
        """Convert the payloads of a batch."""
        # Rows mostly repeat a few combinations of arguments, so each is computed once.
        results = _Results(self.kind, self.losses)
        known: dict[tuple[Any, ...], dict[str, Any]] = {(): {}}
        for payload, row in zip(payloads.to_pylist(), self._rows(batch), strict=False):
            converted = problem = None
            if payload is not None:
                try:
                    if row not in known:
                        known[row] = self._arguments_of(row)
                    converted = self.convert(payload, **known[row])
                except FormatBridgeError as error:
                    problem = error
            results.append(converted, problem)
        return results

    def _rows(self, batch: pa.RecordBatch) -> Iterable[tuple[Any, ...]]:
        """Return the values of the columns with arguments, for each row."""
        if not self.columns:
            return repeat(())
        return zip(*(_column_of(batch, column.name).to_pylist() for column in self.columns.values()), strict=True)

    def _arguments_of(self, row: tuple[Any, ...]) -> dict[str, Any]:
        return {name: column.value_of(value) for (name, column), value in zip(self.columns.items(), row, strict=True)}


class _Results:
    """The results of the rows of one batch."""

    def __init__(self, kind: TableKind, losses: LossDetail) -> None:
        self._kind, self._detail = kind, losses
        self._bodies: list[bytes | None] = []
        self._paths: list[str | None] = []
        self._statuses: list[int | None] = []
        self._errors: list[str | None] = []
        members = dict.fromkeys(("kind", "severity", "code", "why"), "string")
        if losses == "summary":
            self._losses = _ListColumn(pattern="string", **members, count="int32")
        else:
            self._losses = _ListColumn(path="string", **members, before="string", after="string")
        self._additions = _ListColumn(path="string", value="string", why="string")

    def append(self, converted: Converted | None, error: FormatBridgeError | None) -> None:
        """Add the result of a row, or the reason why there is none; neither if the payload is null."""
        self._bodies.append(converted.json() if converted else None)
        self._errors.append(without_surrogates(str(error)) if error else None)
        if self._kind == "request":
            self._paths.append(converted.path if isinstance(converted, ConvertedRequest) else None)
        else:
            self._statuses.append(converted.status if isinstance(converted, ConvertedError) else None)
        if self._detail == "none":
            return
        losses = converted.losses if converted else error.losses if isinstance(error, LossyConversionError) else None
        rows_of = _summary_rows if self._detail == "summary" else _loss_rows
        self._losses.append(None if losses is None else rows_of(losses))
        self._additions.append(_addition_rows(converted.additions) if converted else None)

    def arrays(self, type: pa.DataType) -> dict[str, pa.Array]:
        """Return the columns by their names. ``type``: that of the bodies."""
        pyarrow = _import_pyarrow()
        arrays = {"body": pyarrow.array(self._bodies, type)}
        if self._kind == "request":
            arrays["path"] = pyarrow.array(self._paths, pyarrow.string())
        else:
            arrays["status"] = pyarrow.array(self._statuses, pyarrow.int32())
        if self._detail != "none":
            arrays |= {"losses": self._losses.array(), "additions": self._additions.array()}
        return arrays | {"error": pyarrow.array(self._errors, pyarrow.string())}


def _loss_rows(losses: Iterable[Loss]) -> Iterator[tuple[Any, ...]]:
    for loss in losses:
        yield loss.path, loss.kind, loss.severity, loss.code, loss.why, _json_text(loss.before), _json_text(loss.after)


def _addition_rows(additions: Iterable[Addition]) -> Iterator[tuple[Any, ...]]:
    for addition in additions:
        yield addition.path, _json_text(addition.value), addition.why


def _summary_rows(losses: Iterable[Loss]) -> Iterator[tuple[Any, ...]]:
    for group in summarize(losses):
        yield group.pattern, group.kind, group.severity, group.code, group.why, group.count


def _import_pyarrow() -> ModuleType:
    """Return pyarrow; raise ``ConfigurationError`` if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise ConfigurationError("tables need pyarrow, which is not installed: run pip install 'formatbridge[tables]'") from None
    return pyarrow  # type: ignore[no-any-return]  # pyarrow has no types


def _record_batches(data: ArrowData | Iterable[ArrowData]) -> Iterator[pa.RecordBatch]:
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
    pyarrow = _import_pyarrow()
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


def _column_of(batch: pa.RecordBatch, name: str) -> pa.Array:
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
    pyarrow = _import_pyarrow()
    array = _column_of(batch, name)
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


class _ListColumn:
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
        pyarrow = _import_pyarrow()
        fields = [pyarrow.field(name, getattr(pyarrow, type)()) for name, type in self._fields.items()]
        arrays = [pyarrow.array(values, field.type) for values, field in zip(self._members, fields, strict=True)]
        structs = pyarrow.StructArray.from_arrays(arrays, fields=fields)
        return pyarrow.ListArray.from_arrays(pyarrow.array([*self._starts, len(self._members[0])], pyarrow.int32()), structs)


def _json_text(value: JsonValue) -> bytes | None:
    """Return a value of a report as JSON text; null for None."""
    return None if value is None else codec.dumps(value)


def _with_columns(batch: pa.RecordBatch, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return a batch with more columns; raise ``ConfigurationError`` if it has one of these names."""
    pyarrow = _import_pyarrow()
    schema = batch.schema
    for name, array in columns.items():
        if schema.get_all_field_indices(name):
            raise ConfigurationError(f"the table has a column {name!r} already: pass another prefix=")
        schema = schema.append(pyarrow.field(name, array.type))
    return pyarrow.RecordBatch.from_arrays([*batch.columns, *columns.values()], schema=schema)
