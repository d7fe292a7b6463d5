# Trusts: counts by hand of distinct keys, blocks and hits of files with a few lines.
from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from commands import python

import mcsim as mc
from mcsim.base.errors import ConfigError

OBJECTS = "time_s,key,size\n1,5,110\n2,4,110\n3,6,110\n4,4,111\n"
IDS = "5\n7\n5\n9\n7\n18446744073709551000\n"

pytestmark = pytest.mark.usefixtures("folder")


def written(name: str, content: str) -> str:
    Path(name).write_text(content)
    return name


def counts(path: str, block_bytes: int = 4096, **options: Any) -> tuple[int, int, int]:
    """Accesses, distinct blocks and hits of an unlimited cache."""
    trace = mc.Trace.open(path, options=options, format="keys" if path.endswith("txt") else "csv")
    blocks = trace.blocks(block_bytes=block_bytes)
    return len(blocks), blocks.unique, len(blocks) - blocks.unique


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    caplog.clear()
    return said


def test_a_column_of_keys_is_not_an_offset() -> None:
    path = written("objs.csv", OBJECTS)
    with pytest.raises(ConfigError, match=r"objs\.csv:1: offset_unit: state it: column 'key' may"):
        counts(path, offset="key", length="none")
    assert counts(path) == (4, 3, 1)
    assert counts(path, offset="key", length="none", offset_unit="blocks") == (4, 3, 1)
    assert counts(path, offset="key", length="size", offset_unit="blocks") == (4, 3, 1)


def test_ids_that_share_blocks_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    ids = written("ids.csv", OBJECTS.replace("key,size", "offset,queue"))
    assert counts(ids) == (4, 1, 3)
    (warning,) = warnings_in(caplog)
    assert warning.startswith(
        "ids.csv: requests have no length, and 3 distinct offsets among the first 4 are in 1 block "
        "of 4,096 bytes"
    )
    assert mc.Trace.open(ids).info().total.unique_blocks == 1
    assert len(warnings_in(caplog)) == 1
    assert counts(ids, offset_unit="bytes") == (4, 1, 3)
    assert counts(ids, offset_unit="blocks") == (4, 3, 1)
    frame = pd.read_csv(ids)
    assert not warnings_in(caplog)
    mc.Trace.from_pandas(frame).blocks()
    assert len(warnings_in(caplog)) == 1
    mc.Trace.from_pandas(frame, offset_unit="blocks").blocks()
    assert not warnings_in(caplog)
    said = python("-m", "mcsim", "mrc", "ids.csv", cwd=Path.cwd(), timeout=120)
    assert "3 distinct offsets among the first 4" in said.stderr


def test_ids_of_one_byte_are_apart_in_blocks_of_one_byte(caplog: pytest.LogCaptureFixture) -> None:
    ids = written("ids.txt", IDS)
    assert counts(ids, unit_bytes=1) == (6, 2, 4)
    assert "4 distinct offsets among the first 6 are in 2 blocks" in warnings_in(caplog)[0]
    assert counts(ids, 1, unit_bytes=1) == (6, 4, 2)
    assert not warnings_in(caplog)


def test_a_request_without_length_touches_one_block(caplog: pytest.LogCaptureFixture) -> None:
    path = written("nolen.csv", "time_s,offset\n1,100\n2,100\n3,5000\n")
    assert counts(path) == (3, 2, 1)
    frame = pd.read_csv(path)
    for trace in (mc.Trace.from_pandas(frame), mc.Trace.from_pandas(frame.astype(float))):
        assert trace.blocks().ids.tolist() == [0, 0, 1]
        (batch,) = trace.batches()
        assert batch.length.tolist() == [1, 1, 1]
    assert not warnings_in(caplog)


def two() -> list[mc.Trace]:
    """Two traces of one VM each, with blocks 0 and 1."""
    return [
        mc.Trace.from_arrays([0, 1], [0, 4096], 4096, vms=[name], source=name)
        for name in ("web", "mail")
    ]


