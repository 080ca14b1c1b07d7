"""A column of payloads in an Arrow table is converted row by row, and no row stops the others."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.convert.tables import pieces, read_payloads
from tests import fixtures

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

BODY = json.dumps(
    {"model": "m", "messages": [{"role": "user", "content": "How deep is the fjord?"}], "seed": 7, "temperature": 1.5}
)
TO_MESSAGES: dict[str, Any] = {"column": "body", "source": "chat_completions", "target": "messages"}


def _rows(batches: Any, **arguments: Any) -> list[dict[str, Any]]:
    return [row for batch in fb.convert_table(batches, **(TO_MESSAGES | arguments)) for row in batch.to_pylist()]


def _json(value: Any) -> Any:
    return None if value is None else json.loads(value)


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("kind", ["request", "response", "error"])
def test_a_row_has_the_result_of_the_function_for_one_payload(kind: Any, target: Any) -> None:
    """Users compare the results of a data set with those of single calls."""
    cases = [each for each in fixtures.fixtures(kind) if not each.is_malformed]
    table = pa.table(
        {
            "body": [json.dumps(each.body) for each in cases],
            "format": [each.format for each in cases],
            "model": [each.model for each in cases],
            "status": [each.status for each in cases],
        }
    )
    varying = {"request": "model", "error": "status"}
    arguments = {name: fb.Column(name) for name in (varying.get(kind),) if name}

    rows = _rows(table, kind=kind, source=fb.Column("format"), target=target, **arguments)

    assert len(rows) == len(cases)
    for row, case in zip(rows, cases, strict=True):
        expected = case.convert(target)
        assert row["converted_error"] is None
        assert row["converted_body"].encode() == expected.json()
        losses = [each | {"before": _json(each["before"]), "after": _json(each["after"])} for each in row["converted_losses"]]
        assert losses == [loss.to_dict() for loss in expected.losses]
        additions = [each | {"value": _json(each["value"])} for each in row["converted_additions"]]
        assert additions == [addition.to_dict() for addition in expected.additions]
        if kind == "request":
            assert row["converted_path"] == getattr(expected, "path", None)
        else:
            assert row["converted_status"] == getattr(expected, "status", None)


def test_null_stays_null_and_an_invalid_row_has_an_error() -> None:
    """One bad line of a log must not stop a partition."""
    table = pa.table({"body": [BODY, None, '{"model": "m"}', "{", BODY], "id": [1, 2, 3, 4, 5]})

    rows = _rows(table)

    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["converted_body"] is not None for row in rows] == [True, False, False, False, True]
    assert rows[1] == dict.fromkeys(rows[1]) | {"id": 2}
    assert rows[2]["converted_error"] == "chat_completions request: /messages is missing, expected an array"
    assert "not JSON" in rows[3]["converted_error"]
    assert rows[2]["converted_losses"] is rows[2]["converted_additions"] is rows[2]["converted_path"] is None


def test_an_error_that_is_not_valid_unicode_is_written_with_a_replacement() -> None:
    """Arrow strings are UTF-8, and one message must not stop a batch."""

    def target(body: str) -> Any:
        raise fb.ConfigurationError(f"no target for {len(body)} characters \ud83d")

    (row,) = _rows(pa.table({"body": [BODY]}), target=fb.Column("body", target))

    assert row["converted_error"] == f"no target for {len(BODY)} characters \ufffd"


TYPES = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]


@pytest.mark.parametrize("type", TYPES)
def test_the_body_has_the_type_of_the_payload_column(type: str) -> None:
    """A writer with a fixed schema would reject another type."""
    payload = BODY if "string" in type else BODY.encode()
    arrow_type = getattr(pa, type)()

    (batch,) = fb.convert_table(pa.table({"body": pa.array([payload, None], arrow_type)}), **TO_MESSAGES)

    assert batch.schema.field("converted_body").type == arrow_type
    assert batch["converted_body"].to_pylist()[1] is None
    assert json.loads(batch["converted_body"].to_pylist()[0])["max_tokens"] == 4096


def test_a_dictionary_column_and_a_json_column_are_read() -> None:
    """Parquet readers return repeated strings as dictionaries, and JSON as an extension type."""
    dictionary = pa.array([BODY, BODY]).dictionary_encode()
    extension = pa.ExtensionArray.from_storage(pa.json_(), pa.array([BODY, BODY]))

    rows = _rows(pa.table({"body": dictionary})), _rows(pa.table({"body": extension}))

    assert [row["converted_body"] for row in rows[0]] == [row["converted_body"] for row in rows[1]]
    assert rows[0][1]["converted_error"] is None


def test_other_columns_and_metadata_stay_as_they_are() -> None:
    """Ids and labels must still belong to their rows."""
    schema = pa.schema([("id", pa.int64()), ("body", pa.string()), ("tags", pa.list_(pa.string()))], metadata={"run": "7"})
    batch = pa.record_batch([[1], [BODY], [["a", "b"]]], schema=schema)

    (result,) = fb.convert_table(batch, **TO_MESSAGES)

    assert result.select(["id", "body", "tags"]).equals(batch)
    assert result.schema.metadata == {b"run": b"7"}
    assert [name.removeprefix("converted_") for name in result.schema.names[3:]] == ["body", "path", "losses", "additions", "error"]


def _batches() -> Iterator[Any]:
    yield pa.record_batch({"body": [BODY]})
    yield pa.record_batch({"body": [BODY, BODY]})


class _Stream:
    """A data frame that has the Arrow PyCapsule interface and nothing else."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.table({"body": [BODY] * 3}).__arrow_c_stream__(requested_schema)


