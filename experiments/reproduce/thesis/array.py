"""Thin provisioning, figures 5 to 8: one client and an array's cache, or a guest's above it.

Hits are those of LRU, which its reuse distances tell: a request hits if all of its blocks do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.base.package import experiments_folder
from mcsim.figures.declared import Plot
from mcsim.locality.estimators import reuse_distances
from mcsim.reproduce.catalogue import Check, Found
from mcsim.reproduce.context import QUICK_SHARE, Context
from mcsim.results.models import queueing_ns
from mcsim.traces.synth import synth_trace
from mcsim.traces.trace import Trace

__all__ = ["BLOCKS", "Cell", "cells", "find_hits", "find_latency", "requests_that_hit"]

BLOCKS = ("4KiB", "16KiB")
"""Sizes of the array's cache blocks."""

_ARRAY_BYTES = 512 << 20
_GUEST_BYTES = 64 << 20
_GUEST_BLOCK = 4096

_SEQUENTIAL = 0.5  # share of the requests that are in order; as in the profile

# How long the disks work on a read; a write is one in RAID 5: data and parity are read and written.
_READ_NS = 6.5e6
_WRITE_NS = 4 * _READ_NS
# Time that a virtual machine adds to a request.
_VM_NS = 1e6
# Requests that reach the array: with writes alone the disks would be busy for 90 % of the time.
_PER_S = 0.9e9 / _WRITE_NS


@dataclass(frozen=True)
class Cell:
    """One client at one array.

    Attributes
    ----------
    place : {'host', 'vm'}
        Whether a guest's cache is above the array's.
    read_percent : int
        Share of reads among all requests.
    request, block : str
        Sizes of requests and of the array's cache blocks.
    hits : float
        Share of the requests to the array that hit.
    read_ns : float
        Mean time of a read; NaN where there are none.
    """

    place: str
    read_percent: int
    request: str
    block: str
    hits: float
    read_ns: float


