"""Files from the field with answers known by hand: small ones made here, and those of ../shared."""

from __future__ import annotations

import logging
import struct
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import mcsim as mc
from mcsim.base.errors import TraceError

SHARED = Path(__file__).parents[4] / "shared" / "cases2"

_JSONL = {
    "time": "header.timestamp",
    "time_unit": "ns",
    "op": "io.operation",
    "offset": "io.lba",
    "offset_unit": "sectors",
    "length": "io.len",
    "length_unit": "sectors",
}


class Case(NamedTuple):
    """Requests, accesses, distinct blocks and hits of an unlimited cache; discards and flushes."""

    answer: tuple[int, int, int, int]
    format: str
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed
    filtered: int = 0
    flushes: int = 0


CASES = {
    "time_back.oracleGeneral.bin": Case((8, 8, 3, 5), "oracle-general"),
    "vendor_command.vscsi": Case((2, 2, 1, 1), "vscsi", filtered=1),
    "qwen.jsonl": Case((11, 11, 7, 4), "mooncake"),
    "trim_disk.csv": Case((2, 2, 1, 0), "csv"),
    "issue_only.blkparse.txt": Case((2, 2, 1, 1), "blkparse", {"event": "D"}),
    "flushes.blkparse.txt": Case((2, 2, 1, 1), "blkparse", flushes=3),
    "iotrace.jsonl": Case((4, 4, 2, 1), "iotrace", flushes=1),
    "idle_cpu": Case((3, 3, 2, 1), "blktrace", filtered=1),
}


def answer_of(trace: mc.Trace) -> tuple[int, int, int, int]:
    blocks = trace.blocks("all")
    hits = int(mc.hit_ratio_curve(blocks).hits[-1])
    return trace.metadata.counts.requests, len(blocks), blocks.unique, hits


def shared(name: str) -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is missing: no files from the field here")
    return SHARED / name


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_known_by_hand(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    begin = time.process_time()
    trace = mc.Trace.open(shared(name), options=case.options, cache_dir=tmp_path)
    assert answer_of(trace) == case.answer
    assert time.process_time() - begin < 10  # the discard of 16 TiB took 36 s
    assert trace.metadata.format == case.format
    rows = trace.metadata.rows
    assert (rows.filtered, rows.flushes) == (case.filtered, case.flushes)


def test_fields_of_nested_objects_can_be_stated(tmp_path: Path) -> None:
    file = shared("iotrace.jsonl")
    for format in ("jsonl", None):
        trace = mc.Trace.open(file, format=format, options=_JSONL, cache_dir=tmp_path)
        assert answer_of(trace) == (4, 4, 2, 1)
        assert trace.metadata.counts.discards == 1


def test_times_of_qwen_are_seconds(tmp_path: Path) -> None:
    counts = mc.Trace.open(shared("qwen.jsonl"), cache_dir=tmp_path).metadata.counts
    assert counts.last_time - counts.first_time == 61_500_000_000


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        ("sizes_change.iqi.bin", ["standard-iqi"]),
        ("one_size.iii.bin", ["oracle-general", "standard-iii"]),
    ],
)
def test_uncertain_records_need_a_stated_format(
    name: str, formats: list[str], tmp_path: Path
) -> None:
    file = shared(name)
    with pytest.raises(TraceError, match="state the format") as caught:
        mc.Trace.open(file, cache_dir=tmp_path)
    assert all(format in str(caught.value) for format in formats)
    answer = {"standard-iqi": (4, 4, 3, 1), "standard-iii": (12, 12, 3, 9)}[formats[-1]]
    trace = mc.Trace.open(file, format=formats[-1], cache_dir=tmp_path)
    assert answer_of(trace) == answer


def records(times: list[int], ids: list[int]) -> bytes:
    later: dict[int, int] = {}
    nexts = []
    for number in reversed(range(len(ids))):
        nexts.append(later.get(ids[number], -1))
        later[ids[number]] = number + 1
    return b"".join(
        struct.pack("<IQIq", *row)
        for row in zip(times, ids, [512] * len(ids), reversed(nexts), strict=True)
    )


def test_one_time_that_goes_back_is_sorted_with_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "back.bin"
    file.write_bytes(records([1, 2, 3, 4, 2, 5, 6, 7], [5, 6, 7, 5, 6, 7, 5, 6]))
    trace = mc.Trace.open(file, cache_dir=tmp_path)
    assert trace.metadata.format == "oracle-general"
    assert answer_of(trace) == (8, 8, 3, 5)
    assert "1 of 8 requests are earlier than the one before them" in caplog.text


def test_raw_integers_come_with_the_formats_that_failed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "keys.bin"
    file.write_bytes(np.array([5, 7, 5, 9, 7, 5], ">i8").tobytes())
    trace = mc.Trace.open(file, cache_dir=tmp_path)
    assert answer_of(trace) == (6, 6, 3, 3)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("keys.bin: read as integers, keys-u64-be, because no other format fits")
    assert "failed: record" in line


