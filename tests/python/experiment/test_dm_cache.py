"""dm-cache: the rules in plain Python against the hits of a running kernel.

Trusts: hits and status lines of Linux 6.1.176, one request in flight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from naive_smq import NaiveSmq

_SECOND = 1_000_000_000

# Creation of the cache and first request, since the boot.
_EVEN = (1_005_000_000, 2_003_000_000)
_ODD = (2_005_000_000, 3_003_000_000)
_HALF = (2_005_000_000, 3_503_000_000)

THROUGH = {"mode": "writethrough"}


class Run(NamedTuple):
    """Keys with their rate, and what `dmsetup status` counts after them.

    Counts are read hits, read misses, write hits, write misses, demotions, promotions.
    """

    name: str
    keys: str
    rate: float
    start: tuple[int, int]
    counts: tuple[int, ...]
    params: Mapping[str, Any] = MappingProxyType({})
    whole: bool = False
    requests: int | None = None


RUNS = [
    Run("h.cs.100", "cs", 100, _EVEN, (1987, 4794, 0, 0, 236, 748)),
    Run("h.cs.1000", "cs", 1000, _EVEN, (1979, 4802, 0, 0, 0, 512)),
    Run("h.gli.100", "gli", 100, _EVEN, (1575, 4440, 0, 0, 0, 512)),
    Run("h3.gli.100", "gli", 100, _HALF, (1650, 4365, 0, 0, 30, 541)),
    Run("h.multi1.100", "multi1", 100, _ODD, (7721, 8137, 0, 0, 512, 1024)),
    Run("h3.multi1.100", "multi1", 100, _HALF, (8045, 7813, 0, 0, 512, 1024)),
    Run("h.zipf.100", "zipf", 100, _EVEN, (38371, 21629, 0, 0, 2304, 2816)),
    Run("h3.zipf.100", "zipf", 100, _HALF, (38389, 21611, 0, 0, 2310, 2822)),
    Run("h.loop600.100", "loop600", 100, _ODD, (24308, 5692, 0, 0, 883, 1395)),
    Run("h3.loop600.100", "loop600", 100, _HALF, (24215, 5785, 0, 0, 932, 1443)),
    Run("h.scan8000.100", "scan8000", 100, _ODD, (496, 15504, 0, 0, 512, 1024)),
    Run("h.zipfrw-wb", "zipfrw", 50, _EVEN, (16877, 9771, 8471, 4881, 3295, 3807)),
    Run("h.zipfrw-wt", "zipfrw", 50, _ODD, (16938, 9710, 8552, 4800, 3217, 3728), THROUGH),
    Run(
        "h.zipfrw-wt-whole", "zipfrw", 100, _ODD, (17072, 9576, 8544, 4808, 1536, 2048), THROUGH,
        whole=True,
    ),
    Run(
        "h.zipfrw-mig0", "zipfrw", 50, _ODD, (16731, 9917, 8434, 4918, 3287, 3799),
        {"migration_threshold": 0},
    ),
    Run(
        "h.zipfrw-slow", "zipfrw", 0.7, _ODD, (8437, 4854, 4274, 2435, 586, 1098),
        requests=20_000,
    ),
    Run("h.hplajw-wt-100", "hplajw", 100, _ODD, (6911, 6129, 26389, 5090, 1636, 2148), THROUGH),
]  # fmt: skip


def _lines(trace_dir: Path, name: str) -> list[str]:
    """Return the lines of a recorded file, or skip the test."""
    for folder in (trace_dir / "hostcaches", trace_dir.parent / "cases" / "hostcaches"):
        if (file := folder / f"{name}.zst").is_file():
            with pa.input_stream(str(file), compression="zstd") as opened:
                return bytes(opened.read()).decode().split("\n")
    pytest.skip(f"needs hostcaches/{name}.zst beside MCSIM_TRACE_DIR")


def _requests(trace_dir: Path, run: Run) -> Iterator[tuple[int, bool]]:
    lines = _lines(trace_dir, f"{run.keys}.keys")
    for line in filter(None, lines[: run.requests]):
        key, op = line.split()[:2]
        yield int(key), op == "W"


def _replay(run: Run, requests: Iterator[tuple[int, bool]]) -> tuple[str, tuple[int, ...]]:
    """Return a character for every request, hit or miss, and the counts of the twin."""
    created, first = run.start
    twin = NaiveSmq(512, 32_768, created=created, **run.params)
    hits = [
        twin.request(first + round(i * _SECOND / run.rate), key, write, run.whole)
        for i, (key, write) in enumerate(requests)
    ]
    kinds = ("read hits", "read misses", "write hits", "write misses", "demotions", "promotions")
    return "".join(map(str, map(int, hits))), tuple(twin.counts[kind] for kind in kinds)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_twin_hits_as_the_kernel_does(run: Run, trace_dir: Path) -> None:
    """In every request."""
    recorded = _lines(trace_dir, f"{run.name}.hits")[0]
    hits, counts = _replay(run, _requests(trace_dir, run))
    assert hits == recorded
    assert counts == run.counts


@pytest.mark.parametrize(
    ("name", "distinct", "length"), [("loop600", 600, 30_000), ("scan8000", 8_000, 16_000)]
)
def test_loops_hit_as_in_the_kernel(name: str, distinct: int, length: int) -> None:
    for run in RUNS:
        if run.keys == name:
            _, counts = _replay(run, ((i % distinct, False) for i in range(length)))
            assert counts == run.counts


def test_the_cleaner_promotes_nothing() -> None:
    run = Run("cleaner", "loop", 50, _EVEN, (), {"policy": "cleaner"})
    assert _replay(run, ((i % 9, False) for i in range(900)))[1] == (0, 900, 0, 0, 0, 0)