def test_frames_keep_the_names_of_vms() -> None:
    pandas = pd.concat([trace.to_pandas() for trace in two()])
    polars = pl.concat([trace.to_polars() for trace in two()])
    for joined in (mc.Trace.from_pandas(pandas), mc.Trace.from_polars(polars)):
        assert joined.vms == ("web", "mail")
        assert joined.blocks().unique == 4
    assert pandas["vm"].unique().tolist() == ["web", "mail"]


def test_a_table_that_lost_the_names_of_vms_is_refused() -> None:
    table = pa.concat_tables(trace.to_arrow() for trace in two()).replace_schema_metadata(None)
    positions = pa.chunked_array([pa.array([0, 1, 0, 1], pa.uint16())])
    lost = table.set_column(1, pa.field("vm", pa.uint16()), positions)
    with pytest.raises(ConfigError, match="table: vm: column 'vm' has positions among the names"):
        mc.Trace.from_arrow(lost)
    assert mc.Trace.from_arrow(lost, vm="vm").vms == ("0", "1")


def test_parts_of_tables_are_traces_without_a_mapping() -> None:
    trace = mc.Trace.from_arrays(
        [0, 1, 2], [0, 4096, 0], 4096, vm=[0, 1, 1], op=[0, 1, 2], vms=["web", "mail"]
    )
    table = trace.to_arrow()
    of_mail = mc.Trace.from_arrow(duckdb.from_arrow(table).filter("vm = 'mail'"))
    assert of_mail.vms == ("mail",)
    assert (of_mail.metadata.counts.requests, of_mail.metadata.counts.discards) == (1, 1)
    frame = trace.to_pandas()
    assert mc.Trace.from_pandas(frame[frame["op"] == 0]).vms == ("web",)
    kept = table.filter(pa.compute.equal(table["op"], 0))
    assert mc.Trace.from_arrow(kept).blocks().ids.tolist() == [0]
    assert mc.Trace.from_arrow(table).vms == trace.vms


def test_tables_of_objects_keep_their_keys() -> None:
    trace = mc.Trace.open(written("objs.csv", OBJECTS.replace(",4,", ",x,")))
    for again in (
        mc.Trace.from_arrow(trace.to_arrow()),
        mc.Trace.from_pandas(trace.to_pandas()),
        mc.Trace.from_polars(trace.to_polars()),
        mc.Trace.from_arrow(duckdb.from_arrow(trace.to_arrow())),
        *(mc.Trace.open(trace.save(f"objs.{end}")) for end in ("arrow", "parquet", "csv.gz")),
    ):
        assert again.kind == "objects"
        assert again.keys is not None
        assert again.keys.to_pylist() == ["5", "x", "6"]
        assert [batch.offset.tolist() for batch in again.batches()] == [[0, 1, 2, 1]]
        assert [batch.length.tolist() for batch in again.batches()] == [[110, 110, 110, 111]]


def test_an_index_stays_one_in_frames() -> None:
    trace = mc.Trace.from_arrays([0, 3], [0, 4096], 4096, time_base="index")
    assert mc.Trace.from_pandas(trace.to_pandas()).time_base == "index"
    assert mc.Trace.from_arrow(trace.to_arrow().slice(1)).time_base == "index"


@pytest.mark.parametrize(
    "header", ["time_s,key_size,op_count,key", "time_s,vm_type,size_class,key"]
)
def test_a_column_that_begins_with_the_name_of_a_field_is_not_the_field(header: str) -> None:
    trace = mc.Trace.open(written("k.csv", f"{header}\n1,3,1,a\n2,3,1,b\n3,3,1,a\n"), format="csv")
    assert (trace.blocks().unique, trace.vms, trace.metadata.has_lengths) == (2, ("k",), False)


def test_keys_with_accents_are_text() -> None:
    rows = "".join(f"{i},clé-{i % 2}-ü\n" for i in range(40))
    trace = mc.Trace.open(written("keys.csv", f"time_s,key\n{rows}"))
    assert (trace.metadata.format, trace.blocks().unique) == ("csv", 2)