class _Array:
    """A record batch of another library."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return pa.record_batch({"body": [BODY] * 3}).__arrow_c_array__(requested_schema)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(_Stream, id="PyCapsule stream"),
        pytest.param(_Array, id="PyCapsule array"),
        pytest.param(lambda: pa.table({"body": [BODY] * 3}), id="table"),
        pytest.param(lambda: pa.RecordBatchReader.from_batches(pa.schema([("body", pa.string())]), _batches()), id="reader"),
        pytest.param(lambda: pa.record_batch({"body": [BODY] * 3}), id="record batch"),
        pytest.param(lambda: list(_batches()), id="list"),
        pytest.param(_batches, id="generator"),
        pytest.param(
            lambda: pytest.importorskip("polars", reason="Polars is not installed").DataFrame({"body": [BODY] * 3}), id="Polars"
        ),
        pytest.param(
            lambda: pytest.importorskip("pandas", reason="pandas is not installed").DataFrame({"body": [BODY] * 3}), id="pandas"
        ),
    ],
)
def test_every_kind_of_arrow_data_is_read(data: Any) -> None:
    """Users have tables, streams of batches and data frames."""
    rows = _rows(data())

    assert [row["converted_path"] for row in rows] == ["/v1/messages"] * 3


def test_a_table_without_rows_has_the_columns_of_the_results() -> None:
    """Spark and Parquet writers need the schema before the first row."""
    (batch,) = fb.convert_table(pa.table({"body": pa.array([], pa.string())}), **TO_MESSAGES)
    (filled,) = fb.convert_table(pa.table({"body": [BODY]}), **TO_MESSAGES)

    assert batch.num_rows == 0
    assert batch.schema == filled.schema


def test_batches_are_read_one_at_a_time() -> None:
    """A data set may be larger than the memory."""
    read: list[int] = []

    def batches() -> Iterator[Any]:
        for number in range(3):
            read.append(number)
            yield pa.record_batch({"body": [BODY]})

    results = fb.convert_table(batches(), **TO_MESSAGES)
    next(results)

    assert read == [0]


def test_a_batch_with_many_bytes_becomes_several() -> None:
    """One column of strings holds at most 2 GiB."""
    batch = pa.record_batch({"body": ["aaaa", None, "bb", "c" * 20, "", "d"]})
    payloads, _ = read_payloads(batch, "body")

    assert list(pieces(batch, payloads, limit=6)) == [(0, 3), (3, 1), (4, 2)]
    assert list(pieces(batch, payloads)) == [(0, 6)]


def test_each_row_may_have_its_target_and_source() -> None:
    """A log has requests of several formats, for several vendors."""
    table = pa.table(
        {"body": [BODY] * 4, "format": ["chat_completions", None, "chat_completions", "chat"], "vendor": ["a", "g", "x", "a"]}
    )
    targets = {"a": "messages", "g": "generate_content"}

    rows = _rows(table, source=fb.Column("format"), target=fb.Column("vendor", targets))

    assert [row["converted_path"] for row in rows] == ["/v1/messages", "/v1beta/models/m:generateContent", None, None]
    assert rows[2]["converted_error"] == "column 'vendor' has 'x', expected one of 'a', 'g'"
    assert "unknown format 'chat'" in rows[3]["converted_error"]


def test_a_function_of_a_column_is_called_once_for_each_value_of_a_batch() -> None:
    """The function may build a target, which takes longer than to look one up."""
    asked: list[Any] = []

    def target(vendor: Any) -> Any:
        asked.append(vendor)
        return "messages" if vendor else "responses"

    rows = _rows(pa.table({"body": [BODY] * 4, "vendor": ["a", None, "a", None]}), target=fb.Column("vendor", target))

    assert asked == ["a", None]
    assert [row["converted_path"] for row in rows] == ["/v1/messages", "/v1/responses"] * 2


def test_without_a_source_the_format_of_each_row_is_detected() -> None:
    """A log without a column for the format can still be read, where detection is sure."""
    table = pa.table({"body": [BODY, '{"contents": [{"parts": [{"text": "Hi"}]}]}', '{"model": "m"}']})

    rows = _rows(table, source=None, model=fb.Column("body", lambda body: "m" if "contents" in body else None))

    assert [row["converted_path"] for row in rows] == ["/v1/messages", "/v1/messages", None]
    assert "pass source=" in rows[2]["converted_error"]


def test_a_summary_of_losses_has_no_values() -> None:
    """Values of requests may be secret or large."""
    (row,) = _rows(pa.table({"body": [BODY]}), losses="summary")

    groups = {group["pattern"]: group for group in row["converted_losses"]}
    assert groups.keys() == {"/seed", "/temperature"}
    assert groups["/seed"] == {
        "pattern": "/seed",
        "kind": "dropped",
        "severity": "lossy",
        "code": "no_counterpart",
        "why": "the target has no place for it",
        "count": 1,
    }


def test_without_losses_there_is_no_report() -> None:
    """A user of the bodies alone does not pay for the report."""
    table = pa.table({"payload": [BODY]})

    (batch,) = fb.convert_table(table, losses="none", prefix="", **(TO_MESSAGES | {"column": "payload"}))

    assert batch.schema.names == ["payload", "body", "path", "error"]


def test_losses_above_the_limit_are_the_reason_of_a_row_without_a_body() -> None:
    """raise_on works as for one payload, and the reason can be queried."""
    (row,) = _rows(pa.table({"body": [BODY]}), options=fb.Options(raise_on="lossy"))

    assert row["converted_body"] is None
    assert [loss["path"] for loss in row["converted_losses"]] == ["/seed", "/temperature"]
    assert row["converted_error"]


def test_an_answer_that_is_an_error_has_a_status() -> None:
    """A log of answers has the failed ones too."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    table = pa.table({"body": [json.dumps(error)]})

    (row,) = _rows(table, kind="response", source="messages", target="chat_completions")

    assert row["converted_status"] == 529 or row["converted_status"] == 503
    assert json.loads(row["converted_body"])["error"]["message"] == "Overloaded"


