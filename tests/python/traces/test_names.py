"""Trusts: names that were chosen by hand, each of which means something else in some format."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import code_of

import mcsim as mc
from mcsim.base.errors import ConfigError
from mcsim.base.suggest import names_listed
from mcsim.locality.watch import _mask
from mcsim.traces.joined import _has_same_requests, join

NAMES = (
    *("8,0", "8,16", 'a"b', '"', "a,b", "a b", " a", "a ", "a_b", "a/b", "*", "?", "[a]", "!a"),
    *("#a", "*a", "'a'", '"a"', "a", "none", "all", "1", "é", "a;b", "a|b", "-"),
)


def trace_of(names: tuple[str, ...]) -> mc.Trace:
    """Return a trace with a request of each VM, at an offset of its own."""
    count = len(names)
    return mc.Trace.from_arrays(
        list(range(count)), [4096 * k for k in range(count)], 4096, vm=list(range(count)), vms=names
    )


def rows_of(trace: mc.Trace) -> list[tuple[Any, ...]]:
    (batch,) = trace.batches()
    vms = [trace.vms[vm] for vm in batch.vm]
    return list(zip(batch.time.tolist(), vms, batch.offset.tolist(), strict=True))


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_names_of_vms_are_read_back(ending: str, tmp_path: Path) -> None:
    trace = trace_of(NAMES)
    file = trace.save(tmp_path / f"names{ending}")
    again = mc.Trace.open(file, cache_dir=tmp_path / "cache")
    assert again.vms == NAMES
    assert rows_of(again) == rows_of(trace)


def test_text_keys_are_read_back(tmp_path: Path) -> None:
    source = tmp_path / "keys.jsonl"
    source.write_text("".join(json.dumps({"key": key}) + "\n" for key in NAMES))
    trace = mc.Trace.open(source, cache_dir=tmp_path / "cache")
    assert trace.keys is not None
    assert trace.keys.to_pylist() == list(NAMES)
    again = mc.Trace.open(trace.save(tmp_path / "keys.csv"), cache_dir=tmp_path / "cache")
    assert again.keys is not None
    assert again.keys.to_pylist() == list(NAMES)


def test_names_without_need_of_quotes_have_none(tmp_path: Path) -> None:
    file = trace_of(("a", "b c")).save(tmp_path / "plain.csv")
    assert '"' not in file.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_each_name_selects_its_vm(name: str, tmp_path: Path) -> None:
    file, out = trace_of(NAMES).save(tmp_path / "names.arrow"), tmp_path / "out.arrow"
    assert code_of("trace", "slice", file, out, f"--vms={name}") == 0
    kept = mc.Trace.open(out).slice()
    assert [vm for _, vm, _ in rows_of(kept)] == ([name] if name != "all" else ["all"])


def test_lists_of_names_may_have_names_with_commas() -> None:
    known = ["8,0", "8,16", "a", "a,b", "b"]
    assert names_listed("8,0", known) == ["8,0"]
    assert names_listed("8,0,8,16,a", known) == ["8,0", "8,16", "a"]
    assert names_listed("a,b", known) == ["a,b"]  # a name comes before the list
    assert names_listed("b, a", known) == ["b", "a"]
    assert names_listed("8,*,b", known) == ["8,*", "b"]
    assert names_listed("!8,0", known) == ["!8,0"]
    assert names_listed("c,8,0", known) == ["c", "8,0"]
    assert names_listed(",", known) == []


def test_watch_selects_names_with_commas() -> None:
    assert _mask(["8", "0"], ["8,0", "8,16"]).tolist() == [True, False]
    assert _mask(["!8", "0"], ["8,0", "8,16"]).tolist() == [False, True]
    assert _mask(["8", "*"], ["8,0", "b"]).tolist() == [True, False]


def test_parts_of_names_are_joined_to_distinct_names(tmp_path: Path) -> None:
    pairs = [("a_b", "c"), ("a", "b_c"), ("a", "b%5Fc"), ("a_", "b"), ("a", "_b"), ("a_b_c", "d")]
    file = tmp_path / "pairs.csv"
    rows = [f"{host},{disk},{4096 * k},4096" for k, (host, disk) in enumerate(pairs)]
    file.write_text("\n".join(["host,disk,offset,length", *rows]) + "\n")
    trace = mc.Trace.open(file, options={"vm": "host+disk"}, cache_dir=tmp_path / "cache")
    assert len(trace.vms) == len(pairs)
    assert trace.vms[0] == "a_b_c"
    msr = tmp_path / "pairs.msr"
    rows = [f"{10**17 * 2 + k},{h},{d},Read,0,4096,1" for k, (h, d) in enumerate(pairs)]
    msr.write_text("\n".join(rows) + "\n")
    assert mc.Trace.open(msr, format="msr", cache_dir=tmp_path / "cache").vms == trace.vms


def test_keys_in_json_and_tables_keep_their_blanks_and_quotes(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = [" a", "a", '"a"', "a ", "", "\t a"][:4]
    lines = tmp_path / "keys.jsonl"
    lines.write_text("".join(json.dumps({"n": {}, "key": key}) + "\n" for key in keys))
    flat = tmp_path / "flat.jsonl"
    flat.write_text("".join(json.dumps({"key": key}) + "\n" for key in keys))
    table = tmp_path / "keys.parquet"
    pq.write_table(pa.table({"key": keys}), table)
    for file in (lines, flat, table):
        trace = mc.Trace.open(file, cache_dir=tmp_path / "cache")
        assert trace.keys is not None
        assert trace.keys.to_pylist() == keys, file


def test_numbers_in_json_text_may_have_blanks(tmp_path: Path) -> None:
    file = tmp_path / "text.jsonl"
    file.write_text('{"time_s": " 1 ", "op": " read", "offset": " 4096 ", "length": "512 "}\n')
    (batch,) = mc.Trace.open(file, cache_dir=tmp_path / "cache").batches()
    assert (batch.time[0], batch.op[0], batch.offset[0], batch.length[0]) == (10**9, 0, 4096, 512)


def test_rows_that_look_like_comments_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "keys.csv"
    file.write_text("# a comment\nkey,time_s\na,1\n#b,2\nc,3\n")
    trace = mc.Trace.open(file, cache_dir=tmp_path / "cache")
    assert (trace.request_count, trace.metadata.rows.filtered) == (2, 1)
    lines = tmp_path / "keys.txt"
    lines.write_text("a\n*b\nc\n")
    trace = mc.Trace.open(lines, format="keys", cache_dir=tmp_path / "cache")
    assert (trace.request_count, trace.metadata.rows.filtered) == (2, 1)


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    file = tmp_path / "vol.csv"
    file.write_text("time_s,op,offset,length\n1,read,0,4096\n2,write,4096,4096\n")
    return file


@pytest.mark.parametrize("kind", ["gz", "parquet", "arrow", "csv", "tsv", "jsonl"])
@pytest.mark.parametrize("vm_name", [None, "x"])
def test_the_same_requests_twice_are_an_error(
    volume: Path, kind: str, vm_name: str | None, tmp_path: Path
) -> None:
    other = tmp_path / "other" / f"vol.{kind}"
    other.parent.mkdir()
    options = {}
    if kind == "gz":
        other = other.with_name("vol.csv.gz")
        other.write_bytes(gzip.compress(volume.read_bytes()))
    elif kind == "tsv":
        other.write_text(volume.read_text().replace(",", "\t"))
        options = {"delimiter": "tab"}
    elif kind == "jsonl":
        rows = [{"time_s": 1, "op": "r", "offset": 0, "length": 4096}]
        rows += [{"time_s": 2, "op": "w", "offset": 4096, "length": 4096}]
        other.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        mc.Trace.open(volume, cache_dir=tmp_path / "cache").save(other)

    stated = "csv" if kind == "tsv" else None
    one = mc.Trace.open(volume, cache_dir=tmp_path / "cache")
    two = mc.Trace.open(other, format=stated, options=options, cache_dir=tmp_path / "cache")
    names = None if vm_name is None else [[vm_name], [vm_name]]
    with pytest.raises(ConfigError, match=f"VM '{vm_name or 'vol'}' would have every request"):
        join([one, two], names)


def test_other_requests_at_the_same_times_are_no_error(volume: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "vol.csv"
    other.parent.mkdir()
    other.write_text(volume.read_text().replace("2,write,4096", "2,write,8192"))
    traces = [mc.Trace.open(file, cache_dir=tmp_path / "cache") for file in (volume, other)]
    assert join(traces).request_count == 4


def test_batches_of_other_sizes_are_compared(tmp_path: Path) -> None:
    count = 10
    times, offsets = np.arange(count), np.arange(count) * 4096
    one = mc.Trace.from_arrays(times, offsets, 4096)
    parts = [mc.Trace.from_arrays(times[a:b], offsets[a:b], 4096) for a, b in ((0, 3), (3, 10))]
    two = join([part.slice() for part in parts])
    assert [len(batch.time) for batch in two.batches()] == [3, 7]
    assert two.request_count == one.request_count
    assert _has_same_requests(one, two)
    assert not _has_same_requests(one, parts[0])


STACKED = """\
  8,1    0        1   0.000000000   700  Q   R 0 + 8 [app]
  8,0    0        2   0.000001000   700  A   R 2048 + 8 <- (8,1) 0
  8,0    0        3   0.000002000   700  Q   R 2048 + 8 [app]
