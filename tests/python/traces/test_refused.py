# Trusts: files with one mistake each, and the expected messages.
from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import code_of

import mcsim
from mcsim.base.errors import ConfigError

SIZED = "time_s,offset,size\n1,0,8192\n2,4096,4096\n"

pytestmark = pytest.mark.usefixtures("folder")


def written(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("vms", [["a", "a"], ("b", "a", "b")])
def test_no_two_vms_have_one_name(vms: Any) -> None:
    with pytest.raises(ConfigError, match=f"vms: a second VM '{vms[0]}'"):
        mcsim.Trace.from_arrays([1, 2], [0, 4096], 4096, vm=[0, 1], vms=vms)


def test_a_description_with_two_vms_of_one_name_is_not_used() -> None:
    trace = mcsim.Trace.from_arrays([1, 2], [0, 4096], 4096, vm=[0, 1], vms=["a", "b"])
    table = trace.to_arrow()
    said = table.schema.metadata[b"mcsim"].replace(b'"vms": ["a", "b"]', b'"vms": ["a", "a"]')
    pq.write_table(table.replace_schema_metadata({b"mcsim": said}), "t.parquet")
    # Without a description it is a table like any other, with the names of its column.
    assert mcsim.Trace.open("t.parquet").vms == ("a", "b")


@pytest.mark.parametrize(
    ("name", "message"),
    [(5, "expected names as text, got 5"), ("\ud800", r"'\\ud800' is not text that UTF-8 can")],
)
def test_names_of_vms_are_text(name: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=f"vms: {message}"):
        mcsim.Trace.from_arrays([1], [0], 4096, vms=[name])


@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, bz2.compress, lzma.compress, zstd],
    ids=["no", "gz", "bz2", "xz", "zst"],
)
def test_a_column_of_sizes_is_not_left_out_of_text(pack: Callable[[bytes], bytes]) -> None:
    path = written("s.csv", pack(SIZED.encode()))
    with pytest.raises(ConfigError, match=r"s\.csv:1: length: state its column: 'size' may be it"):
        mcsim.Trace.open(path)
    assert mcsim.Trace.open(path, options={"length": "size"}).info().total.blocks == 3
    assert mcsim.Trace.open(path, options={"length": "3"}).info().total.blocks == 3
    assert mcsim.Trace.open(path, options={"length": "none"}).info().total.blocks == 2


@pytest.mark.parametrize(
    "name", ["bytes", "Size", "ReqSize", "io_size", "size_bytes", "len", "request.length"]
)
def test_a_column_of_sizes_is_not_left_out_of_a_table(name: str) -> None:
    frame = pd.DataFrame({"time_s": [1], "offset": [0], name: [8192]})
    with pytest.raises(ConfigError, match=rf"table: length: .*\(length: {name}; length: none"):
        mcsim.Trace.from_pandas(frame)
    assert mcsim.Trace.from_pandas(frame, length=name).info().total.blocks == 2
    frame.to_parquet("t.parquet")
    with pytest.raises(ConfigError, match=rf"t\.parquet: length: state its column: '{name}'"):
        mcsim.Trace.open("t.parquet")


def test_what_has_another_meaning_is_no_length() -> None:
    for header, options in (
        ("time_s,offset_bytes", {}),
        ("time_s,lba_bytes", {"offset": "lba_bytes"}),
        ("time_s,offset,lengths_of_queues", {}),
        ("time_s,offset,length", {}),
    ):
        rows = f"{header}\n{','.join('1' for _ in header.split(','))}\n"
        assert mcsim.Trace.open(written("t.csv", rows), format="csv", options=options)


SECTORS = ["Start Sector", "sector", "LBA", "lba", "StartLBA", "start_lba", "lbn", "nlb"]
BLOCKS = ["block", "blkno", "BlockNumber", "page"]


@pytest.mark.parametrize(
    ("field", "name", "unit"),
    [
        *(("offset", name, "sectors") for name in SECTORS),
        *(("offset", name, "blocks") for name in BLOCKS),
        *(("length", name, "sectors") for name in ("Sectors", "nsectors", "size_sectors", "NLB")),
        *(("length", name, "blocks") for name in ("blocks", "nblks", "length_blocks")),
    ],
)
def test_what_looks_like_another_unit_is_not_read_as_bytes(
    field: str, name: str, unit: str
) -> None:
    other = {"offset": "length", "length": "offset"}[field]
    frame = pd.DataFrame({"time_s": [1], other: [8], name: [8]})
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    said = rf": {field}_unit: state it: column '{name}' may .* \({field}_unit: {unit}; {field}_uni"
    at = str(list(frame).index(name) + 1)
    for path, options in (
        ("t.csv", {field: name}),
        ("t.csv", {field: at}),
        ("t.parquet", {field: name}),
    ):
        format = path.rpartition(".")[2]
        with pytest.raises(ConfigError, match=rf"{path}(:1)?{said}"):
            mcsim.Trace.open(path, format=format, options=options)
        for stated, bytes_of in (("bytes", 1), ("sectors", 512), ("blocks", 4096)):
            stating = options | {f"{field}_unit": stated}
            (batch,) = mcsim.Trace.open(path, format=format, options=stating).batches()
            assert getattr(batch, field).tolist() == [8 * bytes_of]
    with pytest.raises(ConfigError, match=f"table{said}"):
        mcsim.Trace.from_pandas(frame, **{field: name})


@pytest.mark.parametrize("name", ["key", "obj_id", "object", "UrlHash"])
def test_what_looks_like_an_id_is_no_offset(name: str) -> None:
    path = written("t.csv", f"time_s,{name},length\n1,8,512\n")
    with pytest.raises(
        ConfigError, match=rf"t\.csv:1: offset_unit: .*'{name}' may hold ids .*key in p"
    ):
        mcsim.Trace.open(path, format="csv", options={"offset": name})


def test_what_ends_in_bytes_counts_bytes() -> None:
    frame = pd.DataFrame({"time_s": [1], "lba_bytes": [8], "block_bytes": [9]})
    trace = mcsim.Trace.from_pandas(frame, offset="lba_bytes", length="block_bytes")
    (batch,) = trace.batches()
    assert (batch.offset.tolist(), batch.length.tolist()) == ([8], [9])


def test_a_column_whose_own_name_has_a_unit_is_not_read_as_bytes() -> None:
    path = written("t.csv", "time_s,offset_sectors,length\n1,8,512\n")
    with pytest.raises(ConfigError, match="offset_unit: state it: column 'offset_sectors' may"):
        mcsim.Trace.open(path)


def said_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert code_of("trace", *arguments) == 2
    return capsys.readouterr().err


def test_the_shell_is_told_options_of_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    path = written("t.csv", "time_s,offset\n5,0\n2,0\n")
    said = said_by(capsys, "info", path, "--on-unsorted", "error")
    assert "(--on-unsorted sort puts requests in order)" in said


def test_a_form_that_cannot_be_written_is_told_before_anything_is_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = written("t.csv", "this is no trace\n")
    assert "out.foo: expected a name that ends in .arrow" in said_by(
        capsys, "convert", path, "out.foo"
    )