@pytest.mark.parametrize(
    ("table", "arguments", "message"),
    [
        ({"text": [BODY]}, {}, "the table has no column 'body', expected one of 'text'"),
        ({"body": [1]}, {}, "the column 'body' has the type int64, expected strings or bytes"),
        ({"body": [BODY], "converted_error": [""]}, {}, "the table has a column 'converted_error' already: pass another prefix="),
        ({"body": [BODY]}, {"source": fb.Column("format")}, "the table has no column 'format'"),
        ({"body": [BODY]}, {"target": "claude"}, "unknown format 'claude'"),
        ({"body": [BODY]}, {"target": fb.Target("messages", dialect="grok")}, "unknown dialect 'grok'"),
        ({"body": [BODY]}, {"target": None}, "target is missing: pass a format or a Column"),
        ({"body": [BODY]}, {"kind": "stream"}, "kind is 'stream', expected one of request, response, error"),
        ({"body": [BODY]}, {"losses": "all"}, "losses is 'all', expected one of full, summary, none"),
        ({"body": [BODY]}, {"kind": "error"}, "status is missing: pass the HTTP status"),
        ({"body": [BODY]}, {"kind": "response", "stream": True}, "stream does not apply to kind 'response'"),
        ({"body": [BODY]}, {"prefix": None}, "prefix is None, expected a string"),
    ],
)
def test_a_wrong_call_raises_before_rows_are_converted(table: Any, arguments: Any, message: str) -> None:
    """A mistake in the call would otherwise be the error of every row."""
    with pytest.raises((fb.ConfigurationError, fb.UnknownFormatError)) as caught:
        _rows(pa.table(table), **arguments)

    assert message in str(caught.value)


@pytest.mark.parametrize("data", [BODY, BODY.encode(), {"body": [BODY]}, 7, [BODY]])
def test_data_that_is_not_arrow_is_rejected(data: Any) -> None:
    """A list of payloads is no table."""
    with pytest.raises(fb.ConfigurationError, match="expected"):
        _rows(data)


def test_without_pyarrow_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow is no dependency of the library."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(fb.ConfigurationError, match=r"pip install 'formatbridge\[tables\]'"):
        fb.convert_table([], **TO_MESSAGES)
