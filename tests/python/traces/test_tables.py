# Trusts: rows written by hand, and that what goes out as one kind of file comes back the same.
"""Arrow and Parquet files and frames as traces, by mcsim and other programs."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small import TINY

import mcsim as mc
from mcsim.base.errors import ConfigError
from mcsim.cli.main import main

MS = 10**6

pytestmark = pytest.mark.usefixtures("folder")


def columns(trace: mc.Trace) -> list[list[int]]:
    return [np.concatenate(parts).tolist() for parts in zip(*trace.batches(), strict=True)]


@pytest.fixture
def own() -> mc.Trace:
    return mc.Trace.from_arrays(
        [0, 5, 5, 9],
        [0, 4096, 0, 2**40],
        [8192, 4096, 0, 1],
        vm=[2, 1, 2, 0],
        op=[0, 1, 0, 1],
        response=[7, -1, -1, 3],
        vms=("a", "b", "c"),
        source="own",
    )


@pytest.mark.parametrize("name", ["w.parquet", "w.arrow", "w.csv.gz"])
def test_what_mcsim_wrote_comes_back(own: mc.Trace, name: str) -> None:
    again = mc.Trace.open(own.save(name))
    assert columns(again)[2:] == columns(own)[2:]
    assert [again.vms[v] for v in columns(again)[1]] == [own.vms[v] for v in columns(own)[1]]
    if not name.endswith(".gz"):
        assert (columns(again), again.vms, again.time_base) == (columns(own), own.vms, "clock")


@pytest.mark.parametrize("year", [1, 1600, 2263, 9999])
def test_int96_times_that_nanoseconds_cannot_hold_are_errors(year: int, tmp_path: Path) -> None:
    times = [datetime.datetime(2020, 1, 1), datetime.datetime(2262, 1, 1)]
    keys = {"offset": pa.array([0, 4096, 8192], pa.uint64())}

    def written(last: datetime.datetime) -> Path:
        column = pa.array([*times, last], pa.timestamp("us"))
        path = tmp_path / f"{last.year}.parquet"
        table = pa.table({"time": column, **keys})
        pq.write_table(table, path, use_deprecated_int96_timestamps=True)
        return path

    good = mc.Trace.open(written(datetime.datetime(2262, 4, 11)))
    assert good.request_count == 3
    with pytest.raises(mc.TraceError, match=r"row 3: column 'time': .*INT96 time outside"):
        mc.Trace.open(written(datetime.datetime(year, 6, 1)))


def test_synthetic_traces_stay_so(folder: Path) -> None:
    from mcsim.traces.synth import synth_trace

    profile = TINY
    trace = synth_trace(profile)
    again = mc.Trace.open(trace.save("tiny.parquet"))
    assert again.metadata.synthetic
    assert mc.Trace.from_arrow(trace.to_arrow()).metadata.synthetic
    assert columns(again) == columns(trace)


def test_tables_and_frames_come_back(own: mc.Trace) -> None:
    table = mc.Trace.from_arrow(own.to_arrow())
    assert (columns(table), table.vms) == (columns(own), own.vms)
    for trace in (mc.Trace.from_pandas(own.to_pandas()), mc.Trace.from_polars(own.to_polars())):
        # A frame has names of VMs; they are numbered in the order of their first requests.
        assert trace.vms == ("c", "b", "a")
        assert [trace.vms[v] for v in columns(trace)[1]] == [own.vms[v] for v in columns(own)[1]]
        assert columns(trace)[:1] + columns(trace)[2:] == columns(own)[:1] + columns(own)[2:]


def foreign(**more: Any) -> pa.Table:
    rows = {
        "when": [1.5, 2.5, 4.0],
        "host": ["web", "db", "web"],
        "disk": [0, 1, 0],
        "lba": [8, 0, 16],
        "sectors": [8, 16, 1],
        "rw": ["Read", "W", "r"],
        "note": ["x", None, "y"],
    }
    return pa.table(rows | more)


MAPPING: dict[str, Any] = {
    "time": "when",
    "time_unit": "ms",
    "vm": "host+disk",
    "op": "rw",
    "offset": "lba",
    "offset_unit": "sectors",
    "length": "sectors",
    "length_unit": "sectors",
}
SECTORS = {"offset_unit": "sectors", "length": "none"}
MAPPED = [
    [3 * MS // 2, 5 * MS // 2, 4 * MS],
    [0, 1, 0],
    [0, 1, 0],
    [4096, 0, 8192],
    [4096, 8192, 512],
    [-1, -1, -1],
]


def test_tables_of_anybody() -> None:
    pq.write_table(foreign(), "x.parquet", row_group_size=2)
    with pa.ipc.new_file("x.arrow", foreign().schema) as writer:
        writer.write_table(foreign(), max_chunksize=2)
    frame = foreign().to_pandas()
    traces = [
        mc.Trace.open("x.parquet", options=MAPPING),
        mc.Trace.open("x.arrow", options=MAPPING),
        mc.Trace.from_arrow(foreign(), **MAPPING),
        mc.Trace.from_pandas(frame, **MAPPING),
        mc.Trace.from_polars(pl.from_arrow(foreign()), **MAPPING),  # type: ignore[arg-type]
    ]
    foreign().to_pandas().to_csv("x.csv", index=False)
    traces.append(mc.Trace.open("x.csv", format="csv", options=MAPPING))
    for trace in traces:
        assert columns(trace) == MAPPED
        assert trace.vms == ("web_0", "db_1")
        assert trace.time_base == "clock"


@pytest.mark.parametrize("kind", ["batch", "reader", "duckdb", "polars", "pandas", "stream"])
def test_whatever_has_an_arrow_stream_is_a_table(kind: str) -> None:
    table = foreign()

    class Stream:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return table.__arrow_c_stream__(requested_schema)

    given: dict[str, Any] = {
        "batch": table.to_batches()[0],
        "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches(2)),
        "duckdb": duckdb.from_arrow(table),
        "polars": pl.from_arrow(table),
        "pandas": table.to_pandas(),
        "stream": Stream(),
    }
    trace = mc.Trace.from_arrow(given[kind], **MAPPING)
    assert columns(trace) == MAPPED
    assert trace.vms == ("web_0", "db_1")


def test_a_reader_is_consumed_once_and_its_failure_is_told() -> None:
    table = foreign()
    batches = iter(table.to_batches(2))
    reader = pa.RecordBatchReader.from_batches(table.schema, batches)
    mc.Trace.from_arrow(reader, **MAPPING)
    assert next(batches, None) is None

    def fails() -> Any:
        yield from table.to_batches(2)[:1]
        raise pa.ArrowInvalid("cut off")

    with pytest.raises(mc.TraceError, match=r"table: .*cut off"):
        mc.Trace.from_arrow(pa.RecordBatchReader.from_batches(table.schema, fails()), **MAPPING)


@pytest.mark.parametrize("given", [[1, 2], {"offset": [0]}, "x.parquet", None])
def test_what_has_no_arrow_stream_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="table: expected an object with an Arrow C stream"):
        mc.Trace.from_arrow(given)


def test_text_whose_positions_are_damaged_is_refused() -> None:
    places = np.array([0, 2**30, 5, 8], np.int32)  # only the last was checked
    text = pa.Array.from_buffers(
        pa.string(), 3, [None, pa.py_buffer(places), pa.py_buffer(b"webdbweb")]
    )
    table = foreign().set_column(1, "host", text)
    with pa.ipc.new_file("x.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(mc.TraceError, match=r"x\.arrow: damaged: .*offset"):
        mc.Trace.open("x.arrow", options=MAPPING)
    with pytest.raises(mc.TraceError, match=r"table: .*offset"):
        mc.Trace.from_arrow(table, **MAPPING)


def test_names_and_types_say_what_columns_are() -> None:
    times = [datetime.datetime(1970, 1, 1, 0, 0, s) for s in (1, 3)]
    trace = mc.Trace.from_pandas(pd.DataFrame({"time": times, "offset": [0, 1], "length": [1, 2]}))
    assert columns(trace)[0] == [10**9, 3 * 10**9]
    by_name = pa.table({"time_us": [1, 2], "offset": [0, 9], "response_ms": [1.5, None]})
    assert columns(mc.Trace.from_arrow(by_name))[5] == [1_500_000, -1]
    by_name = pa.table({"time_us": [1, 2], "offset": [0, None], "response_ms": [1.5, 2]})
    with pytest.raises(
        mc.TraceError, match=r"table: row 2: .* value in column 2 \(offset\), got 'nu"
    ):
        mc.Trace.from_arrow(by_name)
    kept = mc.Trace.from_arrow(by_name, on_bad_line="skip")
    assert (columns(kept)[0], columns(kept)[5]) == ([1000], [1_500_000])
    assert (kept.metadata.rows.skipped, len(kept.metadata.complaints)) == (1, 1)
    # Without times they are positions; without lengths each is a block.
    plain = mc.Trace.from_arrow(pa.table({"block": [5, 6]}), offset="block", offset_unit="blocks")
    assert columns(plain)[:1] + columns(plain)[3:5] == [[0, 1], [5 * 4096, 6 * 4096], [1, 1]]
    assert plain.time_base == "index"
    categories = pd.DataFrame({"offset": [0, 1], "vm": pd.Categorical(["b", "a"])})
    assert mc.Trace.from_pandas(categories).vms == ("b", "a")


def test_order(folder: Path) -> None:
    table = pa.table({"time_ns": [5, 3, 5], "offset": [0, 1, 2]})
    pq.write_table(table, "x.parquet")
    for make in (
        lambda **more: mc.Trace.from_arrow(table, **more),
        lambda **more: mc.Trace.open("x.parquet", **more),
    ):
        with pytest.raises(mc.TraceError, match="row 2: time goes back"):
            make(on_unsorted="error")
        assert columns(make(on_unsorted="sort"))[3] == [1, 0, 2]


@pytest.mark.parametrize(
    ("mapping", "table", "message"),
    [
        ({"tme": "when"}, {}, r"unknown parameter 'tme' \(did you mean 'time'\?\)"),
        ({"offset": "lab"}, {}, r"table: offset: no column 'lab'.*'lba'.*; there are when, host"),
        (
            {"time": "when", "offset": "lba", "op": "rw"} | SECTORS,
            {},
            r"row 1: time_unit: state it",
        ),
        ({"time": "when", "offset": "lba"} | SECTORS, {}, r"table: op: state its column: 'rw' may"),
        ({"time_unit": "hours"}, {}, "time_unit: .*by-name, s, ms, us, ns"),
        ({"block_bytes": 0}, {}, "block_bytes: .*0"),
        ({}, {}, "table: offset: state the column, one of when, host, disk"),
        (MAPPING, {"lba": [8, -1, 0]}, r"table: row 2: .*an offset .* column 4 \(lba\), got '-1'"),
        (MAPPING, {"rw": ["r", "w", "x"]}, r"table: row 3: .*column 6 \(rw\), got 'x'"),
        (MAPPING, {"lba": [0, 0, 2**62]}, "table: row 3: .*offset"),
        (MAPPING, {"lba": ["a", "b", "c"]}, "table: row 1: .*got 'a'"),
        (MAPPING, {"lba": [0.0, 0.5, 1.0]}, "table: row 2: .*got '0.5'"),
        (MAPPING, {"lba": [[0], [1], [2]]}, "table: column 'lba': expected numbers, text or times"),
    ],
)
def test_mistakes(mapping: dict[str, Any], table: dict[str, Any], message: str) -> None:
    with pytest.raises((mc.ConfigError, mc.TraceError), match=message):
        mc.Trace.from_arrow(foreign(**table), **mapping)


def test_damage(own: mc.Trace) -> None:
    whole = own.save("w.parquet").read_bytes()
    Path("cut.parquet").write_bytes(whole[:-20])
    with pytest.raises(mc.TraceError, match=r"cut.parquet: not a whole parquet file"):
        mc.Trace.open("cut.parquet")
    Path("x.csv").write_text("offset\n0\n")
    with pytest.raises(mc.TraceError, match=r"x.csv: not a whole parquet file"):
        mc.Trace.open("x.csv", format="parquet")
    table = own.to_arrow()
    op = pa.array([0, 7, 0, 1], pa.uint8())
    table = table.set_column(2, table.schema.field("op"), op)
    pq.write_table(table, "op.parquet")
    with pytest.raises(mc.TraceError, match="op"):
        mc.Trace.open("op.parquet")


def test_in_the_shell(own: mc.Trace, capsys: pytest.CaptureFixture[str]) -> None:
    own.save("x.csv")
    pq.write_table(foreign(), "y.parquet")
    main(["trace", "convert", "x.csv", "w.parquet"])
    main(["trace", "info", "w.parquet"])
    assert "format parquet, times by clock" in capsys.readouterr().out
    options = [word for k, v in MAPPING.items() for word in ("--option", f"{k}={v}")]
    main(["trace", "info", "y.parquet", *options])
    assert "web_0" in capsys.readouterr().out
    main(["mrc", "w.parquet", "--ops", "all", "--sizes", "1"])
    assert "w: 3 VMs, reads and writes" in capsys.readouterr().out
    main(["describe", "parquet"])
    assert "offset_unit" in capsys.readouterr().out
