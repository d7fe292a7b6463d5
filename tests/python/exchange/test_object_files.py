"""Trusts: libCacheSim's readers and caches, and records worked out one by one.

Traces written as oracleGeneral and lcs.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcsim as mc
from mcsim import Trace
from mcsim.base.errors import ConfigError
from mcsim.exchange.written import ASPECTS, FORMATS

NEVER = 2**63 - 1
KINDS = {"oracleGeneral": "ORACLE_GENERAL_TRACE", "lcs": "LCS_TRACE"}
LAYOUTS = {"oracleGeneral": "<IQIq", "lcs": "<IQIIq"}


@pytest.fixture(scope="module")
def library() -> Any:
    return pytest.importorskip("libcachesim", reason="the libcachesim wheel is absent")


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return the warnings about a written file, without its name."""
    caplog.set_level(logging.WARNING, "mcsim")

    def taken() -> list[str]:
        found = [record.getMessage().partition(": ")[2] for record in caplog.records]
        caplog.clear()
        return found

    return taken


def records_in(path: Path) -> list[tuple[int, ...]]:
    layout = LAYOUTS["lcs" if "lcs" in path.suffixes or path.suffix == ".lcs" else "oracleGeneral"]
    head = 8192 if layout == LAYOUTS["lcs"] else 0
    return list(struct.iter_unpack(layout, path.read_bytes()[head:]))


def random_trace(vms: int = 1, *, discards: float = 0) -> Trace:
    rng = np.random.default_rng(7)
    n = 3_000
    return Trace.from_arrays(
        np.sort(rng.integers(10**18, 10**18 + 10**14, n)),
        (rng.zipf(1.2, n) % 2_000) * 4096 + rng.integers(0, 8, n) * 512,
        rng.integers(0, 8, n) * 2048,
        vm=rng.integers(0, vms, n),
        op=rng.choice(3, n, p=[0.7, 0.3 - discards, discards]),
        vms=[f"vm{i}" for i in range(vms)],
    )


