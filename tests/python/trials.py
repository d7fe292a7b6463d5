"""Streams for trials of samples, and the errors and coverage of their bands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mcsim as mc
from mcsim.policies.caches import Caches
from mcsim.policies.miniatures import Correction, estimate_whole, replay_miniatures
from mcsim.policies.specs import PolicyChoice

Keys = NDArray[np.uint64]

_NEVER_AGAIN = 1 << 40  # keys from here on are referenced once


def zipf(length: int, blocks: int, skew: float, seed: int) -> Keys:
    """Return keys below `blocks` with a probability near rank to the minus `skew`, not 1."""
    end = blocks ** (1 - skew)
    uniform = np.random.default_rng(seed).random(length)
    return ((1 + uniform * (end - 1)) ** (1 / (1 - skew))).astype(np.uint64) - 1


def uniform(length: int, blocks: int, seed: int) -> Keys:
    """Return keys below `blocks`, all as likely."""
    return np.random.default_rng(seed).integers(0, blocks, length).astype(np.uint64)


def loop(length: int, blocks: int) -> Keys:
    """Return 0 to `blocks`, again and again."""
    return np.arange(length, dtype=np.uint64) % blocks


def among_once(reused: Keys, share: float, seed: int) -> Keys:
    """Return `reused` spread over a stream of which they are a share, all else seen once."""
    length = round(len(reused) / share)
    keys = np.arange(length, dtype=np.uint64) + _NEVER_AGAIN
    at = np.random.default_rng(seed).choice(length, len(reused), replace=False)
    keys[np.sort(at)] = reused
    return keys


def bursts(length: int, tail: float, seed: int) -> Keys:
    """Return runs of one block each, their lengths of a Pareto distribution."""
    runs = np.random.default_rng(seed).pareto(tail, length) + 1
    return np.repeat(np.arange(length), np.minimum(runs, length / 10).astype(int))[:length].astype(
        np.uint64
    )


def pareto(length: int, blocks: int, tail: float, seed: int) -> Keys:
    """Return keys with probabilities of a Pareto distribution."""
    rng = np.random.default_rng(seed)
    weight = rng.pareto(tail, blocks) + 0.01
    return rng.choice(blocks, length, p=weight / weight.sum()).astype(np.uint64)


def twice(length: int, share: float, far: int, seed: int) -> Keys:
    """Return keys seen once, a share of which come again within `far` references."""
    rng = np.random.default_rng(seed)
    keys = np.arange(length)
    again = np.flatnonzero(rng.random(length) < share)
    keys[again] = np.maximum(again - rng.integers(1, far, again.size), 0)
    return keys.astype(np.uint64)


def synthetic(length: int = 120_000) -> dict[str, Keys]:
    """Return streams of many kinds: most blocks once, few with much, loops, phases, tiny ones."""
    half = length // 2
    once = np.arange(half, dtype=np.uint64) + _NEVER_AGAIN
    return {
        "zipf 0.9": zipf(length, 40_000, 0.9, 1),
        "zipf 1.2": zipf(length, 40_000, 1.2, 1),
        "uniform": uniform(length, 30_000, 2),
        "pareto": pareto(length, 30_000, 1.1, 1),
        "loop": loop(length, 10_000),
        "loop, scan": among_once(loop(3 * length // 4, 8000), 0.75, 1),
        "one hot": np.where(
            np.random.default_rng(1).random(length) < 0.3, 0, 1 + uniform(length, 30_000, 1)
        ).astype(np.uint64),
        "once": np.arange(length, dtype=np.uint64),
        "once, zipf": among_once(zipf(length // 5, 3000, 1.1, 1), 0.2, 1),
        "once, 1 hot": among_once(np.zeros(6 * length // 10, np.uint64), 0.6, 1),
        "once, 5 hot": among_once(uniform(3 * length // 10, 5, 1), 0.3, 1),
        "once, 100 hot": among_once(uniform(4 * length // 10, 100, 1), 0.4, 1),
        "once, loop": among_once(loop(3 * length // 10, 300), 0.3, 1),
        "once, some twice": twice(length, 0.2, 20_000, 1),
        "once, few twice": twice(length, 0.0008, 20_000, 1),
        "bursts": bursts(length, 1.2, 1),
        "uniform, then once": np.concatenate((uniform(half, 5000, 1), once)),
        "once, then zipf": np.concatenate((once, zipf(half, 500, 1.2, 1))),
        "small": among_once(zipf(length // 15, 800, 0.9, 1), 0.4, 1),
        "tiny": zipf(length // 30, 1200, 0.8, 3),
    }


def drifting(length: int, blocks: int, skew: float, passed: int, seed: int) -> Keys:
    """Return keys with a popularity that falls with age; `passed` new blocks arrive in all."""
    newest = blocks + np.arange(length) * passed // length
    return (newest - zipf(length, blocks, skew, seed)).astype(np.uint64)


def reranked(length: int, blocks: int, skew: float, phases: int, seed: int) -> Keys:
    """Return Zipf keys; in each phase a tenth of the blocks exchange their ranks."""
    rng = np.random.default_rng(seed)
    ranks = zipf(length, blocks, skew, seed)
    of_rank = rng.permutation(blocks)
    parts = []
    for part in np.array_split(ranks, phases):
        parts.append(of_rank[part])
        moved = rng.choice(blocks, blocks // 10, replace=False)
        of_rank[moved] = of_rank[rng.permutation(moved)]
    return np.concatenate(parts).astype(np.uint64)


def bursty(length: int, blocks: int, tail: float, gap: float, seed: int) -> Keys:
    """Return bursts that overlap, each of one block: Pareto sizes, exponential gaps."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(rng.pareto(tail, length) + 1, length / 100).astype(int)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), length)) + 1]
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    gaps = rng.exponential(gap, int(sizes.sum()))
    since = np.cumsum(gaps)
    times = np.repeat(rng.uniform(0, length, len(sizes)), sizes) + since - since[first]
    keys = np.repeat(rng.integers(0, blocks, len(sizes)), sizes)
    return keys[np.argsort(times, kind="stable")][:length].astype(np.uint64)


