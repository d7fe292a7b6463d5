"""A step function of the cache size: the hits of each size, its knees and its plot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim.base.arguments import shortened, whole_number
from mcsim.base.columns import array_given, integers
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.package import require
from mcsim.base.sizes import parse_capacity, share_given

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("hits", "low", "high", "read_hits", "request_hits", "byte_hits")
"""Optional columns of each capacity."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Hits over capacities, and how to read them: at a size, or the size for a ratio.

    `HitRatioCurve` documents the attributes.
    """

    capacities: NDArray[np.int64]
    hits: NDArray[np.float64]
    accesses: int
    distinct: float | None = None
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    resolved_from: float = 0.0
    estimator: str = "exact"
    note: str = ""
    block_bytes: int | None = None
    reads: int | None = None
    read_hits: NDArray[np.float64] | None = None
    requests: int | None = None
    request_hits: NDArray[np.float64] | None = None
    bytes: int | None = None
    byte_hits: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        capacities = capacities_given(self.capacities)
        if (capacities[1:] <= capacities[:-1]).any():
            raise ConfigError("capacities: must be strictly increasing")
        object.__setattr__(self, "capacities", _frozen(capacities))
        for name in COLUMNS:
            values = getattr(self, name)
            if values is None:
                continue
            try:
                column = np.array(values, np.float64)
            except (ValueError, TypeError, OverflowError):
                raise ConfigError(f"{name}: expected numbers, got {shortened(values)}") from None
            if column.shape != capacities.shape:
                raise ConfigError(
                    f"{name}: expected one for each of {capacities.size} capacities, got an "
                    f"array of shape {column.shape}"
                )
            object.__setattr__(self, name, _frozen(column))
        if not np.isfinite(self.hits).all():
            raise ConfigError("hits: expected finite numbers")
        object.__setattr__(self, "accesses", whole_number("accesses", self.accesses))
        if self.block_bytes is not None:
            whole_number("block_bytes", self.block_bytes, 1)
        if (self.hits[1:] < self.hits[:-1]).any():
            raise ConfigError("hits: a larger LRU cache never hits less")

    @property
    def ratios(self) -> NDArray[np.float64]:
        """Hits as a share of all accesses, in [0, 1], shape (k,)."""
        return self._share(self.hits)

    @property
    def miss_ratios(self) -> NDArray[np.float64]:
        """Misses as a share of all accesses, cold ones included, shape (k,)."""
        return 1.0 - self.ratios

    @property
    def best_ratio(self) -> float:
        """The hit ratio that no capacity exceeds."""
        return float(self.ratios[-1]) if self.hits.size else 0.0

    @property
    def saturation(self) -> int:
        """The smallest tabulated capacity in blocks that reaches `best_ratio`."""
        if not self.hits.size:
            return 0
        return int(self.capacities[np.searchsorted(self.hits, self.hits[-1])])

    @overload
    def at(self, capacity: int | float | str, *, unresolved: bool = False) -> float: ...

    @overload
    def at(
        self,
        capacity: NDArray[np.int64] | list[Any] | tuple[Any, ...] | range,
        *,
        unresolved: bool = False,
    ) -> NDArray[np.float64]: ...

    def at(
        self,
        capacity: int | float | str | NDArray[np.int64] | list[Any] | tuple[Any, ...] | range,
        *,
        unresolved: bool = False,
    ) -> float | NDArray[np.float64]:
        """Look up the hit ratio of a cache of any size.

        Parameters
        ----------
        capacity : size or array_like of sizes, shape (m,)
            Cache sizes: blocks, ``'1GiB'``, or ``'10%'`` of the distinct blocks.
        unresolved : bool
            Whether to return estimates for sizes below `resolved_from`, in place of nan.

        Returns
        -------
        float or ndarray of float64, shape (m,)
            Hits as a share of all accesses, in [0, 1]; 0 for an empty stream. Nan for sizes
            below `resolved_from`, which the estimator does not resolve.

        Raises
        ------
        ConfigError
            If a size is invalid, or a share of distinct blocks that are not known.

        Examples
        --------
        >>> curve = mc.estimate([1, 2, 3, 4, 1, 2, 3, 4], "counter-stacks", batch=2)
        >>> curve.at([1, 4]).round(1).tolist(), curve.at(1, unresolved=True)
        ([nan, 0.5], 0.0)
        """
        wanted = array_given(self._in_blocks(capacity), "capacities")
        sizes = np.atleast_1d(wanted)
        ratios = self._share(self._looked_up(self.hits, sizes))
        if self.resolved_from and self.accesses and not unresolved:
            # An empty cache hits nothing, by any estimator.
            ratios[(sizes > 0) & (sizes < self.resolved_from)] = np.nan
        return ratios if wanted.ndim else float(ratios[0])

    def band_at(
        self, capacities: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Look up the 95 % band of the hit ratio.

        Parameters
        ----------
        capacities : array_like of int, shape (m,)
            Cache sizes in blocks.

        Returns
        -------
        tuple of two ndarrays of float64, shape (m,), or None
            Lower and upper end; None if the estimator has no band, or sampled too few blocks.
        """
        if self.low is None or self.high is None:
            return None
        sizes = self._in_blocks(capacities)
        low, high = (self._looked_up(side, sizes) for side in (self.low, self.high))
        return self._share(low), self._share(high)

    def capacity_for(self, ratio: float) -> int | None:
        """Find the smallest cache that hits at least so often.

        Parameters
        ----------
        ratio : float
            Hit ratio, in [0, 1].

        Returns
        -------
        int or None
            Blocks; None if no capacity reaches the ratio (see `best_ratio`).

        Raises
        ------
        ConfigError
            If `ratio` is outside [0, 1].

        Examples
        --------
        >>> from mcsim import HitRatioCurve
        >>> curve = HitRatioCurve(np.array([1, 4]), np.array([2.0, 8.0]), accesses=10)
        >>> curve.capacity_for(0.5), curve.capacity_for(0.9)
        (4, None)
        """
        return self._capacity_for(self.hits, ratio)

    def capacity_range_for(self, ratio: float) -> tuple[int | None, int | None] | None:
        """Find the smallest caches that reach a ratio by the upper and the lower end of the band.

        Parameters
        ----------
        ratio : float
            Hit ratio, in [0, 1].

        Returns
        -------
        tuple of two (int or None), or None
            Blocks at best and at worst, None for an end that never reaches the ratio; None
            if the estimator has no band.
        """
        if self.low is None or self.high is None:
            return None
        return self._capacity_for(self.high, ratio), self._capacity_for(self.low, ratio)

    def resampled(self, capacities: ArrayLike) -> Self:
        """Return the curve known at some capacities alone.

        Parameters
        ----------
        capacities : array_like of int, shape (m,)
            Blocks, strictly increasing. Between two of them the result is what the smaller
            one hits: never more than this curve.

        Returns
        -------
        HitRatioCurve
            With `m` steps; columns that this curve lacks stay None.

        Raises
        ------
        ConfigError
            If capacities do not increase.
        TypeError
            If capacities are not integers.

        Examples
        --------
        >>> mc.hit_ratio_curve([1, 2, 3] * 2).resampled([2, 3, 8]).ratios.tolist()
        [0.0, 0.5, 0.5]
        """
        table = capacities_given(capacities)
        step = self._step_at(table)
        columns: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else _after_zero(column)[step]
            for name in COLUMNS
        }
        return replace(self, capacities=table, **columns)

    def _in_blocks(self, sizes: Any) -> Any:
        """Parse sizes such as `1GiB` and `10%`; other values are left as they are."""
        if isinstance(sizes, (list, tuple)):
            return [size if type(size) is int else self._in_blocks(size) for size in sizes]
        if not isinstance(sizes, (str, float)):
            return sizes
        unique = None if self.distinct is None else round(self.distinct)
        with mistakes_in("capacities"):
            return parse_capacity(sizes, unique, self.block_bytes)

    def _share(self, hits: NDArray[np.float64]) -> NDArray[np.float64]:
        return share_of(hits, self.accesses)

    def _looked_up(self, column: NDArray[np.float64], capacities: ArrayLike) -> NDArray[np.float64]:
        """Read a column of the step function at capacities in any order."""
        return _after_zero(column)[self._step_at(capacities_given(capacities))]

    def _step_at(self, capacities: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return how many steps of the curve each capacity reaches."""
        return np.searchsorted(self.capacities, capacities, side="right")

    def _capacity_for(self, column: NDArray[np.float64], ratio: float) -> int | None:
        ratio = share_given("ratio", ratio, zero=True)
        if ratio == 0:
            return 0
        index = int(np.searchsorted(self._share(column), ratio))
        return int(self.capacities[index]) if index < column.size else None


_MOST_BLOCKS = 2**63 - 1


def capacities_given(values: ArrayLike) -> NDArray[np.int64]:
    """Return sizes in blocks as the core takes them."""
    array = integers(values, "capacities")
    if array.dtype.kind == "u" and array.size and array.max() > _MOST_BLOCKS:
        raise ConfigError(f"capacities: at most 2**63 - 1, got {array.max()}")
    return np.ascontiguousarray(array, np.int64)


def share_of(hits: NDArray[np.float64], total: int) -> NDArray[np.float64]:
    """Divide hits by their total; zeroes if it is zero."""
    return hits / total if total else np.zeros_like(hits)


def _after_zero(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put the value of the empty cache before the values of the steps."""
    return np.concatenate(([0.0], column))


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def sum_of(parts: Iterable[Any]) -> Any:
    """Add numbers; None if one is not known."""
    listed = list(parts)
    return None if any(part is None for part in listed) else sum(listed)


def all_of(things: Iterable[object]) -> str:
    """Write different things with commas between them."""
    return ", ".join(dict.fromkeys(map(str, things)))


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


def plot_steps(
    steps: Steps,
    x: NDArray[Any],
    ax: Axes | None,
    *,
    band: bool,
    line: dict[str, Any],
) -> Axes:
    """Plot ratios in percent at `x`, one for each capacity; see `HitRatioCurve.plot`."""
    if ax is None:
        require("plots", "matplotlib")
        from matplotlib import pyplot

        ax = pyplot.subplots()[1]
    y = 100 * steps.ratios
    begin = int(np.searchsorted(steps.capacities, steps.resolved_from))
    # The resolved part begins where the pale one ends.
    joint = min(begin + 1, len(x))
    (drawn,) = ax.plot(
        x[begin:], y[begin:], **{"drawstyle": "steps-post", "label": steps.estimator, **line}
    )
    if begin:
        pale = {**line, "label": "_", "color": drawn.get_color(), "alpha": 0.35}
        ax.plot(x[:joint], y[:joint], **{"drawstyle": "steps-post", **pale})
    if band and (ends := steps.band_at(steps.capacities)) is not None:
        low, high = (100 * end for end in ends)
        shade: dict[str, Any] = {"step": "post", "linewidth": 0, "alpha": 0.2}
        ax.fill_between(x, low, high, color=drawn.get_color(), **shade)
    ax.set_ylabel("Hit ratio (%)")
    # The limit includes curves that were plotted before.
    ax.set_ylim(0, max(1.05 * ax.dataLim.ymax, 1e-9))
    return ax