def requests_that_hit(trace: Trace, block_bytes: int | str, cache_bytes: int) -> NDArray[np.bool_]:
    """Return which requests of a trace find all of their blocks in an LRU cache of their own."""
    blocks = trace.blocks("all", block_bytes)
    distances = reuse_distances(blocks)
    hit = (distances >= 0) & (distances < cache_bytes // blocks.block_bytes)
    requests = trace.to_arrow()
    first = requests["offset"].to_numpy() // blocks.block_bytes
    last = (requests["offset"].to_numpy() + requests["length"].to_numpy() - 1) // blocks.block_bytes
    starts = np.cumsum(last - first + 1) - (last - first + 1)
    return np.asarray(np.logical_and.reduceat(hit, starts.astype(np.int64)))


@lru_cache
def cells(quick: bool, seed: int | None) -> tuple[Cell, ...]:
    """Return all that the figures of the array show.

    Parameters
    ----------
    quick : bool
        Whether to use a sixteenth of the requests, and caches of a sixteenth.
    seed : int, optional
        Seed of the requests, instead of the profile's.
    """
    profile = experiments_folder() / "workloads" / "array15.yaml"
    trace = synth_trace(profile, seed=seed)
    every = trace.to_arrow()
    part = QUICK_SHARE if quick else 1.0
    found: list[Cell] = []
    for vm in trace.vms:
        of_vm = every.filter(pc.equal(every["vm"], vm))
        one = _trace_of(of_vm.slice(0, round(len(of_vm) * part)))
        read_percent, _, size = vm.removeprefix("read").partition("-")
        for place in ("host", "vm"):
            if place == "vm":
                one = _below_a_guest(one, part)
            found += _cells_at(one, place, int(read_percent), f"{size.removesuffix('k')}KiB", part)
    return tuple(found)


def _trace_of(requests: pa.Table) -> Trace:
    columns = (requests[name].to_numpy() for name in ("time", "offset", "length"))
    return Trace.from_arrays(*columns, op=requests["op"].to_numpy())


def _below_a_guest(trace: Trace, part: float) -> Trace:
    """Return the misses of a guest's write-back cache."""
    hit = requests_that_hit(trace, _GUEST_BLOCK, round(_GUEST_BYTES * part))
    return _trace_of(trace.to_arrow().filter(pa.array(~hit)))


def _cells_at(
    trace: Trace, place: str, read_percent: int, request: str, part: float
) -> Iterator[Cell]:
    reads = trace.to_arrow()["op"].to_numpy() == 0
    for block in BLOCKS:
        hit = requests_that_hit(trace, block, round(_ARRAY_BYTES * part))
        read_ns = _read_ns(float(reads.mean()), 1 - hit[reads].mean()) if reads.any() else np.nan
        if place == "vm":
            read_ns += _VM_NS
        yield Cell(place, read_percent, request, block, float(hit.mean()), read_ns)


def _read_ns(read_share: float, misses: float) -> float:
    """Return the mean time of a read: one queue for all requests, of which hits need no disk.

    Parameters
    ----------
    read_share : float
        Share of reads in the requests.
    misses : float
        Share of the reads.
    """
    wait = queueing_ns(_PER_S * read_share * misses, _PER_S * (1 - read_share), _READ_NS, _WRITE_NS)
    assert wait is not None
    return wait + misses * _READ_NS


def _array(context: Context, place: str) -> list[Cell]:
    return [cell for cell in cells(context.quick, context.seed) if cell.place == place]


def _by(found: Sequence[Cell]) -> dict[tuple[int, str, str], Cell]:
    return {(cell.read_percent, cell.request, cell.block): cell for cell in found}


def _gains(found: Sequence[Cell]) -> dict[str, list[float]]:
    """Return by how many points larger blocks hit more, by size of requests."""
    gains: dict[str, list[float]] = {}
    of, (small, large) = _by(found), BLOCKS
    for cell in found:
        if cell.block == small:
            larger = of[cell.read_percent, cell.request, large]
            gains.setdefault(cell.request, []).append(100 * (larger.hits - cell.hits))
    return gains


def find_hits(place: str, context: Context) -> Found:
    """Figures 5 and 6: hits of the array over the share of reads."""
    found = _array(context, place)
    gains = _gains(found)
    checks = [
        Check(
            "requests of 4 KiB hit clearly more often where blocks have 16 KiB",
            min(gains["4KiB"]) > 10,
            f"{_span(gains['4KiB'])} points",
            construction="half of the requests are in order, and three of four of them hit then",
        ),
        Check(
            "to requests of 16 KiB and more the size of blocks makes less than a point",
            max(abs(gain) for size in ("16KiB", "32KiB") for gain in gains[size]) < 1,
            f"{_span(gains['16KiB'] + gains['32KiB'])} points",
            construction="requests are aligned, so that their blocks come and go together",
        ),
    ]
    if place == "host":
        expected = 75 * _SEQUENTIAL
        checks.append(
            Check(
                "that is three of four requests in order, within 3 points",
                all(abs(gain - expected) <= 3 for gain in gains["4KiB"]),
                f"{_span(gains['4KiB'])} points, and 0.75 × {_SEQUENTIAL:.0%} is {expected:.0f}",
            )
        )
    else:
        host, below = _by(_array(context, "host")), _by(found)
        fewer = [100 * (host[key].hits - cell.hits) for key, cell in below.items()]
        checks.append(
            Check(
                "below a virtual machine the array hits less often everywhere",
                min(fewer) > 0,
                f"{_span(fewer)} points less",
            )
        )
    return _found_of(found, checks, "hits", "Hit ratio of the array (%)")


def find_latency(place: str, context: Context) -> Found:
    """Figures 7 and 8: how long reads take over the share of reads."""
    found = [cell for cell in _array(context, place) if cell.read_percent > 0]
    of, (small, large) = _by(found), BLOCKS
    sizes = list(dict.fromkeys(cell.request for cell in found))
    longest = {
        max((c for c in found if (c.request, c.block) == key), key=lambda c: c.read_ns).read_percent
        for key in product(sizes, BLOCKS)
    }
    checks = [
        Check(
            "reads take longest where writes are more than reads",
            longest == {25},
            f"at {', '.join(map(str, sorted(longest)))} % reads, of 25, 50, 75 and 100",
            construction="a write takes four times as long as a read here",
        )
    ]
    for size in sizes:
        apart = [
            100 * abs(of[cell.read_percent, size, large].read_ns / cell.read_ns - 1)
            for cell in found
            if (cell.request, cell.block) == (size, small)
        ]
        checks.append(
            Check(
                f"reads of {size.replace('K', ' K')} take as long, within 5 %, with either size of "
                "blocks",
                max(apart) <= 5,
                f"{_span(apart)} % apart",
                construction="" if size == "4KiB" else "aligned requests hit alike with both",
            )
        )
    if place == "vm":
        host, below = _by(_array(context, "host")), _by(found)
        longer = [cell.read_ns / host[key].read_ns - 1 for key, cell in below.items()]
        checks.append(
            Check(
                "from a virtual machine reads take longer everywhere",
                min(longer) > 0,
                f"{_span([100 * part for part in longer])} % longer",
                construction=f"a constant of {_VM_NS / 1e6:g} ms is added to each read",
            )
        )
    return _found_of(found, checks, "read_ms", "Mean time of a read (ms)")


def _found_of(found: Sequence[Cell], checks: list[Check], shown: str, called: str) -> Found:
    table = pa.Table.from_pylist(
        [
            {
                "read_percent": cell.read_percent,
                "request": cell.request.replace("K", " K"),
                "block": f"blocks of {cell.block.replace('K', ' K')}",
                "hits": 100 * cell.hits,
                "read_ms": cell.read_ns / 1e6,
            }
            for cell in found
        ]
    )
    plots = [
        Plot(
            called.partition(" (")[0], "By size of requests, over the share of reads.",
            "array", "read_percent", shown, "Reads among the requests (%)", called,
            by=["request"], each=["block"],
        )
    ]  # fmt: skip
    return Found(
        checks=checks,
        tables={"array": table},
        plots=plots,
        ran=[f"reuse distances of {len(found)} clients at an array of their own"],
    )


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low} to {high}"
