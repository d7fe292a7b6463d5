"""Reuse distances of a reference stream, and the hit-ratio curve that follows from them.

The reuse distance of an access is the number of distinct other blocks accessed since the
last access to the same block; the first access to a block is cold. An LRU cache of ``c``
blocks hits exactly the accesses whose distance is below ``c``, so one pass over a trace
gives the hits of LRU at every capacity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import locality as _locality
from mcsim.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["COLD", "HitRatioCurve", "hit_ratio_curve", "reuse_distances"]

COLD = -1
"""The distance of a first access."""


def reuse_distances(ids: ArrayLike) -> NDArray[np.int64]:
    """Compute the exact LRU reuse distance of every access.

    Parameters
    ----------
    ids : array_like of int, shape (n,)
        The block of each access, in the order of the accesses. ``uint64`` and ``uint32``
        arrays are read where they lie.

    Returns
    -------
    ndarray of int64, shape (n,), read-only
        Distinct other blocks since the last access to the same block, 0 for an immediate
        repeat, `COLD` for a first access.

    Raises
    ------
    TypeError
        If `ids` are not integers.
    ConfigError
        If `ids` has more than one dimension or a negative element.

    References
    ----------
    F. Olken, *Efficient methods for calculating the success function of fixed space
    replacement policies*, LBL-12370, 1981. R. L. Mattson et al., *Evaluation techniques for
    storage hierarchies*, IBM Systems Journal 9(2), 1970.

    Examples
    --------
    >>> reuse_distances([3, 2, 1, 4, 1, 2, 3]).tolist()
    [-1, -1, -1, -1, 1, 2, 3]
    """
    return _locality.reuse_distances(_keys(ids))


def hit_ratio_curve(ids: ArrayLike, capacities: ArrayLike | None = None) -> HitRatioCurve:
    """Compute the exact hits of an LRU cache of any capacity.

    Parameters
    ----------
    ids : array_like of int, shape (n,)
        The block of each access, in the order of the accesses.
    capacities : array_like of int, shape (k,), optional
        Where the curve is tabulated, in blocks. By default 0 and every capacity that hits
        more than the next smaller one.

    Returns
    -------
    HitRatioCurve
        The table, and by ``at`` the exact ratio at any other capacity.

    Raises
    ------
    TypeError
        If `ids` or `capacities` are not integers.
    ConfigError
        If either has more than one dimension or a negative element.

    References
    ----------
    R. L. Mattson et al., *Evaluation techniques for storage hierarchies*, IBM Systems
    Journal 9(2), 1970.

    Examples
    --------
    >>> curve = hit_ratio_curve([1, 2, 1, 2], capacities=[1, 2, 3])
    >>> curve.hits.tolist(), curve.at(2)
    ([0, 2, 2], 0.5)
    """
    curve = _locality.hit_curve(_keys(ids))
    steps = np.concatenate(([0], curve.distances + 1))
    table = steps if capacities is None else _capacities(capacities).copy()
    table.flags.writeable = False
    return HitRatioCurve(table, curve)


@dataclass(frozen=True, eq=False)
class HitRatioCurve:
    """The hits of LRU over its capacity, tabulated and exact in between.

    Attributes
    ----------
    capacities : ndarray of int64, shape (k,), read-only
        Cache sizes in blocks.
    """

    capacities: NDArray[np.int64]
    _curve: _locality.HitCurve = field(repr=False)

    @property
    def hits(self) -> NDArray[np.int64]:
        """Accesses that a cache of each size hits, shape (k,)."""
        return self._curve.hits(self.capacities)

    @property
    def ratios(self) -> NDArray[np.float64]:
        """Hits as a share of all accesses, in [0, 1], shape (k,)."""
        return self._curve.ratio(self.capacities)

    @property
    def accesses(self) -> int:
        """Accesses of the stream, cold ones included."""
        return self._curve.accesses

    @overload
    def at(self, capacity: int) -> float: ...
    @overload
    def at(self, capacity: NDArray[np.int64] | list[int]) -> NDArray[np.float64]: ...

    def at(self, capacity: int | NDArray[np.int64] | list[int]) -> float | NDArray[np.float64]:
        """Look up the exact hit ratio, tabulated or not.

        Parameters
        ----------
        capacity : int or array_like of int, shape (m,)
            Cache sizes in blocks.

        Returns
        -------
        float or ndarray of float64, shape (m,)
            Hits as a share of all accesses, in [0, 1]; 0 for an empty stream.
        """
        wanted = np.asarray(capacity)
        ratios = self._curve.ratio(_capacities(np.atleast_1d(wanted)))
        return ratios if wanted.ndim else float(ratios[0])

    def to_arrow(self) -> pa.Table:
        """Return the columns ``capacity``, ``hits`` and ``ratio`` as an Arrow table."""
        import pyarrow as pa

        return pa.table(self._columns())

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns ``capacity``, ``hits`` and ``ratio`` as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """Return the columns ``capacity``, ``hits`` and ``ratio`` as a Polars frame."""
        import polars as pl

        return pl.DataFrame(self._columns())

    def _columns(self) -> dict[str, NDArray[np.int64] | NDArray[np.float64]]:
        return {"capacity": self.capacities, "hits": self.hits, "ratio": self.ratios}


def _integers(values: ArrayLike, name: str) -> NDArray[np.integer]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ConfigError(f"{name}: expected one dimension, got an array of shape {array.shape}")
    if array.size == 0:
        return np.empty(0, np.uint64)
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name}: expected integers, got {array.dtype}")
    if array.min() < 0:
        at = int(np.argmax(array < 0))
        raise ConfigError(f"{name}[{at}]: must not be negative, got {array[at]}")
    return array


def _keys(ids: ArrayLike) -> NDArray[np.uint64] | NDArray[np.uint32]:
    """Bring block numbers to a type the core reads, without a copy where one is not needed."""
    array = _integers(ids, "ids")
    native = array.dtype.newbyteorder("=")
    if native.itemsize == 8:
        return np.ascontiguousarray(array, native).view(np.uint64)
    return np.ascontiguousarray(array, np.uint32)


def _capacities(values: ArrayLike) -> NDArray[np.int64]:
    array = _integers(values, "capacities")
    if array.size and array.max() > np.iinfo(np.int64).max:
        raise ConfigError(f"capacities: at most 2**63 - 1, got {array.max()}")
    return np.ascontiguousarray(array, np.int64)
