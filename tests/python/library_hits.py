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

VARIES: Mapping[str, tuple[float, ...]] = {
    "caffeine": (8, 0.5, 1),
    "moka": (5, 0.6, 1.2),
    "otter": (9, 1.5, 1),
    "ristretto": (8, 2.5, 6),
    "theine": (5, 3.5, 1.5),
    "theine-go": (4, 2.5, 2),
    "tinyufo": (2, 1, 0.8),
}
"""Points by which two runs of a library differ, by trace; it draws, or its hash has a seed."""

WITHIN: Mapping[str, tuple[float, ...]] = {
    "cachetools-rr": (0.6, 0.4, 0.4),
    "caffeine": (6, 0.6, 0.6),
    "ehcache": (47.6, 1.2, 0.5),
    "foyer-lfu": (14.6, 0.5, 0.2),
    "guava": (0, 0.1, 0.1),
    "moka": (5.5, 2, 2.2),
    "otter": (1.2, 0.3, 0.2),
    "quick-cache-unsync": (2.2, 0.1, 0.1),
    "quick-lru": (69.2, 0.1, 0.1),
    "ristretto": (4.4, 2.8, 3),
    "sieve-cache": (81.7, 7.1, 2.6),
    "theine": (5, 0.7, 0.7),
    "theine-go": (6.5, 0.9, 0.6),
    "tinyufo": (68.1, 1, 0.9),
}
"""Points by which policies differ from these libraries, by trace; the others have equal hits."""

NEAREST: Mapping[str, str] = {
    "ristretto": "tinylfu",
    "sieve-cache": "sieve",
    "tinyufo": "s3-fifo",
}
"""Policies to compare with libraries of which no policy has the hits."""

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
    "otter": ((3040, 19687, 26166), (20774, 28464, 31212), (22152, 30790, 33769)),
    "theine-go": ((4766, 18959, 28799), (20733, 28827, 31246), (22064, 31032, 33698)),
    "theine": ((4450, 18334, 27447), (20882, 28722, 31239), (22072, 31079, 33789)),
    "cache2k": ((5723, 20119, 23478), (21323, 28881, 31537), (22758, 31368, 34314)),
    "ehcache": ((0, 0, 23482), (14367, 22515, 25261), (17270, 25247, 27097)),
    "foyer-fifo": ((0, 0, 0), (13199, 20990, 23898), (16242, 24526, 26571)),
    "foyer-lru": ((0, 0, 0), (14504, 22726, 25836), (17491, 25514, 27136)),
    "foyer-sieve": ((0, 0, 0), (20380, 27782, 30470), (22503, 30778, 33771)),
    "foyer-s3fifo": ((0, 13195, 5547), (20825, 28058, 30716), (21940, 30852, 33934)),
    "foyer-lfu": ((0, 18195, 24542), (21092, 28208, 30723), (22560, 30851, 33693)),
    "ristretto": ((3313, 18183, 27858), (17463, 26735, 30524), (20471, 30073, 31352)),
    "sieve-cache": ((5782, 20650, 29382), (18769, 23527, 26771), (21670, 29228, 32539)),
    "tinyufo": ((977, 0, 0), (20458, 28393, 31073), (22344, 30678, 33360)),
    "quick-cache-unsync": ((5723, 20119, 24178), (21370, 28766, 31402), (22528, 31196, 34191)),
}
"""By library and trace, a count for each of `CAPACITIES`."""


def simulated(library: str, trace: str) -> list[int]:
    """Return the hits of the policy of a library, or of the nearest, for each of `CAPACITIES`."""
    # A limit of M entries of quick-lru is a capacity of 2 M - 1.
    sizes = [2 * size - 1 if library == "quick-lru" else size for size in CAPACITIES]
    policy = NEAREST.get(library, library)
    hits: list[int] = mc.simulate(keys_of(trace), policy, sizes).hits.tolist()
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
        f"| {_row(library)} | {' | '.join(f'{each:.2f}' for each in differences)} |"
        for library, differences in sorted(off.items())
        if any(differences)
    ]
    return "\n".join(
        [*lines, "", *wrap(f"Equal in all cells: {', '.join(equal)}.", 118, break_on_hyphens=False)]
    )


def _row(library: str) -> str:
    return f"{library}, against `{NEAREST[library]}`" if library in NEAREST else library


def points(hits: Any, counted: Any, trace: str) -> float:
    """Return the largest difference of hit ratios."""
    off = np.abs(np.array(hits) - np.array(counted)).max()
    return float(100 * off / len(keys_of(trace)))
