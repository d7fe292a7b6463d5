"""Hits of cache libraries on made-up keys, counted by tests/outside/test_installed_libraries.py."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mcsim as mc

CAPACITIES = (100, 352, 500)


def keys_of(name: str) -> NDArray[np.int64]:
    """Return the keys of a trace: a loop, skewed keys, or hot keys and scans in turns."""
    if name == "loop":
        return np.tile(np.arange(600), 60)
    draw = np.random.default_rng(51)
    skewed = (5000 * draw.random(60_000) ** 4).astype(np.int64)
    if name == "skewed":
        return skewed
    scans = 10_000 + np.arange(60_000) % 4000
    return np.where(np.arange(60_000) // 500 % 4 == 3, scans, skewed // 4)


TRACES = ("loop", "skewed", "scans")

VARIES: Mapping[str, tuple[float, ...]] = {"caffeine": (8, 0.5, 1), "moka": (5, 0.6, 1.2)}
"""Points by which two runs of a library differ, by trace; it draws, or its hash has a seed."""

WITHIN: Mapping[str, tuple[float, ...]] = {
    "cachetools-rr": (0.6, 0.4, 0.4),
    "caffeine": (6, 0.6, 0.6),
    "guava": (0, 0.1, 0.1),
    "moka": (5.5, 2, 2.2),
    "quick-cache-unsync": (2.2, 0.1, 0.1),
    "quick-lru": (69.2, 0.1, 0.1),
}
"""Points by which policies differ from these libraries, by trace; the others have equal hits."""

_LRU = ((0, 0, 0), (14677, 22908, 26024), (17626, 25560, 27139))

HITS: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "node-lru-cache": _LRU,
    "thi-lru": _LRU,
    "golang-lru": _LRU,
    "groupcache": _LRU,
    "cachetools-lru": _LRU,
    "guava-1": _LRU,
    "lru-rs": _LRU,
    "moka-lru": _LRU,
    "quick-lru": ((0, 10504, 28400), (16607, 25888, 29227), (19636, 27033, 29019)),
    "neophi-sieve": ((0, 0, 0), (20380, 27782, 30470), (22503, 30778, 33771)),
    "thi-mru": ((5900, 20768, 29500), (2132, 5499, 7378), (5106, 14227, 19275)),
    "golang-lru-2q": ((0, 0, 21125), (19684, 26910, 29546), (20942, 29743, 33049)),
    "golang-lru-arc": ((0, 176, 250), (20282, 27476, 29964), (21169, 30495, 33801)),
    "cachetools-fifo": ((0, 0, 0), (13199, 20990, 23898), (16242, 24526, 26571)),
    "cachetools-lfu": ((0, 0, 0), (19668, 27484, 30278), (22083, 30536, 33610)),
    "cachetools-rr": ((91, 10896, 24301), (13128, 20927, 23942), (15912, 23374, 25798)),
    "caffeine": ((4187, 19345, 25404), (20611, 28135, 31059), (22083, 30717, 33742)),
    "guava": ((0, 0, 0), (14647, 22910, 26006), (17614, 25539, 27119)),
    "moka": ((4812, 20743, 29287), (20066, 28171, 30919), (21678, 30638, 33123)),
    "quick-cache-unsync": ((5723, 20119, 24178), (21370, 28766, 31402), (22528, 31196, 34191)),
}
"""By library and trace, a count for each of `CAPACITIES`."""


def simulated(library: str, trace: str) -> list[int]:
    """Return the hits of the policy of a library, for each of `CAPACITIES`."""
    # A limit of M entries of quick-lru is a capacity of 2 M - 1.
    sizes = [2 * size - 1 if library == "quick-lru" else size for size in CAPACITIES]
    hits: list[int] = mc.simulate(keys_of(trace), library, sizes).hits.tolist()
    return hits


def table() -> str:
    """Return the differences of policies and libraries, as Markdown for the guide on libraries."""
    off = {
        library: [
            points(simulated(library, trace), hits, trace)
            for trace, hits in zip(TRACES, of_traces, strict=True)
        ]
        for library, of_traces in HITS.items()
    }
    equal = sorted(library for library, differences in off.items() if not any(differences))
    lines = [f"| library | {' | '.join(TRACES)} |", "|---|" + "---|" * len(TRACES)]
    lines += [
        f"| {library} | {' | '.join(f'{each:.2f}' for each in differences)} |"
        for library, differences in sorted(off.items())
        if any(differences)
    ]
    return "\n".join([*lines, "", *wrap(f"Equal in all cells: {', '.join(equal)}.", 118)])


def points(hits: Any, counted: Any, trace: str) -> float:
    """Return the largest difference of hit ratios."""
    off = np.abs(np.array(hits) - np.array(counted)).max()
    return float(100 * off / len(keys_of(trace)))