"""


def test_one_io_at_two_devices_gives_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "stacked.txt"
    file.write_text(STACKED)
    trace = mc.Trace.open(file, cache_dir=tmp_path / "cache")
    (note,) = trace.metadata.notes
    assert note.startswith("A events: device 8,1 on 8,0: one I/O appears at two levels")
    assert note in caplog.text
    for ending in ("arrow", "parquet"):
        again = mc.Trace.open(trace.save(tmp_path / f"again.{ending}"), cache_dir=tmp_path / "c")
        assert again.metadata.notes == (note,)
    # A partition's requests are queued at its disk alone.
    file.write_text("".join(STACKED.splitlines(keepends=True)[1:]))
    assert mc.Trace.open(file, cache_dir=tmp_path / "cache").metadata.notes == ()


def test_two_stars_within_a_word_are_one(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(volume.parent)
    for pattern in ("vo**.csv", "v**l.csv", "**/vol.csv", "***.csv"):
        assert mc.Trace.open(pattern).vms == ("vol",), pattern


def test_watch_takes_paths_that_are_not_utf8(tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv"))
    file.write_text("time_s,offset,length\n" + "".join(f"{k},0,4096\n" for k in range(9)))
    assert code_of("watch", file, "--sizes", "1") == 0
    file.write_text("time_s,offset,length\nx,0,4096\n")
    assert code_of("watch", file, "--sizes", "1", "--format", "csv") == 2


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_names_of_columns_that_are_not_utf8_are_errors(kind: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"time_s": [1, 2], "offset": [0, 4096], "QQQQ": [1, 2]})
    file = tmp_path / f"table.{kind}"
    if kind == "parquet":
        pq.write_table(table, file)
    else:
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    file.write_bytes(file.read_bytes().replace(b"QQQQ", b"\xe9QQQ"))
    for command in ("mrc", "trace info", "trace map"):
        assert code_of(*command.split(), file) == 2
