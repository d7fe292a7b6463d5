"""Hit ratio curves: hits of LRU at every capacity, exact or estimated.

A curve is a step function of the capacity in whole blocks, with the number of accesses it
is a share of. Whatever made it, it is read, cut, added and drawn in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import locality as _locality
from mcsim.base.arguments import shortened, whole_number
from mcsim.base.errors import ConfigError
from mcsim.base.inputs import parse_object
from mcsim.base.sizes import share_given
from mcsim.locality.capacities import Capacities, SizeUnit
from mcsim.locality.hit_units import HitUnit
from mcsim.locality.steps import (
    COLUMNS,
    Knee,
    all_of,
    capacities_given,
    knees_of,
    share_of,
    sum_of,
)
from mcsim.tables.frames import Tabular

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

_METADATA = b"mcsim.hit_ratio_curve"
_MORE_HITS: tuple[tuple[HitUnit, str], ...] = (("requests", "request"), ("bytes", "byte"))


@dataclass(frozen=True, eq=False)
class HitRatioCurve(Capacities, Tabular):
    """The hits of LRU over its capacity, a step function.

    Between two tabulated capacities the curve is what the smaller one hits, beyond the
    last what the last one hits, and below the first nothing.

    Attributes
    ----------
    capacities : ndarray of int64, shape (k,), read-only
        Cache sizes in blocks, strictly increasing.
    hits : ndarray of float64, shape (k,), read-only
        Accesses that a cache of each size hits, never decreasing; whole numbers where
        they were counted.
    accesses : int
        Accesses that `ratios` are a share of, cold ones included.
    distinct : float, optional
        Distinct blocks of the stream, perhaps estimated.
    low, high : ndarray of float64, shape (k,), optional
        95 % confidence band of the hits, if the estimator has one. Below
        `resolved_from` it states only that a smaller cache hits no more.
    resolved_from : float
        Below this many blocks the estimate rests on too little to be trusted; 0 if it may
        be trusted everywhere.
    estimator : str
        Estimator of the curve, as requested.
    note : str
        Choices of the estimator.
    block_bytes : int, optional
        Size of a block, for sizes in bytes.
    reads : int, optional
        How many of the accesses read, if that was counted.
    read_hits : ndarray of float64, shape (k,), optional
        How many of the hits read; see `of_reads`.
    requests, bytes : int, optional
        Requests of the stream and their bytes, if an exact curve of a trace counted them.
    request_hits, byte_hits : ndarray of float64, shape (k,), optional
        Requests of which all blocks hit, and bytes that hit; see `of`.
    """

    def __repr__(self) -> str:
        return (
            f"<HitRatioCurve of {self.accesses:,} accesses by {self.estimator}: "
            f"{self.best_ratio:.4f} at {self.saturation:,} blocks>"
        )

    def _repr_html_(self) -> str:
        """Return the curve at a few sizes, for notebooks."""
        from mcsim.base.units import format_count
        from mcsim.tables.formatted_table import FormattedTable

        sizes = [self.saturation >> shift for shift in (6, 4, 2, 1, 0) if self.saturation >> shift]
        ratios = self.at(np.array(sizes, np.int64), unresolved=True)
        rows = [[f"{n:,}", f"{100 * r:.2f} %"] for n, r in zip(sizes, ratios, strict=True)]
        title = f"Hit ratio of {format_count(self.accesses)} accesses, by {self.estimator}"
        return FormattedTable(["blocks", "hit ratio"], rows, [True, True], title).to_html()

    def hull(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Compute the concave hull of the curve from the empty cache on.

        The hull is what dividing a stream by a hash of its keys among two LRU caches can
        reach at any size between two vertices.

        Returns
        -------
        capacities : ndarray of int64, shape (v,)
            The vertices, in blocks, from 0 to `saturation`.
        ratios : ndarray of float64, shape (v,)
            Hit ratios there, in [0, 1].

        References
        ----------
        N. Beckmann and D. Sanchez, *Talus: a simple way to remove cliffs in cache
        performance*, HPCA 2015.
        """
        capacities, hits = self._from_zero()
        kept = _locality.upper_hull(capacities, hits)
        return capacities[kept], self._share(hits[kept])

    def knees(self, count: int = 5, tolerance: float = 0.01) -> list[Knee]:
        """List the sizes after which additional space brings fewer hits.

        They are the vertices of the concave hull at which its slope changes most, measured
        as an angle where the saturating capacity and the best ratio are both 1. Vertices
        whose removal lowers the hull by less than `tolerance` of the best ratio are left out
        beforehand, or a smooth bend would have a thousand small knees.

        Parameters
        ----------
        count : int
            How many at most.
        tolerance : float
            Share of `best_ratio`.

        Returns
        -------
        list of Knee
            By increasing capacity.

        Raises
        ------
        ConfigError
            If `count` is not a whole number, or `tolerance` not a share.

        Examples
        --------
        >>> curve = mc.HitRatioCurve(np.array([10, 100]), np.array([70, 80]), accesses=100)
        >>> [(knee.capacity, knee.ratio) for knee in curve.knees(1)]
        [(10, 0.7)]
        """
        near = share_given("tolerance", tolerance, zero=True)
        return knees_of(*self.hull(), whole_number("count", count), near)

    def mae(self, other: HitRatioCurve, sizes: ArrayLike | None = None) -> float:
        """Measure the mean absolute difference from another curve's ratios.

        Parameters
        ----------
        other : HitRatioCurve
            The curve to measure by, such as the exact one.
        sizes : array_like of int, shape (m,), optional
            Where, in blocks; by default at U/100, 2U/100, …, U, rounded up, for the U
            distinct blocks of `other` (its saturation, if they are not known).

        Returns
        -------
        float
            Mean absolute difference of hit ratios, in [0, 1].

        Raises
        ------
        ConfigError
            If `other` is not a curve.
        TypeError
            If sizes are not integers.

        References
        ----------
        C. A. Waldspurger et al., *Efficient MRC construction with SHARDS*, FAST 2015.

        Examples
        --------
        >>> loop, twice = mc.hit_ratio_curve([1, 2] * 4), mc.hit_ratio_curve([1, 1, 2, 2] * 2)
        >>> loop.mae(twice, [1, 2])
        0.25
        """
        _check_curve("other", other)
        at = other.hundredths() if sizes is None else capacities_given(sizes)
        if not at.size:
            return 0.0
        ratios = (curve.at(at, unresolved=True) for curve in (self, other))
        return float(np.abs(np.subtract(*ratios)).mean())

    def merge(self, others: HitRatioCurve | Iterable[HitRatioCurve]) -> HitRatioCurve:
        """Add streams that each have a cache of the same capacity to themselves.

        The result at `c` blocks is the hits of all streams when each has `c` blocks of its
        own (`c` blocks for each stream), as a share of all their
        accesses. It is not the curve of one cache that they share, which needs the streams
        merged by time.

        Parameters
        ----------
        others : HitRatioCurve or iterable of HitRatioCurve
            Curves of the other streams; stated block sizes must be equal.

        Returns
        -------
        HitRatioCurve
            With a band if every curve has one: lower and upper ends added, which is wider
            than 95 % if the errors are independent.

        Raises
        ------
        ConfigError
            If block sizes differ, or `others` has something else than curves.

        Examples
        --------
        >>> web, mail = mc.hit_ratio_curve([1, 2, 1, 2]), mc.hit_ratio_curve([7, 7])
        >>> web.merge(mail).at([1, 2]).round(2).tolist()
        [0.17, 0.5]
        """
        given = list(others) if isinstance(others, Iterable) else [others]
        for other in given:
            _check_curve("others", other)
        curves = [self, *given]
        sizes = {curve.block_bytes for curve in curves}
        if len(sizes) > 1:
            raise ConfigError(f"curves of different block sizes do not add: {all_of(sizes)}")
        table = np.unique(np.concatenate([curve.capacities for curve in curves]))
        columns: dict[str, Any] = {}
        for name in COLUMNS:
            parts = [getattr(curve, name) for curve in curves]
            columns[name] = (
                None
                if any(part is None for part in parts)
                else np.sum(
                    [c._looked_up(part, table) for c, part in zip(curves, parts, strict=True)],
                    axis=0,
                )
            )
        return HitRatioCurve(
            capacities=table,
            **columns,
            accesses=sum(curve.accesses for curve in curves),
            distinct=sum_of(curve.distinct for curve in curves),
            reads=sum_of(curve.reads for curve in curves),
            requests=sum_of(curve.requests for curve in curves),
            bytes=sum_of(curve.bytes for curve in curves),
            resolved_from=max(curve.resolved_from for curve in curves),
            estimator=all_of(curve.estimator for curve in curves),
            note="; ".join(dict.fromkeys(curve.note for curve in curves if curve.note)),
            block_bytes=self.block_bytes,
        )

    def to_arrow(self) -> pa.Table:
        """Return the curve as an Arrow table, from which `from_arrow` makes the same curve.

        Columns ``capacity``, ``hits`` and ``ratio``; ``low`` and ``high`` if there is a
        band, ``read_hits`` if it was counted, and ``request_hits``, ``request_hit_ratio``,
        ``byte_hits`` and ``byte_hit_ratio`` if these were. All else is in the schema's metadata.

        Returns
        -------
        pyarrow.Table
            A row for each step of the curve, by increasing capacity in blocks.

        Examples
        --------
        >>> mc.hit_ratio_curve([1, 2, 1, 2]).to_arrow().select(["capacity", "hits"]).to_pydict()
        {'capacity': [0, 2], 'hits': [0.0, 2.0]}
        """
        import pyarrow as pa

        scalars = {
            "accesses": self.accesses,
            "distinct": self.distinct,
            "resolved_from": self.resolved_from,
            "estimator": self.estimator,
            "note": self.note,
            "block_bytes": self.block_bytes,
            "reads": self.reads,
            "requests": self.requests,
            "bytes": self.bytes,
        }
        table = pa.table(self._columns())
        return table.replace_schema_metadata({_METADATA: json.dumps(scalars).encode()})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> HitRatioCurve:
        """Make a curve of what `to_arrow` returned, perhaps stored in between.

        Parameters
        ----------
        table : pyarrow.Table
            Columns ``capacity`` and ``hits``, optional ones of `to_arrow`, and its metadata.

        Returns
        -------
        HitRatioCurve
            Equal in every attribute to the curve that was stored.

        Raises
        ------
        ConfigError
            If the table is not such a curve.
        """
        import pyarrow as pa

        if not isinstance(table, pa.Table):
            raise ConfigError(f"table: expected an Arrow table, got {shortened(table)}")
        metadata = table.schema.metadata or {}
        if _METADATA not in metadata:
            raise ConfigError("the Arrow table is no hit-ratio curve: its metadata are missing")
        try:
            names = set(COLUMNS) & set(table.column_names)
            columns = {name: table[name].to_numpy() for name in names}
            scalars = parse_object(metadata[_METADATA])
            return cls(capacities=table["capacity"].to_numpy(), **columns, **scalars)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigError(f"the Arrow table is no hit-ratio curve: {error}") from None

    def plot(
        self,
        ax: Axes | None = None,
        *,
        band: bool = True,
        unit: SizeUnit = "blocks",
        log: bool = False,
        end: int | None = None,
        **line: Any,
    ) -> Axes:
        """Plot the hit ratio in percent over the capacity.

        Unresolved sizes are pale.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to; a new figure's if not given.
        band : bool
            Whether the 95 % band is shaded, if there is one.
        unit : {'blocks', 'B', 'KiB', 'MiB', 'GiB', 'TiB'}
            Unit of capacities; units other than blocks need `block_bytes`.
        log : bool
            Whether the axis of capacities is logarithmic.
        end : int, optional
            Where to end, in blocks; at the last step if not given.
        **line
            Passed on to matplotlib, such as ``label`` and ``color``.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the line, from 0 to 100 %.

        Raises
        ------
        ConfigError
            As of `sizes_in`.
        """
        from mcsim.locality.steps import plot_steps

        shown = self.thinned(log=log, end=end)
        x = self.sizes_in(shown.capacities, unit)
        ax = plot_steps(shown, x, ax, band=band, line=line)
        if log:
            ax.set_xscale("log")
        ax.set_xlabel(f"Capacity ({unit})")
        return ax

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "capacity": self.capacities,
            "hits": self.hits,
            "ratio": self.ratios,
        }
        more = {name: getattr(self, name) for name in ("low", "high", "read_hits")}
        for unit, name in _MORE_HITS:
            if (hits := getattr(self, f"{name}_hits")) is not None:
                more[f"{name}_hits"] = hits
                if (total := getattr(self, unit)) is not None:
                    more[f"{name}_hit_ratio"] = share_of(hits, total)
        return columns | {name: column for name, column in more.items() if column is not None}

    def _from_zero(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the steps from the empty cache to saturation."""
        used = (self.capacities > 0) & (self.capacities <= self.saturation)
        capacities = np.concatenate(([0], self.capacities[used]))
        return capacities, np.concatenate(([0.0], self.hits[used]))


def _check_curve(name: str, given: object) -> None:
    if not isinstance(given, HitRatioCurve):
        raise ConfigError(f"{name}: expected a HitRatioCurve, got {shortened(given)}")