def naive_records(trace: Trace, block_bytes: int) -> list[tuple[int, tuple[int, int], int, int]]:
    """Time, VM and block, operation and number of the next access of each record."""
    rows = []
    for batch in trace.batches():
        for time, vm, op, offset, length in zip(*(c.tolist() for c in batch[:5]), strict=True):
            if op == 2 or length == 0:
                continue
            for block in range(offset // block_bytes, (offset + length - 1) // block_bytes + 1):
                rows.append((time // 10**9, (vm, block), op))
    later: dict[tuple[int, int], int] = {}
    records = []
    for number in range(len(rows), 0, -1):
        time, key, op = rows[number - 1]
        records.append((time, key, op, later.get(key, NEVER)))
        later[key] = number
    return records[::-1]


@pytest.mark.parametrize("vms", [1, 3])
@pytest.mark.parametrize("ending", ["oracleGeneral", "lcs"])
def test_libcachesim_reads_the_records(library: Any, ending: str, vms: int, tmp_path: Path) -> None:
    trace = random_trace(vms, discards=0.1)
    for name in (f"t.{ending}", f"t.{ending}.zst"):
        path = trace.save(tmp_path / name, block_bytes="8KiB")
        reader = library.TraceReader(str(path), getattr(library.TraceType, KINDS[ending]), None)
        found = [(r.clock_time, r.obj_id, r.obj_size, r.next_access_vtime, r.op) for r in reader]
        expected = naive_records(trace, 8192)
        assert len(found) == len(expected)
        keys: dict[int, tuple[int, int]] = {}
        for (time, id_, size, next_, op), (seconds, key, number, later) in zip(
            found, expected, strict=True
        ):
            assert (time, size, next_) == (seconds, 8192, later)
            assert keys.setdefault(id_, key) == key
            if vms == 1:
                assert id_ == key[1]
            if ending == "lcs":
                assert op == (library.ReqOp.OP_READ, library.ReqOp.OP_WRITE)[number]
        assert len(set(keys.values())) == len(keys)


@pytest.mark.parametrize("ending", ["oracleGeneral", "oracleGeneral.bin", "lcs"])
def test_misses_and_curves_are_the_same(library: Any, ending: str, tmp_path: Path) -> None:
    trace = random_trace(2)
    path = trace.save(tmp_path / f"t.{ending}")
    blocks = trace.blocks("all")
    again = Trace.open(path)
    kind = getattr(library.TraceType, KINDS[ending.partition(".")[0]])
    for capacity in (50, 500):
        found = mc.simulate(blocks, ["lru", "fifo"], [capacity])
        for row, name in zip(found, ("LRU", "FIFO"), strict=True):
            reader = library.TraceReader(str(path), kind, None)
            ratio, _ = getattr(library, name)(capacity * 4096).process_trace(reader)
            assert round(ratio * row.accesses) == row.misses, name
    ours = mc.hit_ratio_curve(blocks)
    theirs = mc.hit_ratio_curve(again.blocks("all"))
    assert [ours.at(size) for size in range(1, 2_000, 50)] == [
        theirs.at(size) for size in range(1, 2_000, 50)
    ]


def test_real_traces_come_back(trace_dir: Path, tmp_path: Path) -> None:
    for file in ("msr/rsrch_1.csv.zst", "arc/OLTP.lis.zst", "lirs/2_pools.txt.zst"):
        trace = Trace.open(trace_dir / file, cache_dir=tmp_path / "cache")
        path = trace.save(tmp_path / "t.oracleGeneral")
        again = Trace.open(path, format="oracle-general", cache_dir=tmp_path / "cache")
        assert np.array_equal(again.blocks("all").ids, trace.blocks("all").ids)


def test_the_header_of_lcs(tmp_path: Path) -> None:
    trace = Trace.from_arrays(
        [10**9, 2 * 10**9, 5 * 10**9, 5 * 10**9, 9 * 10**9],
        [7, 8, 7, 7, 9],
        [100, 200, 300, 100, 200],
        op=[0, 1, 1, 0, 0],
        vm=[0, 1, 0, 0, 1],
        vms=["a", "b"],
        kind="objects",
    )
    head = trace.save(tmp_path / "t.lcs").read_bytes()[:8192]
    assert struct.unpack_from("<14q", head, 8) == (
        2,
        1,
        5,
        3,
        900,
        500,
        1,
        9,
        3,
        2,
        0,
        100,
        200,
        200,
    )
    assert struct.unpack_from("<2q", head, 14 * 8 + 8) == (100, 0)
    magic = 0x123456789ABCDEF0
    assert struct.unpack_from("<Q", head)[0] == struct.unpack_from("<Q", head, 8184)[0] == magic
    at = 8 * 2 + 12 * 8 + 16 * 8 + 16 * 4  # most popular objects
    assert struct.unpack_from("<3q", head, at) == (3, 1, 0)
    assert struct.unpack_from("<3i", head, at + 128) == (1, 3, 0)
    assert struct.unpack_from("<2f", head, at + 192) == pytest.approx((2 / 3, 1 / 3))
    x, y = np.log([1, 2, 3]), np.log([3, 1, 1])
    assert struct.unpack_from("<d", head, at + 256)[0] == pytest.approx(-np.polyfit(x, y, 1)[0])
    assert struct.unpack_from("<3i", head, at + 264) == (2, 0, 1)


def test_losses_are_named(tmp_path: Path, logged: Callable[[], list[str]]) -> None:
    everything = Trace.from_arrays(
        [0, 1, 10**9], [0, 0, 0], [4096] * 3, op=[0, 1, 2], vm=[0, 1, 0], vms=["a", "b"],
        response=[5, -1, -1], classes=[1, 2, 3],
    )  # fmt: skip
    everything.save(tmp_path / "t.oracleGeneral")
    lacks = next(of.lacks for of in FORMATS if of.name == "oracle-general")
    expected = {"offsets", "operations", "vms", "fractions", "responses", "discards", "classes"}
    assert logged() == [f"oracle-general: {lacks[name]}" for name in lacks if name in expected]
    everything.save(tmp_path / "t.lcs")
    assert not any("reads" in line for line in logged())
    everything.save(tmp_path / "t.arrow")
    Trace.from_arrays([0], [5], [10], kind="objects").save(tmp_path / "t.lcs")
    assert logged() == []
    for of in FORMATS:
        assert set(of.lacks) <= set(ASPECTS)


def test_text_keys_and_objects_of_unknown_size(
    tmp_path: Path, logged: Callable[[], list[str]]
) -> None:
    (tmp_path / "keys.txt").write_text("b\na\nb\nc\n")
    trace = Trace.open(tmp_path / "keys.txt", format="keys", cache_dir=tmp_path / "cache")
    path = trace.save(tmp_path / "t.oracleGeneral")
    assert records_in(path) == [(0, 0, 1, 3), (0, 1, 1, -1), (0, 0, 1, -1), (0, 2, 1, -1)]
    assert [line.partition(": ")[2].split()[0] for line in logged()] == ["the", "text", "unknown"]


def test_keys_of_several_vms_do_not_collide(
    tmp_path: Path, logged: Callable[[], list[str]]
) -> None:
    most = 2**64 - 1
    trace = Trace.from_arrays(
        range(5), np.array([most, 1, most, 1, most], np.uint64), 1, vm=[2, 0, 0, 0, 2],
        vms=["a", "b", "c"], kind="objects",
    )  # fmt: skip
    path = trace.save(tmp_path / "t.oracleGeneral")
    assert [record[1] for record in records_in(path)] == [0, 1, 2, 1, 0]
    assert any("VM and key exceed 64 bits" in line for line in logged())


def test_times_that_do_not_fit(tmp_path: Path, logged: Callable[[], list[str]]) -> None:
    for first in (-1, 2**32 - 1):
        trace = Trace.from_arrays([first * 10**9, (first + 2) * 10**9], [0, 1], 1, kind="objects")
        path = trace.save(tmp_path / "t.oracleGeneral")
        assert [record[0] for record in records_in(path)] == [0, 2]
        assert logged() == [
            f"oracle-general: times are shifted by {-first:,} s, so that the first request is at 0"
        ]
    trace = Trace.from_arrays([0, 2**32 * 10**9], [0, 1], 1, kind="objects")
    with pytest.raises(ConfigError, match=r"a span of 4,294,967,296 s exceeds 32 bits"):
        trace.save(tmp_path / "long.lcs")
    assert not (tmp_path / "long.lcs").exists()


def test_an_empty_trace(tmp_path: Path) -> None:
    empty = Trace.from_arrays([], [], [])
    assert empty.save(tmp_path / "t.oracleGeneral").read_bytes() == b""
    assert len(empty.save(tmp_path / "t.lcs").read_bytes()) == 8192


@pytest.mark.parametrize(
    ("name", "format", "message"),
    [
        ("t.oracleGeneral.gz", None, "expected a name that ends in"),
        ("t.bin", None, "expected a name that ends in"),
        ("t.bin", "oracle", "format: .*oracle-general"),
        ("t.lcs.gz", "lcs", "lcs is not compressed as .gz"),
    ],
)
def test_unknown_formats(name: str, format: str | None, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        random_trace().save(tmp_path / name, format=format)
    assert list(tmp_path.iterdir()) == []
