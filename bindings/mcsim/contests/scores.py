"""Scores: the share of the distance from LRU to the optimum that a policy covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mcsim.policies.reductions import mean_intervals

LEAST_GAIN = 0.001
"""Caches in which the optimum gains less hit ratio than this on LRU have no score."""

Ratios = NDArray[np.float64]
"""Hit ratios by trace and size; shape (traces, sizes)."""


@dataclass(frozen=True)
class Scale:
    """Hit ratios of LRU and of the optimum."""

    lru: Ratios
    optimum: Ratios

    @property
    def is_empty(self) -> bool:
        """Whether no cache has a score."""
        return bool(np.isnan(self.scores(self.lru)).all())

    def scores(self, ratios: Ratios) -> Ratios:
        """Return the score of each cache; NaN where it has none.

        Examples
        --------
        >>> from mcsim.contests.scores import Scale
        >>> scale = Scale(np.array([[0.25, 0.5]]), np.array([[0.75, 0.5]]))
        >>> scale.scores(np.array([[0.5, 0.5]])).tolist()
        [[0.5, nan]]
        """
        gain = self.optimum - self.lru
        scores = np.full(gain.shape, np.nan)
        np.divide(ratios - self.lru, gain, out=scores, where=gain >= LEAST_GAIN)
        return scores


@dataclass(frozen=True)
class Summary:
    """Scores of candidates over traces and sizes, each of shape (candidates,)."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    worst: NDArray[np.float64]

    @classmethod
    def of(cls, scores: Sequence[Ratios], seed: int) -> Summary:
        """Summarise the scores of each candidate.

        The mean is over traces, each of which counts once: the mean over its caches. The 95 %
        interval is a bootstrap over traces; NaN if there are less than two.
        """
        cube = np.stack(scores)
        has_any = ~np.isnan(cube[0]).all(axis=1)
        by_trace = np.nanmean(cube[:, has_any], axis=2)
        low, high = mean_intervals(by_trace.T, seed)
        return cls(by_trace.mean(axis=1), low, high, np.nanmin(cube, axis=(1, 2)))


def extreme_cells(
    scores: Ratios, names: Sequence[str], sizes: Sequence[str]
) -> Mapping[str, tuple[str, float]]:
    """Return the caches of the highest and the lowest score, ``best`` and ``worst``."""
    found = {}
    for word, place in (("best", np.nanargmax(scores)), ("worst", np.nanargmin(scores))):
        trace, size = divmod(int(place), len(sizes))
        found[word] = (f"{names[trace]} at {sizes[size]}", float(scores[trace, size]))
    return found
