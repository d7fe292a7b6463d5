"""System `dm-cache` against a running kernel, and against its rules in plain Python.

Trusts: hits and status lines of Linux 6.1.176, one request in flight; NaiveSmq.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hosts import add_vm, ran, tiered
from kernel_hits import lines_of
from naive_smq import NaiveSmq

from mcsim import ConfigError
from mcsim._core import engine, locality

SECOND = 1_000_000_000
BLOCK = 32 << 10
KINDS = ("read hits", "read misses", "write hits", "write misses", "demotions", "promotions")

# Creation of the cache and first request, since the boot.
EVEN = (1_005_000_000, 2_003_000_000)
ODD = (2_005_000_000, 3_003_000_000)
HALF = (2_005_000_000, 3_503_000_000)


class Run(NamedTuple):
    """A replay of the kernel: its keys, their rate, and what `dmsetup status` counts (KINDS)."""

    name: str
    keys: str
    rate: float
    start: tuple[int, int]
    counts: tuple[int, ...]
    writes: str = "through"
    params: Mapping[str, Any] = MappingProxyType({})
    bytes: int = 4096


RUNS = [
    Run("h.cs.100", "cs", 100, EVEN, (1987, 4794, 0, 0, 236, 748)),
    Run("h.cs.1000", "cs", 1000, EVEN, (1979, 4802, 0, 0, 0, 512)),
    Run("h.gli.100", "gli", 100, EVEN, (1575, 4440, 0, 0, 0, 512)),
    Run("h3.gli.100", "gli", 100, HALF, (1650, 4365, 0, 0, 30, 541)),
    Run("h.multi1.100", "multi1", 100, ODD, (7721, 8137, 0, 0, 512, 1024)),
    Run("h3.multi1.100", "multi1", 100, HALF, (8045, 7813, 0, 0, 512, 1024)),
    Run("h.zipf.100", "zipf", 100, EVEN, (38371, 21629, 0, 0, 2304, 2816)),
    Run("h3.zipf.100", "zipf", 100, HALF, (38389, 21611, 0, 0, 2310, 2822)),
    Run("h.loop600.100", "loop600", 100, ODD, (24308, 5692, 0, 0, 883, 1395)),
    Run("h3.loop600.100", "loop600", 100, HALF, (24215, 5785, 0, 0, 932, 1443)),
    Run("h.scan8000.100", "scan8000", 100, ODD, (496, 15504, 0, 0, 512, 1024)),
    Run("h.zipfrw-wb", "zipfrw", 50, EVEN, (16877, 9771, 8471, 4881, 3295, 3807), "back"),
    Run("h.zipfrw-wt", "zipfrw", 50, ODD, (16938, 9710, 8552, 4800, 3217, 3728)),
    Run(
        "h.zipfrw-wt-whole", "zipfrw", 100, ODD, (17072, 9576, 8544, 4808, 1536, 2048),
        bytes=BLOCK,
    ),
    Run(
        "h.zipfrw-mig0", "zipfrw", 50, ODD, (16731, 9917, 8434, 4918, 3287, 3799), "back",
        {"migration_threshold": 0},
    ),
    Run("h.zipfrw-slow", "zipfrw", 0.7, ODD, (8437, 4854, 4274, 2435, 586, 1098), "back"),
    Run("h.hplajw-wt-100", "hplajw", 100, ODD, (6911, 6129, 26389, 5090, 1636, 2148)),
]  # fmt: skip

Requests = Sequence[tuple[int, int, bool, int]]
"""Time since the first request, offset in bytes, whether it writes, length in bytes."""


def paced(run: Run, keys: Sequence[tuple[int, bool]]) -> Requests:
    return [
        (round(i * SECOND / run.rate), key * BLOCK, write, run.bytes)
        for i, (key, write) in enumerate(keys)
    ]


def replayed(requests: Requests, blocks: int, **params: Any) -> engine.RunResult:
    """Count every request apart, for a cache of so many cache blocks."""
    size = params.get("block_kib", 32) << 10
    builder = engine.AccessBuilder(ops="all", addresses=True, line_blocks=size // 4096)
    builder.begin_vm("vm")
    times, offsets, writes, lengths = zip(*requests, strict=True)
    vms = np.zeros(len(times), np.uint16)
    builder.add(
        np.array(times, np.int64), vms, np.array(writes, np.uint8),
        np.array(offsets, np.uint64), np.array(lengths, np.uint32),
    )  # fmt: skip
    accesses = builder.finish()
    system = engine.System("dm-cache", params, tiered(blocks * size // 4096, read_ns=1e5))
    measured = locality.characterise(accesses, system.meters)
    return engine.run(accesses, system, measured, np.arange(len(times) + 1))


def twin_of(requests: Requests, twin: NaiveSmq, first: int, size: int = BLOCK) -> list[list[bool]]:
    """Return, for every request, whether each of its cache blocks hits."""
    hits: list[list[bool]] = []
    for time, offset, write, length in requests:
        end = offset + length
        hits.append([])
        for block in range(offset // size, (end - 1) // size + 1):
            whole = offset <= block * size and end >= (block + 1) * size
            hits[-1].append(twin.request(first + time, block, write, whole))
    return hits


def test_every_request_is_the_kernels(trace_dir: Path) -> None:
    """In all replays, of system "dm-cache" and of the twin."""
    for run in RUNS:
        recorded = [mark == "1" for mark in lines_of(trace_dir, f"{run.name}.hits")[0]]
        words = lines_of(trace_dir, f"{run.keys}.keys")
        each = 3 if run.keys == "hplajw" else 2
        keys = [
            (int(key), op == "W") for key, op in zip(words[::each], words[1::each], strict=True)
        ]
        requests = paced(run, keys[: len(recorded)])
        created, first = run.start
        params = {"created": created, "phase": first - created, "origin_gib": 1.0, **run.params}
        result = replayed(requests, 512, writes=run.writes, **params)
        assert (result.vms["request_hits"][:, 0] == recorded).all(), run.name
        moved = [result.tiers[kind].sum() // 8 for kind in ("evictions", "fills")]
        assert tuple(moved) == run.counts[4:]

        mode = f"write{run.writes}"
        twin = NaiveSmq(512, 32_768, created=created, mode=mode, **run.params)
        assert twin_of(requests, twin, first) == [[hit] for hit in recorded], run.name
        assert tuple(twin.counts[kind] for kind in KINDS) == run.counts


@pytest.mark.parametrize(
    ("name", "distinct", "length"), [("loop600", 600, 30_000), ("scan8000", 8_000, 16_000)]
)
def test_loops_hit_as_in_the_kernel(name: str, distinct: int, length: int) -> None:
    for run in RUNS:
        if run.keys != name:
            continue
        requests = paced(run, [(i % distinct, False) for i in range(length)])
        created, first = run.start
        result = replayed(requests, 512, created=created, phase=first - created, origin_gib=1.0)
        assert result.vms["request_hits"].sum() == run.counts[0]
        assert result.tiers["fills"].sum() // 8 == run.counts[5]
        assert result.tiers["evictions"].sum() // 8 == run.counts[4]


def drawn(seed: int, size: int) -> Requests:
    """Draw requests of 4 KiB to 2.5 cache blocks, in bursts and with gaps of up to an hour."""
    draw = np.random.default_rng(seed)
    count = 6_000
    gaps = draw.choice(
        [0.001, 0.02, 0.4, 3, 60, 4_000], count, p=[0.3, 0.3, 0.35, 0.04, 0.0095, 0.0005]
    )
    times = (np.cumsum(gaps * draw.random(count)) * SECOND).astype(np.int64)
    times -= times[0]
    blocks = (300 * draw.random(count) ** 3).astype(int)
    whole = draw.random(count) < 0.3
    lengths = np.where(whole, size, 4096 * draw.integers(1, 5 * size // 8192, count))
    offsets = blocks * size + np.where(whole, 0, 4096 * draw.integers(0, size // 4096, count))
    writes = draw.random(count) < 0.4
    columns = (times.tolist(), offsets.tolist(), writes.tolist(), lengths.tolist())
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_drawn_requests_hit_as_in_the_twin(seed: int) -> None:
    """Trusts: NaiveSmq, which wakes through every gap."""
    draw = np.random.default_rng(100 + seed)
    size = int(draw.choice([32, 64, 96])) << 10
    capacity = int(draw.choice([3, 40, 200, 500]))
    writes = ("back", "through", "back", "passthrough")[seed % 4]
    hz = int(draw.choice([50, 100, 250, 1000]))
    created, phase = (int(each * SECOND) for each in draw.random(2) * 3)
    migration = int(draw.choice([0, 2048]))
    origin = 330
    requests = drawn(seed, size)
    twin = NaiveSmq(
        capacity, origin, created=created, hz=hz, mode=f"write{writes}".replace("writep", "p"),
        block_sectors=size // 512, migration_threshold=migration,
    )  # fmt: skip
    expected = twin_of(requests, twin, created + phase, size)
    result = replayed(
        requests, capacity, block_kib=size >> 10, writes=writes, hz=hz, created=created,
        phase=phase, migration_threshold=migration, origin_gib=origin * size / (1 << 30),
    )  # fmt: skip
    assert result.vms["request_hits"][:, 0].tolist() == [all(hits) for hits in expected]
    per_block = size // 4096
    assert result.tiers["fills"].sum() == twin.counts["promotions"] * per_block
    assert result.tiers["evictions"].sum() == twin.counts["demotions"] * per_block
    assert result.vms["write_backs"].sum() == twin.counts["write-backs"] * per_block
    assert result.vms["dirty"][-1, 0] == twin.dirty.count * per_block
    if writes == "passthrough":
        assert not twin.table


def test_the_cleaner_promotes_nothing() -> None:
    requests = [(i * SECOND // 50, i % 9 * BLOCK, False, 4096) for i in range(900)]
    assert replayed(requests, 512, policy="cleaner").tiers["fills"].sum() == 0
    assert replayed(requests, 512).tiers["fills"].sum() > 0


def test_traffic_counts_whole_blocks() -> None:
    """Trusts: one region is hot after its first second; then two misses are promoted."""
    times = [0, 10, 20, 30]
    requests = [(ms * SECOND // 1000, at, w, 4096) for ms, at, w in zip(
        times, [0, BLOCK, 2 * BLOCK, BLOCK], [False, False, True, True], strict=True
    )]  # fmt: skip
    result = replayed(requests, 512, writes="back", origin_gib=1.0)
    assert result.vms["backend_reads"][:, 0].tolist() == [1, 1 + 8, 8, 0]
    assert result.vms["backend_writes"][:, 0].tolist() == [0, 0, 1, 0]
    assert result.tiers["fills"][:, 0, 0].tolist() == [0, 8, 8, 0]
    assert result.tiers["updates"][:, 0, 0].tolist() == [0, 0, 0, 1]
    assert result.vms["dirty"][:, 0].tolist() == [0, 0, 0, 8]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"block_kib": 48}, "dm-cache: block_kib: must be a multiple of 32, got 48"),
        ({"block_kib": 16}, "dm-cache: block_kib: 16 is outside [32, 1048576]"),
        ({"block_kib": 2 << 20}, "dm-cache: block_kib: 2097152 is outside [32, 1048576]"),
        (
            {"origin_gib": 0.001},
            "origin_gib: the trace accesses 0.0625 GiB, more than the origin's 0.001 GiB",
        ),
        ({"writes": "around"}, "dm-cache: writes: unknown choice 'around' (one of through, back, "
         "passthrough)"),
    ],
)  # fmt: skip
def test_what_the_kernel_refuses(params: dict[str, Any], message: str) -> None:
    requests = [(0, 2047 * BLOCK, False, 4096)]
    with pytest.raises((ConfigError, ValueError)) as refused:
        replayed(requests, 8, **params)
    assert str(refused.value) == message


def test_untimed_traces_need_a_rate_and_blocks_space() -> None:
    builder = engine.AccessBuilder(ops="all", addresses=True, line_blocks=8, time_base="index")
    add_vm(builder, "vm", np.arange(4), False, [0, 8, 0, 8])
    accesses = builder.finish()

    def counted(**params: Any) -> engine.RunResult:
        return ran(accesses, engine.System("dm-cache", params, tiered(64, read_ns=1e5)), 4)

    assert counted(rate=100.0).vms["accesses"].sum() == 4
    with pytest.raises((ConfigError, ValueError), match="4 blocks have no space for a cache block"):
        ran(accesses, engine.System("dm-cache", {"rate": 1.0}, tiered(4, read_ns=1e5)), 4)
    message = "rate: the trace has no times, on which hits depend: state the requests per second"
    with pytest.raises((ConfigError, ValueError), match=message):
        counted()


def test_phases_report_the_range_of_hits() -> None:
    """Trusts: runs of each phase alone."""
    builder = engine.AccessBuilder(ops="all", addresses=True, line_blocks=8)
    add_vm(builder, "vm", np.arange(9_000) * (SECOND // 100), False, 8 * (np.arange(9_000) % 70))
    accesses = builder.finish()

    def counted(**params: Any) -> engine.RunResult:
        system = engine.System("dm-cache", params, tiered(512, read_ns=1e5), interval=20 * SECOND)
        return ran(accesses, system, 20 * SECOND)

    phases = [998_000_000 + k * SECOND // 4 for k in range(4)]
    hits = [int(counted(phase=phase).tiers["hits"][:4].sum()) for phase in phases]
    result = counted(phases=4)
    assert int(result.tiers["hits"][:4].sum()) == hits[0]
    least, most = (f"{100 * each / 8_000:.2f}" for each in (min(hits), max(hits)))
    note = f"{least} to {most} % of all accesses so far hit, at 4 phases"
    assert [decision["note"] for decision in result.decisions][3] == note