def test_recognised_records_are_in_order_beyond_the_first_bytes(tmp_path: Path) -> None:
    count = 20_000
    rows = [[i // 3, i * 7 % 1000, 512] for i in range(count)]
    rows[15_000][0] = 1
    file = tmp_path / "long.bin"
    file.write_bytes(b"".join(struct.pack("<IQI", *row) for row in rows))
    with pytest.raises(TraceError, match=r"record 15001: time goes back.*state the format"):
        mc.Trace.open(file, cache_dir=tmp_path)
    trace = mc.Trace.open(file, format="standard-iqi", cache_dir=tmp_path)
    assert trace.metadata.signs.backwards == 1


HEADER = "time_s,vm,op,offset,length\n"


@pytest.mark.parametrize("length", [2**44, 2**44 + 1, 2**47, 2**50])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "pandas"])
def test_a_long_discard_costs_what_it_removes(length: int, suffix: str, tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "time_s": [1, 1, 2, 3, 3],
        "vm": ["a", "b", "a", "a", "b"],
        "op": ["write", "write", "discard", "read", "read"],
        "offset": [8192, 8192, 1, 8192, 8192],
        "length": [4096, 4096, length, 4096, 4096],
    }
    begin = time.process_time()
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    file = tmp_path / f"trim.{suffix}"
    if suffix == "csv":
        frame.to_csv(file, index=False)
    elif suffix == "parquet":
        frame.to_parquet(file)
    trace = (
        mc.Trace.from_pandas(frame)
        if suffix == "pandas"
        else mc.Trace.open(file, cache_dir=tmp_path)
    )
    assert answer_of(trace) == (4, 4, 2, 1)  # b keeps its block
    joined = tmp_path / "out.arrow"
    trace.save(joined)
    assert answer_of(mc.Trace.open(joined)) == (4, 4, 2, 1)
    assert time.process_time() - begin < 10


def blktrace_event(at: int, event: int, categories: int, data: bytes = b"") -> bytes:
    fields = (
        0x65617407,
        1,
        at,
        80,
        0 if data else 4096,
        categories << 16 | event,
        7,
        8 << 20,
        0,
        0,
    )
    return struct.pack("<IIQQIIIIIHH", *fields, len(data)) + data


@pytest.mark.parametrize(
    ("name", "empty"),
    [
        ("a.csv", b""),
        ("a.csv", HEADER.encode()),
        ("a.blktrace.1", b""),
        ("a.blktrace.1", blktrace_event(1, 0, 1 << 10, b"fio")),
        ("a.txt", b"version,time,op,size,lbn\n"),
    ],
)
def test_a_file_without_requests_is_left_out(
    name: str, empty: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    full = {
        "a.csv": (HEADER + "1,v,read,0,4096\n2,v,read,0,4096\n").encode(),
        "a.blktrace.1": blktrace_event(1, 1, 17) + blktrace_event(2, 1, 17),
        "a.txt": b"1,5,28,4096,80\n1,6,28,4096,80\n",
    }[name]
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / name).write_bytes(empty)
    cache = tmp_path / "cache"
    with pytest.raises(TraceError):
        mc.Trace.open(folder / name, cache_dir=cache)
    with pytest.raises(TraceError):
        mc.Trace.open(folder, cache_dir=cache)
    (folder / f"b{name[1:]}").write_bytes(full)
    trace = mc.Trace.open(folder, cache_dir=cache)
    assert answer_of(trace) == (2, 2, 1, 1)
    assert f"{name}: there are no requests in it: left out" in caplog.text
    (folder / f"c{name[1:]}").write_bytes(b"\x01nothing that is a trace\x02" * 9)
    with pytest.raises(TraceError, match=r"c.*no known trace format"):
        mc.Trace.open(folder, cache_dir=cache)


@pytest.mark.parametrize(
    ("unit", "times", "doubt"),
    [
        ("ns", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], "12 requests take 1.1e-08 s"),
        ("ms", [1_600_000_000, 1_600_003_600], "1,000 times as long on 2020-09-13"),
        ("us", [1_600_000_000, 1_600_003_600], "a million times as long on 2020-09-13"),
        ("ns", [1_600_000_000, 1_600_003_600], "10^9 times as long on 2020-09-13"),
        ("ms", [8_000_000_000_000, 8_000_000_000_001], "times begin in the year 2223"),
        ("s", [1_600_000_000, 1_600_003_600], None),
        ("s", [0, 1, 1, 2], None),
        ("us", [1_500_000, 20_000_000], None),
    ],
)
def test_times_of_another_unit_are_doubted(
    unit: str, times: list[int], doubt: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "doubt.csv"
    file.write_text(f"time_{unit},offset,length\n" + "".join(f"{t},0,4096\n" for t in times))
    with caplog.at_level(logging.WARNING):
        mc.Trace.open(file, cache_dir=tmp_path)
    assert (doubt in caplog.text) if doubt else not caplog.text


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(HEADER + "1,v,read,0,4096\n" * 1000)
    seen: list[tuple[int, int]] = []
    mc.Trace.open(file, cache_dir=tmp_path, progress=lambda *now: seen.append(now))
    size = file.stat().st_size
    assert {total for _, total in seen} == {size}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (size, size)
