"""System `zfs-arc` against counts of the source of OpenZFS, and against its rules in plain Python.

Trusts: counts of arc.c in user space, one read in flight; NaiveZfsArc.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hosts import add_vm, ran, tiered
from naive_zfs_arc import PLACES, NaiveZfsArc
from zfs_arc_runs import METADATA, MS, RUNS, Run

from mcsim import ConfigError
from mcsim._core import engine, locality

BLOCK = 4096


def replayed(
    requests: Sequence[tuple[int, int, bool, int]], blocks: int, **params: Any
) -> engine.RunResult:
    """Count every request separately: time, first block, whether it writes, blocks."""
    line = params.get("record_kib", 128) * 1024 // BLOCK
    builder = engine.AccessBuilder(ops="all", addresses=True, line_blocks=line)
    times, numbers, writes, lengths = (np.array(each) for each in zip(*requests, strict=True))
    add_vm(builder, "vm", times, writes, numbers, lengths)
    view = engine.System("zfs-arc", params, tiered(blocks, read_ns=1e5))
    accesses = builder.finish()
    measured = locality.characterise(accesses, view.meters)
    return engine.run(accesses, view, measured, np.arange(len(times) + 1))


def request_hits(result: engine.RunResult) -> list[bool]:
    hits: list[bool] = result.vms["request_hits"].sum(axis=1).astype(bool).tolist()
    return hits


@pytest.mark.parametrize("run", RUNS, ids=[run.name for run in RUNS])
def test_each_read_is_as_in_the_source(run: Run) -> None:
    """The place of each record in the twin, and the hits of the system."""
    twin = NaiveZfsArc(
        run.mib << 20, run.record, overflow=run.overflow, metadata=METADATA, other=run.other,
        buffers=False, hz=run.hz,
    )  # fmt: skip
    places = [PLACES.index(twin.read(*read)) for read in run.reads()]
    found = Counter(places)
    digest = hashlib.sha256(bytes(places)).hexdigest()[:16]
    assert (*(found[place] for place in range(1, 5)), twin.share, digest) == run.counts
    blocks = run.record // BLOCK
    result = replayed(
        [(time, record * blocks, False, blocks) for time, record in run.reads()],
        ((run.mib << 20) + run.overflow) // BLOCK, record_kib=run.record // 1024,
        overflow_kib=run.overflow // 1024, metadata_bytes=METADATA, other_bytes=run.other,
        buffers=False, hz=run.hz,
    )  # fmt: skip
    assert request_hits(result) == [place in (1, 2) for place in places]


def drawn(seed: int, records: int, count: int, record_blocks: int) -> list[Any]:
    """Draw skewed requests within records, in bursts and with pauses."""
    draw = np.random.default_rng(seed)
    gaps = draw.choice([0.001, 0.03, 0.2, 5.0], count, p=[0.6, 0.3, 0.09, 0.01])
    times = (np.cumsum(gaps * draw.random(count)) * 1e9).astype(np.int64)
    hot = (records * draw.random(count) ** 2).astype(np.int64)
    loop = np.arange(count) % (records // 2)
    chosen = np.where(np.arange(count) // 300 % 3 == 1, loop, hot)
    begins = draw.integers(0, record_blocks, count)
    lengths = np.minimum(draw.choice([1, 1, record_blocks], count), record_blocks - begins)
    writes = draw.random(count) < (0, 0.2)[seed % 2]
    firsts = chosen * record_blocks + begins
    return list(
        zip(times.tolist(), firsts.tolist(), writes.tolist(), lengths.tolist(), strict=True)
    )


@pytest.mark.parametrize("seed", range(12))
def test_drawn_requests_hit_as_in_the_twin(seed: int) -> None:
    record_blocks = (1, 4, 2)[seed % 3]
    blocks = (400, 900)[seed % 2] * record_blocks
    params = {
        "overflow": (64, 256)[seed // 2 % 2] << 10,
        "metadata": (0, 100_000)[seed // 3 % 2],
        "other": (0, 20_000)[seed // 4 % 2],
        "buffers": seed % 4 > 0,
        "hz": (100, 250, 1000)[seed % 3],
    }
    requests = drawn(seed, blocks // record_blocks * 3, 3_000, record_blocks)
    twin = NaiveZfsArc(blocks * BLOCK, record_blocks * BLOCK, **params)
    expected = []
    for time, block, is_write, length in requests:
        of = time - requests[0][0], block // record_blocks
        if is_write:
            expected.append(twin.write(*of, whole=length == record_blocks))
        else:
            expected.append(twin.read(*of) in ("mru", "mfu"))
    result = replayed(
        requests, blocks + params["overflow"] // BLOCK, record_kib=4 * record_blocks,
        overflow_kib=params["overflow"] >> 10,
        metadata_bytes=params["metadata"], other_bytes=params["other"],
        buffers=params["buffers"], hz=params["hz"],
    )  # fmt: skip
    assert request_hits(result) == expected
    held = sum(twin.holds(record) for record in twin.place)
    assert result.tiers["occupancy"][-1].sum() == held * record_blocks
    assert result.tiers["evictions"].sum() == twin.counts["evicted"] * record_blocks > 0
    assert result.vms["write_backs"].sum() == record_blocks * sum(of[2] for of in requests)


def test_a_second_hit_within_62_ms_does_not_promote() -> None:
    def place(pause: int) -> str:
        twin = NaiveZfsArc(1 << 20, BLOCK, hz=1000)
        twin.read(0, 7)
        twin.read(pause * MS, 7)
        return twin.read(2 * pause * MS, 7)

    assert (place(31), place(63)) == ("mru", "mfu")


def test_a_departed_vm_leaves_no_records() -> None:
    builder = engine.AccessBuilder(ops="all", addresses=True, line_blocks=2)
    add_vm(builder, "a", np.arange(6) * MS, [0, 0, 1, 1, 0, 0], [0, 1, 0, 4, 4, 9])
    builder.depart(20 * MS)
    add_vm(builder, "b", [8 * MS, 30 * MS], False, [0, 0])
    params = {"record_kib": 8, "overflow_kib": 16}
    system = engine.System("zfs-arc", params, tiered(64, read_ns=1e5), interval=10 * MS)
    result = ran(builder.finish(), system, 10 * MS)
    of, occupancy = result.vms, result.tiers["occupancy"][:, :, 0]
    assert of["request_hits"].sum(axis=0).tolist() == [3, 1]
    # Whole records: two that were read, one that was written in part.
    assert of["backend_reads"].sum(axis=0).tolist() == [6, 2]
    assert of["write_backs"].sum(axis=0).tolist() == [4, 0]
    assert occupancy[0].tolist() == [6, 2]
    assert occupancy[-1].tolist() == [0, 2]


def test_what_is_refused() -> None:
    def refused(message: str, blocks: int = 64, time_base: Any = "clock", **params: Any) -> None:
        builder = engine.AccessBuilder(
            block_bytes=params.pop("block_bytes", BLOCK), ops="all", addresses=True,
            time_base=time_base, line_blocks=2,
        )  # fmt: skip
        add_vm(builder, "vm", np.arange(3) * MS, True, [0, 1, 2])
        accesses, on = builder.finish(), tiered(blocks, read_ns=1e5)
        params = {"record_kib": 8, "overflow_kib": 0} | params
        with pytest.raises((ConfigError, ValueError), match=message):
            ran(accesses, engine.System("zfs-arc", params, on), 10 * MS)

    refused("record_kib: must be a power of two, got 24", record_kib=24)
    refused("record_kib: 4 KiB are not a multiple of .* 8192 B", record_kib=4, block_bytes=8192)
    refused("tiers: 4096 B have no space for .* 0 B of metadata and a record of 8 KiB", blocks=1)
    refused("tiers: 262144 B have no space for .* 260000 B of metadata", metadata_bytes=260_000)
    refused("tiers: 262144 B have no space for overflow_kib of 16384", overflow_kib=16_384)
    refused("rate: the trace has no times, on which promotions depend", time_base="index")
