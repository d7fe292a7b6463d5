"""Deployed caches against the kernel of package user-mode-linux, run in real time.

Trusts: counts of the running kernel. Linux 6.1 must agree; other versions report differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from guest import SECOND
from hosts import tiered
from machine import outcome
from writecache_runs import KINDS as WRITECACHE_KINDS
from writecache_runs import RUNS as WRITECACHE_RUNS
from writecache_runs import Run as WritecacheRun

from mcsim._core import engine, locality

PAGE = 4096
ORIGIN = 256 << 20
KINDS = ("read hits", "read misses", "write hits", "write misses", "demotions", "promotions")
VERSION = "6.1"
COUNT = 7_000


class Run(NamedTuple):
    """A replay: its keys, requests per second, mode, and what differs from the defaults."""

    name: str
    keys: str
    rate: int = 1000
    writes: str = "through"
    pause: int = 0  # seconds before the second half
    length: int = PAGE
    block: int = 32 << 10
    policy: str = "smq"
    migration_threshold: int = 2048


RUNS = (
    Run("loop", "loop600"),
    Run("scan", "scan"),
    Run("reads", "zipf"),
    Run("writethrough", "zipfrw", rate=500),
    Run("writeback", "zipfrw", rate=500, writes="back"),
    Run("unaligned", "zipfrw", length=3 * PAGE, block=64 << 10),
    Run("no migration", "zipfrw", rate=500, writes="back", migration_threshold=0),
    Run("cleaner", "zipfrw", writes="back", policy="cleaner"),
    Run("pause", "zipfrw", writes="back", pause=65),
)


def keys_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return made-up keys, and which requests write."""
    index = np.arange(COUNT)
    if name == "loop600":
        return index % 600, np.zeros(COUNT, bool)
    if name == "scan":
        return index, np.zeros(COUNT, bool)
    draw = np.random.default_rng(49)
    keys = (4_000 * draw.random(COUNT) ** 3).astype(int)
    return keys, draw.random(COUNT) < (1 / 3 if name == "zipfrw" else 0)


