"""System `bcache` against a running kernel, and against its rules in plain Python.

Trusts: hits of Linux 6.1.176, one request in flight; NaiveBcache.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from kernel_hits import lines_of
from naive_bcache import NaiveBcache

MS = 1_000_000


class Run(NamedTuple):
    """A replay of the kernel with requests of 4 KiB: its keys, buckets, and hits of reads."""

    name: str
    keys: str
    buckets: int
    sectors: int
    hits: int


RUNS = [
    Run("b.oltp16", "oltp", 1024, 32, 26_913),
    Run("b.oltp32", "oltp", 520, 64, 26_796),
    Run("b.hplajw-writethrough", "hplajw4k", 1024, 32, 9_257),
]


def keys_of(trace_dir: Path, run: Run) -> list[tuple[int, bool]]:
    words = lines_of(trace_dir, f"{run.keys}.keys")
    each = 3 if run.keys.startswith("hplajw") else 2
    return [(int(key), op == "W") for key, op in zip(words[::each], words[1::each], strict=True)]


@pytest.mark.parametrize("run", RUNS, ids=[run.name for run in RUNS])
def test_reads_hit_within_a_percent_of_the_kernel(trace_dir: Path, run: Run) -> None:
    keys = keys_of(trace_dir, run)
    recorded = [mark == "1" for mark in lines_of(trace_dir, f"{run.name}.hits")[0]]
    reads = [i for i, (_, write) in enumerate(keys) if not write]
    assert sum(recorded[i] for i in reads) == run.hits
    twin = NaiveBcache(run.buckets, run.sectors)
    hits = [twin.request(i * MS, 8 * key, write) for i, (key, write) in enumerate(keys)]
    assert sum(hits[i] for i in reads) == pytest.approx(run.hits, rel=0.01)
    same = sum(hits[i] == recorded[i] for i in reads)
    assert same > 0.975 * len(reads)


def test_a_loop_larger_than_the_cache_never_hits() -> None:
    twin = NaiveBcache(1024, 32)
    assert not any(twin.request(i * MS, i % 5_000 * 8) for i in range(20_000))
