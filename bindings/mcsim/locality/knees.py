"""Where a curve bends: sizes at which more space begins to be worth much less."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Knee(NamedTuple):
    """A size after which more space is worth much less than before."""

    capacity: int
    """Blocks."""
    ratio: float
    """Hits there as a share of all accesses."""
    turn: float
    """How far the hull bends, in degrees, where both axes end at 1."""


def knees_of(
    capacities: NDArray[np.int64], ratios: NDArray[np.float64], count: int, tolerance: float
) -> list[Knee]:
    """Choose the vertices of a concave hull that bend most; see `HitRatioCurve.knees`."""
    if ratios[-1] <= 0:
        return []
    x, y = capacities / capacities[-1], ratios / ratios[-1]
    vertices = _simplified(x, y, tolerance)
    angles = np.degrees(np.arctan2(np.diff(y[vertices]), np.diff(x[vertices])))
    turns = angles - np.append(angles[1:], 0.0)
    largest = np.sort(np.argsort(-turns, kind="stable")[:count])
    return [
        Knee(int(capacities[v]), float(ratios[v]), float(turn))
        for v, turn in zip(vertices[1:][largest], turns[largest], strict=True)
    ]


def _simplified(
    x: NDArray[np.float64], y: NDArray[np.float64], tolerance: float
) -> NDArray[np.int64]:
    """Choose vertices of a concave chain so that no other is `tolerance` above the chords.

    U. Ramer, *An iterative procedure for the polygonal approximation of plane curves*,
    Computer Graphics and Image Processing 1(3), 1972.
    """
    kept = {0, len(x) - 1}
    chords = [(0, len(x) - 1)]
    while chords:
        a, b = chords.pop()
        if b - a < 2:
            continue
        above = y[a:b] - np.interp(x[a:b], x[[a, b]], y[[a, b]])
        middle = a + int(np.argmax(above))
        if above[middle - a] > tolerance:
            kept.add(middle)
            chords += [(a, middle), (middle, b)]
    return np.array(sorted(kept))