def requests_of(run: Run) -> list[list[int]]:
    """Return the time since the first request, offset, length, and whether it writes."""
    keys, writes = keys_of(run.keys)
    index = np.arange(COUNT)
    times = index * (SECOND // run.rate) + run.pause * SECOND * (index >= COUNT // 2)
    columns = (times, keys * run.block, np.full(COUNT, run.length), writes.astype(int))
    return np.column_stack(columns).tolist()


def replayed(
    system: str, requests: list[list[int]], cache_bytes: int, line_blocks: int, **params: Any
) -> engine.RunResult:
    """Replay the requests in the model, each an interval of its own."""
    builder = engine.AccessBuilder(
        ops="all", addresses=True, bytes=system == "bcache", line_blocks=line_blocks
    )
    builder.begin_vm("vm")
    times, offsets, lengths, writes = np.array(requests).T
    builder.add(
        times, np.zeros(len(times), np.uint16), writes.astype(np.uint8),
        offsets.astype(np.uint64), lengths.astype(np.uint32),
    )  # fmt: skip
    accesses = builder.finish()
    modelled = engine.System(system, params, tiered(cache_bytes // PAGE, read_ns=1e5))
    measured = locality.characterise(accesses, modelled.meters)
    return engine.run(accesses, modelled, measured, np.arange(len(times) + 1))


def compare(version: str, counted: Mapping[str, int], model: Mapping[str, int], rel: float) -> None:
    """Fail on differences from Linux 6.1, and report those from other versions."""
    expected = {kind: pytest.approx(model[kind], rel=rel) for kind in model}
    if version.startswith(f"{VERSION}."):
        assert counted == expected
    elif counted != expected:
        pytest.skip(f"Linux {version} differs: it counts {counted}, the model {dict(model)}")


@pytest.mark.parametrize("run", RUNS, ids=[run.name for run in RUNS])
def test_dm_cache_counts_as_the_kernel(run: Run, tmp_path: Path) -> None:
    requests = requests_of(run)
    cache_bytes = 512 * run.block
    job = {
        "system": "dm-cache",
        "origin_bytes": ORIGIN,
        "cache_bytes": cache_bytes,
        "block_bytes": run.block,
        "mode": f"write{run.writes}",
        "policy": run.policy,
        "migration_threshold": run.migration_threshold,
        "requests": requests,
    }
    found = outcome(job, tmp_path)
    words = found["status"].split()
    counted = dict(zip(KINDS, map(int, words[7:13]), strict=True))
    line = run.block // PAGE
    result = replayed(
        "dm-cache", requests, cache_bytes, line, block_kib=run.block >> 10, origin_gib=0.25,
        writes=run.writes, policy=run.policy, migration_threshold=run.migration_threshold,
        created=found["created"], phase=found["first"] - found["created"],
    )  # fmt: skip
    hits = result.vms["request_hits"][:, 0].astype(bool)
    writes = np.array(requests)[:, 3].astype(bool)
    pairs = [(hits & ~writes), (~hits & ~writes), (hits & writes), (~hits & writes)]
    moved = [int(result.tiers[kind].sum()) // line for kind in ("evictions", "fills")]
    model = dict(zip(KINDS, [*(int(pair.sum()) for pair in pairs), *moved], strict=True))
    compare(found["version"], counted, model, rel=0)


@pytest.mark.parametrize("run", WRITECACHE_RUNS[1:2], ids=[WRITECACHE_RUNS[1].name])
def test_dm_writecache_counts_as_the_kernel(run: WritecacheRun, tmp_path: Path) -> None:
    requests = [
        [time, PAGE * block, PAGE * length, int(write)]
        for time, block, write, length in run.requests()
    ]
    job = {
        "system": "dm-writecache",
        "origin_bytes": ORIGIN,
        "cache_bytes": run.mib << 20,
        "block_bytes": PAGE,
        "options": dict(run.options),
        "requests": requests,
    }
    found = outcome(job, tmp_path)
    _, blocks, free, _, *counts = map(int, found["status"].split()[3:])
    counted = dict(zip(WRITECACHE_KINDS, [free, *counts], strict=False))
    times = {"created": found["created"], "phase": found["first"] - found["created"]}
    params = {**run.system(), **times}
    result = replayed("dm-writecache", requests, run.mib << 20, 1, **params)
    writes = np.array(requests)[:, 3].astype(bool)
    of, tiers = result.vms, result.tiers
    model = {
        "read hits": int(tiers["hits"][~writes].sum()),
        "writes around": int(of["backend_writes"].sum() - of["write_backs"].sum()),
        "free": blocks - int(tiers["occupancy"][-1].sum()),
    }
    compare(found["version"], {kind: counted[kind] for kind in model}, model, rel=0)


BCACHE_RUNS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "bcache reads": {"keys": "zipf"},
        "bcache writethrough": {"keys": "zipfrw"},
        "bcache writearound": {"keys": "zipfrw", "writes": "around"},
    }
)


@pytest.mark.parametrize("name", BCACHE_RUNS)
def test_bcache_reads_hit_within_a_percent_of_the_kernel(name: str, tmp_path: Path) -> None:
    run = Run(name, block=PAGE, **BCACHE_RUNS[name])
    requests = requests_of(run)
    bucket = 16 << 10
    job = {
        "system": "bcache",
        "origin_bytes": ORIGIN,
        "cache_bytes": 520 * bucket,
        "bucket_bytes": bucket,
        "mode": f"write{run.writes}",
        "sequential_cutoff": 0,
        "requests": requests,
    }
    found = outcome(job, tmp_path)
    result = replayed(
        "bcache", requests, 520 * bucket, 1, bucket_kib=bucket >> 10, sequential_cutoff=0,
        writes=run.writes,
    )  # fmt: skip
    reads = np.array(requests)[:, 3] == 0
    model = int(result.vms["request_hits"][reads, 0].sum())
    counted = int(reads.sum()) - found["backing_reads"]
    compare(found["version"], {"read hits": counted}, {"read hits": model}, rel=0.01)
