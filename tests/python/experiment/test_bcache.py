"""System `bcache` against a running kernel, and against its rules in plain Python.

Trusts: hits of Linux 6.1.176, one request in flight; NaiveBcache.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hosts import add_vm, ran, tiered
from kernel_hits import lines_of
from naive_bcache import NaiveBcache

from mcsim import ConfigError
from mcsim._core import engine, locality

SECOND = 1_000_000_000
MS = 1_000_000
BLOCK = 4096


class Run(NamedTuple):
    """A replay of the kernel with requests of 4 KiB: its keys, buckets, and hits of reads."""

    name: str
    keys: str
    buckets: int
    bucket_kib: int
    hits: int


RUNS = [
    Run("b.oltp16", "oltp", 1024, 16, 26_913),
    Run("b.oltp32", "oltp", 520, 32, 26_796),
    Run("b.hplajw-writethrough", "hplajw4k", 1024, 16, 9_257),
]


class Request(NamedTuple):
    """Time since the first request, VM, first block, number of blocks, and whether it writes."""

    time: int
    vm: int
    block: int
    blocks: int = 1
    write: bool = False


def recorded(trace_dir: Path, run: Run) -> list[Request]:
    """Return the requests of a replay, 1,000 a second."""
    words = lines_of(trace_dir, f"{run.keys}.keys")
    each = 3 if run.keys.startswith("hplajw") else 2
    pairs = zip(words[::each], words[1::each], strict=True)
    return [Request(i * MS, 0, int(key), write=op == "W") for i, (key, op) in enumerate(pairs)]


def replayed(
    requests: Sequence[Request],
    buckets: int,
    bucket_kib: int,
    interval: int = 10_000 * SECOND,
    **params: Any,
) -> engine.RunResult:
    """Count every request apart."""
    builder = engine.AccessBuilder(ops="all", addresses=True, bytes=True)
    times, vms, blocks, counts, writes = (np.array(each) for each in zip(*requests, strict=True))
    for vm in range(max(vms) + 1):
        own = vms == vm
        add_vm(builder, f"vm {vm}", times[own], writes[own], blocks[own], counts[own])
    accesses = builder.finish()
    on = tiered(buckets * bucket_kib // 4, read_ns=1e5)
    params = {"sequential_cutoff": 0, "bucket_kib": bucket_kib, **params}
    system = engine.System("bcache", params, on, interval=interval)
    measured = locality.characterise(accesses, system.meters)
    return engine.run(accesses, system, measured, np.arange(len(times) + 1))


def hits_of(result: engine.RunResult) -> list[bool]:
    hits: list[bool] = (result.vms["request_hits"].sum(axis=1) > 0).tolist()
    return hits


def twin_hits(requests: Sequence[Request], twin: NaiveBcache) -> list[bool]:
    return [twin.request(r.time, 8 * r.block, r.write, 8 * r.blocks, r.vm) for r in requests]


@pytest.mark.parametrize("run", RUNS, ids=[run.name for run in RUNS])
def test_reads_hit_within_a_percent_of_the_kernel(trace_dir: Path, run: Run) -> None:
    """And as in the twin."""
    marks = lines_of(trace_dir, f"{run.name}.hits")[0]
    requests = recorded(trace_dir, run)
    hits = hits_of(replayed(requests, run.buckets, run.bucket_kib))
    reads = [i for i, request in enumerate(requests) if not request.write]
    assert sum(marks[i] == "1" for i in reads) == run.hits
    assert sum(hits[i] for i in reads) == pytest.approx(run.hits, rel=0.01)
    assert sum(hits[i] == (marks[i] == "1") for i in reads) > 0.975 * len(reads)
    twin = NaiveBcache(run.buckets, 2 * run.bucket_kib)
    assert twin_hits(requests[:8_000], twin) == hits[:8_000]


def test_a_loop_larger_than_the_cache_never_hits() -> None:
    loop = [Request(i * MS, 0, i % 5_000) for i in range(40_000)]
    assert not any(hits_of(replayed(loop, 1024, 16)))


def drawn(seed: int, vms: int, span: int, count: int) -> list[Request]:
    """Draw skewed requests, streams and pauses; a VM never exceeds `span` blocks."""
    draw = np.random.default_rng(seed)
    gaps = draw.choice([0.0005, 0.02, 1.0, 40.0], count, p=[0.8, 0.18, 0.0195, 0.0005])
    times = (np.cumsum(gaps * draw.random(count)) * SECOND).astype(np.int64) + np.arange(count)
    times -= times[0]
    requests: list[Request] = []
    next_of = [0] * vms
    for time in times.tolist():
        vm = int(vms * draw.random() ** 2)
        blocks = int(draw.choice([1, 1, 1, 2, 7, 40]))
        start = next_of[vm] if draw.random() < 0.3 else int(span * draw.random() ** 2)
        start = min(start, span - blocks)
        next_of[vm] = start + blocks
        requests.append(Request(time, vm, start, blocks, draw.random() < 0.4))
    return requests


@pytest.mark.parametrize("seed", range(12))
def test_drawn_requests_hit_as_in_the_twin(seed: int) -> None:
    writes = ("back", "through", "back", "around")[seed % 4]
    buckets = (513, 700, 1100)[seed % 3]
    bucket_kib = (4, 16, 4, 8, 4)[seed % 5]
    vms = (140, 3, 1)[seed // 4]
    params: dict[str, Any] = {
        "sequential_cutoff": (0, 100_000, 1_000_000)[(seed + seed // 4) % 3],
        "writeback_percent": (10, 40, 0)[(seed // 2) % 3],
        "sync": seed % 5 > 0,
        "writeback_delay": (2, 30)[seed // 2 % 2] * SECOND,
    }
    requests = drawn(seed, vms, max(60, buckets * bucket_kib // 2 // vms), 800 + 80 * bucket_kib)
    twin = NaiveBcache(
        buckets, 2 * bucket_kib, mode=f"write{writes}", cutoff=params["sequential_cutoff"],
        percent=params["writeback_percent"], sync=params["sync"], delay=params["writeback_delay"],
    )  # fmt: skip
    expected = twin_hits(requests, twin)
    result = replayed(requests, buckets, bucket_kib, writes=writes, **params)
    assert hits_of(result) == expected
    tiers, of = result.tiers, result.vms
    assert tiers["fills"].sum() + tiers["updates"].sum() == twin.counts["written"]
    assert tiers["evictions"].sum() == twin.counts["evicted"]
    assert tiers["occupancy"][-1].sum() == len(twin.index)
    assert of["write_backs"].sum() == twin.cleaner.written
    assert of["dirty"][-1].sum() == len(twin.dirty)
    assert twin.counts["collections"] > 5
    assert writes != "back" or twin.cleaner.written > 0


def shares_of(twin: NaiveBcache) -> str:
    """Return what the note of a decision has."""
    capacity = len(twin.buckets) * twin.size // 8
    garbage = sum(bucket.filled - len(bucket.live) for bucket in twin.buckets)
    metadata = sum(bucket.mark == "metadata" for bucket in twin.buckets) / len(twin.buckets)
    priorities = twin.counts["priority writes"] * twin.size // 8
    return (
        f"the device has {100 * len(twin.index) / capacity:.2f} % data, "
        f"{100 * garbage / capacity:.2f} % garbage and {100 * metadata:.2f} % metadata; "
        f"{100 * priorities / (priorities + twin.counts['written']):.2f} % of the blocks written "
        "so far are priorities"
    )


def test_notes_have_garbage_and_metadata() -> None:
    requests = drawn(1, 2, 2_000, 2_000)
    result = replayed(requests, 600, 16, interval=requests[-1].time - 1)
    assert len(result.decisions) == 1
    twin = NaiveBcache(600, 32)
    twin_hits([r for r in requests if r.time < requests[-1].time - 1], twin)
    assert result.decisions[0]["note"] == shares_of(twin)


def test_four_mib_of_a_stream_are_cached_and_the_mean_bypasses_for_some_time() -> None:
    """Trusts: 1,023 misses were inserted of 4,096; 0, 6 and 16 random reads bypassed after it."""
    for mib, bypassed in ((16, 0), (64, 6), (256, 16)):
        stream = [Request(i * MS, 0, i) for i in range(mib * 256)]
        far = [Request((len(stream) + i) * MS, 0, 1_000_000 + 2 * i) for i in range(30)]
        result = replayed(stream + far, 1024, 16, sequential_cutoff=4 << 20)
        inserted = result.tiers["fills"][:, 0, 0]
        assert inserted[: len(stream)].sum() == 1_023
        assert inserted[len(stream) :].tolist() == bypassed * [0] + (30 - bypassed) * [1]


def test_requests_that_are_no_multiple_of_the_cache_block_bypass() -> None:
    builder = engine.AccessBuilder(ops="all", addresses=True, bytes=True)
    builder.begin_vm("vm")
    offsets = np.array([0, 4096, 8192, 512, 0], np.uint64)
    builder.add(
        np.arange(5) * MS, np.zeros(5, np.uint16), np.zeros(5, np.uint8), offsets,
        np.array([4096, 512, 8192, 4096, 512], np.uint32),
    )  # fmt: skip
    accesses = builder.finish()

    def fills(unit: int) -> list[int]:
        system = engine.System(
            "bcache", {"bucket_kib": 16, "cache_block_bytes": unit}, tiered(4_096, read_ns=1e5),
            interval=SECOND,
        )  # fmt: skip
        measured = locality.characterise(accesses, system.meters)
        run = engine.run(accesses, system, measured, np.arange(6))
        return [int(count) for count in run.tiers["fills"][:, 0, 0]]

    assert fills(512) == [1, 1, 2, 0, 0]
    assert fills(4096) == [1, 0, 2, 0, 0]


def test_discards_and_departures_remove_blocks() -> None:
    builder = engine.AccessBuilder(ops="all", addresses=True)
    add_vm(builder, "a", np.arange(6) * MS, [1, 1, 2, 0, 0, 0], [0, 8, 8, 0, 8, 9])
    builder.depart(20 * MS)
    add_vm(builder, "b", [8 * MS, 30 * MS], False, [0, 0])
    params: dict[str, Any] = {"bucket_kib": 16, "writes": "back"}
    system = engine.System("bcache", params, tiered(4_096, read_ns=1e5), interval=10 * MS)
    result = ran(builder.finish(), system, 10 * MS)
    of, occupancy = result.vms, result.tiers["occupancy"][:, :, 0]
    assert of["request_hits"].sum(axis=0).tolist() == [1, 1]
    assert of["discarded_dirty"].sum(axis=0).tolist() == [1, 0]
    assert occupancy[0].tolist() == [3, 1]
    assert occupancy[-1].tolist() == [0, 1]
    assert of["dirty"][-1].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"bucket_kib": 48}, "bcache: bucket_kib: must be a power of two, got 48"),
        ({"bucket_kib": 2}, "bcache: bucket_kib: 2 is outside [4, 16384]"),
        ({"bucket_kib": 32768}, "bcache: bucket_kib: 32768 is outside [4, 16384]"),
        ({"cache_block_bytes": 8192}, "bcache: cache_block_bytes: 8192 is outside [512, 4096]"),
        (
            {"cache_block_bytes": 1000},
            "bcache: cache_block_bytes: must be a power of two, got 1000",
        ),
        ({"policy": "fifo"}, "bcache: unknown parameter 'policy'"),
        (
            {"bucket_kib": 16},
            "tiers: 2048 blocks are 512 buckets of 16 KiB: bcache refuses less than 513, which "
            "have no space for metadata",
        ),
    ],
)
def test_what_the_kernel_refuses(params: dict[str, Any], message: str) -> None:
    builder = engine.AccessBuilder(ops="all", addresses=True)
    add_vm(builder, "vm", np.arange(3) * MS, False, [0, 1, 2])
    accesses = builder.finish()
    with pytest.raises((ConfigError, ValueError)) as refused:
        ran(accesses, engine.System("bcache", params, tiered(2_048, read_ns=1e5)), SECOND)
    assert str(refused.value).startswith(message)


def test_untimed_traces_need_a_rate_unless_no_rule_needs_times() -> None:
    builder = engine.AccessBuilder(ops="all", addresses=True, time_base="index")
    add_vm(builder, "vm", np.arange(4), False, [0, 8, 0, 8])
    accesses = builder.finish()

    def hits(**params: Any) -> int:
        on = tiered(4_096, read_ns=1e5)
        params = {"bucket_kib": 16, **params}
        return int(ran(accesses, engine.System("bcache", params, on), 4).tiers["hits"].sum())

    assert hits(rate=100.0) == hits(sequential_cutoff=0) == 2
    message = "rate: the trace has no times, which streams and write-back need"
    for params in ({}, {"sequential_cutoff": 0, "writes": "back"}):
        with pytest.raises((ConfigError, ValueError), match=message):
            hits(**params)


def test_times_that_run_backwards_are_refused() -> None:
    with pytest.raises((ConfigError, ValueError), match="request 1 is 5 ns earlier"):
        replayed([Request(10, 0, 1), Request(5, 0, 2)], 1024, 16)
