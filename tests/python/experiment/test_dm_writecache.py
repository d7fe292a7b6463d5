"""System `dm-writecache` against counts of a kernel, and against its rules in plain Python.

Trusts: counts of Linux 6.1.176, one request in flight; NaiveWritecache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hosts import add_vm, ran, tiered
from naive_writecache import NaiveWritecache
from writecache_runs import KINDS, RUNS, SECOND, Request, Run

from mcsim import ConfigError
from mcsim._core import engine, locality

MS = 1_000_000


def replayed(requests: Sequence[Request], blocks: int, **params: Any) -> engine.RunResult:
    """Count every request separately, for a device with this number of blocks."""
    builder = engine.AccessBuilder(ops="all", addresses=True)
    times, numbers, writes, lengths = (np.array(each) for each in zip(*requests, strict=True))
    add_vm(builder, "vm", times, writes, numbers, lengths)
    accesses = builder.finish()
    system = engine.System("dm-writecache", params, tiered(blocks, read_ns=1e5))
    measured = locality.characterise(accesses, system.meters)
    return engine.run(accesses, system, measured, np.arange(len(times) + 1))


def block_hits(result: engine.RunResult) -> list[int]:
    hits: list[int] = result.tiers["hits"].sum(axis=(1, 2)).tolist()
    return hits


def twin_hits(requests: Sequence[Request], twin: NaiveWritecache, first: int) -> list[int]:
    return [sum(twin.request(first + at, block, *of)) for at, block, *of in requests]


@pytest.mark.parametrize("run", RUNS, ids=[run.name for run in RUNS])
def test_all_counts_are_the_kernels(run: Run) -> None:
    """Those of the twin, and those that the system has."""
    requests = run.requests()
    blocks = {2: 509, 4: 1020, 8: 2040}[run.mib]
    twin = NaiveWritecache(blocks, **run.twin())
    hits = twin_hits(requests, twin, run.first)
    result = replayed(requests, 256 * run.mib, **run.system())
    assert block_hits(result) == hits
    twin.run_until((run.first + requests[-1][0] + 50 * MS) * 100 // SECOND)
    counts = twin.counts
    counts["free"] = len(twin.free)
    assert tuple(counts[kind] for kind in KINDS) == run.counts
    writes = np.array([request[2] for request in requests])
    assert sum(np.array(hits)[~writes]) == counts["read hits"]
    assert result.tiers["fills"].sum() == counts["inserted"]


def drawn(seed: int, span: int, count: int) -> list[Request]:
    """Draw skewed requests with pauses."""
    draw = np.random.default_rng(seed)
    gaps = draw.choice([0.0005, 0.02, 1.0, 40.0], count, p=[0.8, 0.18, 0.0195, 0.0005])
    times = (np.cumsum(gaps * draw.random(count)) * SECOND).astype(np.int64)
    blocks = (span * draw.random(count) ** 2).astype(int)
    lengths = draw.choice([1, 1, 1, 2, 5, 30], count)
    return [
        (int(time - times[0]), int(block), bool(write), int(length))
        for time, block, write, length in zip(
            times, blocks, draw.random(count) < 0.7, lengths, strict=True
        )
    ]


@pytest.mark.parametrize("seed", range(12))
def test_drawn_requests_hit_as_in_the_twin(seed: int) -> None:
    high, low = ((50, 45), (90, 10), (100, 100), (0, 0))[seed % 4]
    params = {
        "autocommit_blocks": (65_536, 40)[seed % 2],
        "autocommit_time": (1, 3)[seed % 3 == 0] * SECOND,
        "max_age": (0, 20 * SECOND, 700 * MS)[seed // 4],
        "hz": (100, 250, 1000)[seed % 3],
    }
    times = {"created": 1_005 * MS, "phase": 998 * MS}
    blocks = (30, 130, 400)[seed // 4]
    entries = (blocks * 4096 - 4096) // 4096 - (blocks > 250)
    requests = drawn(seed, 4 * blocks, 2_000)
    twin = NaiveWritecache(
        entries, high=high, low=low, pause=3 * SECOND, created=times["created"], **params
    )
    expected = twin_hits(requests, twin, 2_003 * MS)
    result = replayed(
        requests, blocks, high_watermark=high, low_watermark=low,
        pause_writeback=3 * SECOND, **params, **times,
    )  # fmt: skip
    assert block_hits(result) == expected
    tiers, of = result.tiers, result.vms
    assert tiers["fills"].sum() == twin.counts["inserted"]
    assert tiers["evictions"].sum() == of["write_backs"].sum() == twin.counts["written back"]
    assert tiers["invalidations"].sum() == twin.counts["replaced"]
    assert tiers["occupancy"][-1].sum() == len(twin.order)
    assert of["dirty"][-1].sum() == len(twin.copies)
    around = of["backend_writes"].sum() - of["write_backs"].sum()
    assert around == twin.counts["writes around"]
    assert twin.counts["replaced"] > 0 or high != 50
    assert twin.counts["written back"] > 0 or high == 100


def test_reads_insert_nothing_and_written_blocks_leave() -> None:
    reads = [(i * MS, i % 10, False, 1) for i in range(100)]
    assert replayed(reads, 64).tiers["occupancy"].sum() == 0
    writes = [(i * MS, 7 * i, True, 1) for i in range(64)]
    occupancy = replayed(writes, 64).tiers["occupancy"][:, 0, 0]
    # Of 63 blocks, 32 are free when write-back starts, and 36 when it ends.
    assert occupancy.tolist()[29:34] == [30, 27, 28, 29, 30]


def test_discards_and_departures_remove_blocks() -> None:
    builder = engine.AccessBuilder(ops="all", addresses=True)
    add_vm(builder, "a", np.arange(6) * MS, [1, 1, 2, 0, 0, 0], [0, 8, 8, 0, 8, 9])
    builder.depart(20 * MS)
    add_vm(builder, "b", [8 * MS, 30 * MS], True, [0, 0])
    system = engine.System("dm-writecache", {}, tiered(64, read_ns=1e5), interval=10 * MS)
    result = ran(builder.finish(), system, 10 * MS)
    of, occupancy = result.vms, result.tiers["occupancy"][:, :, 0]
    assert of["request_hits"].sum(axis=0).tolist() == [1, 1]
    assert of["discarded_dirty"].sum(axis=0).tolist() == [1, 0]
    assert of["write_backs"].sum(axis=0).tolist() == [1, 0]
    assert occupancy[0].tolist() == [1, 1]
    assert occupancy[-1].tolist() == [0, 1]


def test_what_the_kernel_refuses() -> None:
    def refused(message: str, blocks: int = 64, time_base: Any = "clock", **params: Any) -> None:
        block_bytes = params.pop("block_bytes", 4096)
        builder = engine.AccessBuilder(
            block_bytes=block_bytes, ops="all", addresses=True, time_base=time_base
        )
        add_vm(builder, "vm", np.arange(3) * MS, True, [0, 1, 2])
        accesses, on = builder.finish(), tiered(blocks, read_ns=1e5)
        with pytest.raises((ConfigError, ValueError), match=message):
            ran(accesses, engine.System("dm-writecache", params, on), SECOND)

    refused("block_bytes: dm-writecache has blocks of 512.* 4096 B, got 8192 B", block_bytes=8192)
    refused("tiers: 1 blocks have no space for metadata and a block", blocks=1)
    refused("rate: the trace has no times, which commits need", time_base="index")
    refused("low_watermark: must not exceed high_watermark, 40, got 45", high_watermark=40)
    refused("high_watermark: 101 is outside", high_watermark=101)