def multi_scale(length: int, largest: int, scales: int, stay: int, seed: int) -> Keys:
    """Return references to working sets of `largest` blocks, of a fifth, and so on.

    A working set is replaced when its blocks had `stay` references each on average.
    """
    rng = np.random.default_rng(seed)
    scale = rng.integers(0, scales, length)
    keys = np.empty(length, np.int64)
    for number in range(scales):
        at = np.flatnonzero(scale == number)
        size = largest // 5**number
        phase = np.arange(len(at)) // (stay * size)
        keys[at] = (number << 32) + phase * size + rng.integers(0, size, len(at))
    return keys.astype(np.uint64)


def periodic(length: int, blocks: int, skew: float, period: int, sets: int, seed: int) -> Keys:
    """Return working sets in turn, each for a period; its last quarter is a scan."""
    at = np.arange(length)
    turn = at // period % sets
    within = at % period
    keys = turn * blocks + zipf(length, blocks, skew, seed).astype(np.int64)
    scanned = within >= period * 3 // 4
    keys[scanned] = sets * blocks + within[scanned]
    return keys.astype(np.uint64)


def changing(length: int = 120_000) -> dict[str, Keys]:
    """Return streams with changing popularity: drift, bursts, several time scales, periods."""
    return {
        "drifting": drifting(length, length // 6, 0.9, length // 6, 1),
        "drifting fast": drifting(length, length // 12, 1.1, length // 2, 1),
        "drifting ranks": reranked(length, length // 6, 0.9, 20, 1),
        "bursty": bursty(length, length // 4, 1.3, length / 200, 1),
        "bursty, long": bursty(length, length // 4, 1.3, length / 20, 1),
        "multi-scale": multi_scale(length, length // 6, 4, 5, 1),
        "periodic": periodic(length, length // 15, 0.8, length // 12, 3, 1),
    }


@dataclass(frozen=True)
class Trial:
    """Results of a sampler on a stream, by seed."""

    held: NDArray[np.bool_]
    """Whether the band holds the truth; shape (seeds, sizes)."""
    told: NDArray[np.bool_]
    """Whether there is a band, at a size that counts as resolved."""
    width: NDArray[np.float64]
    """Statistics of the bands."""
    error: NDArray[np.float64]
    """Mean absolute error of the hit ratio, shape (seeds,)."""

    @property
    def coverage(self) -> float:
        """Share of the bands that contain the exact value; nan without bands."""
        return float(self.held[self.told].mean()) if self.told.any() else float("nan")


def sizes_up_to(blocks: int) -> NDArray[np.int64]:
    """Return 20 sizes spread evenly over `blocks`, and 20 by factors."""
    even = np.ceil(blocks * np.arange(1, 21) / 20)
    return np.concatenate((even, np.geomspace(1, blocks, 20))).astype(np.int64)


class Stream:
    """References and the truth about them."""

    def __init__(self, keys: Keys) -> None:
        self.keys = np.ascontiguousarray(keys, np.uint64)
        self.exact = mc.hit_ratio_curve(self.keys)
        self.blocks = int(self.exact.distinct or 0)

    def estimated(
        self, name: str, params: dict[str, Any], seeds: Iterable[int], threads: int = 1
    ) -> Trial:
        """Try an estimator; bands of unresolved sizes count as well."""
        sizes = sizes_up_to(self.blocks)
        truth, hundredths = self.exact.at(sizes), self.exact.hundredths()

        def one(seed: int) -> tuple[Any, ...]:
            curve = mc.estimate(self.keys, name, seed=seed, threads=1, **params)
            band = curve.band_at(sizes)
            told = curve.is_resolved(sizes) & (band is not None)
            low, high = band or (np.zeros(sizes.size), np.ones(sizes.size))
            held = (low <= truth + 1e-9) & (truth <= high + 1e-9)
            return held, told, high - low, curve.mae(self.exact, hundredths)

        with ThreadPoolExecutor(threads) as pool:
            return Trial(*map(np.array, zip(*pool.map(one, seeds), strict=True)))

    def in_miniature(
        self,
        groups: int,
        seeds: int = 5,
        policies: PolicyChoice = ("lru", "s3-fifo"),
        shares: Sequence[float] = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7),
        corrections: Sequence[Correction] = ("auto",),
        **options: Any,
    ) -> dict[Correction, Trial]:
        """Try miniature simulation with `groups` groups of seeds, by correction.

        Every policy has a band here, as if it were verified; `Trial` has a column a cache, all
        sizes of the first policy first.
        """
        sizes = [max(1, int(share * self.blocks)) for share in shares]
        truth = mc.simulate(self.keys, policies, sizes).hit_ratio
        caches = Caches.asked(self.keys, policies, sizes)
        found = [
            replay_miniatures(caches, seeds=range(g, g + seeds), **options)
            for g in range(1, 1 + groups * seeds, seeds)
        ]
        return {
            correction: _trial_of([estimate_whole(caches, one, correction) for one in found], truth)
            for correction in corrections
        }


def _trial_of(found: Sequence[dict[str, NDArray[Any]]], truth: NDArray[np.float64]) -> Trial:
    low, high = (np.array([rows[side] for rows in found]) for side in ("low", "high"))
    sampled = np.array([rows["rate"] < 1 for rows in found])
    return Trial(
        held=(low <= truth + 1e-9) & (truth <= high + 1e-9),
        told=sampled & ~np.isnan(low),
        width=high - low,
        error=np.array([np.abs(rows["hit_ratio"] - truth).mean() for rows in found]),
    )
