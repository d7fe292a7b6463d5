"""PFOO: a bound on the hits of caches of objects with sizes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mcsim.policies import BOUND_OF_SIZES

if TYPE_CHECKING:
    from mcsim.policies.caches import Caches

_SURPLUS = 1e-9
"""Share by which the space is larger, where costs are too large for integers."""


@dataclass(frozen=True, eq=False)
class Reuses:
    """The references to objects that were referenced before, and what hits of them cost.

    To hit a reference, a cache holds its object since the previous reference to it. The cost is the
    size, times the number of references from one to the other.

    Attributes
    ----------
    held : ndarray of int64, shape (m,)
        Bytes that the object takes: its smallest size until then. Objects may outgrow the
        capacity of a cache until the next one enters.
    cost : ndarray of int64 or float64, shape (m,)
        Bytes times references.
    bytes : ndarray of int64, shape (m,)
        Size at the later reference.
    """

    references: int
    held: NDArray[np.int64]
    cost: NDArray[Any]
    bytes: NDArray[np.int64]

    @classmethod
    def of(cls, caches: Caches) -> Self:
        """Return the reuses among the counted references."""
        ids, sizes = caches.blocks, caches.weights
        assert sizes is not None
        order = np.argsort(ids, kind="stable")
        again = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
        first, later = order[again], order[again + 1]
        kept = (later >= caches.warm_up) & ~_is_discarded(caches, order)[again + 1]
        held = _smallest_so_far(ids[order], sizes[order])[again][kept]
        length = (later - first)[kept]
        is_large = float(held.astype(np.float64) @ length) >= 2**62
        cost = held * (length.astype(np.float64) if is_large else length)
        return cls(len(ids), held, cost, sizes[later[kept]].astype(np.int64))

    def most_hits(self, capacity: int) -> int:
        """Return an upper bound on the hits of a cache of `capacity` bytes."""
        cost = np.sort(self.cost[self.held <= capacity])
        return int(np.searchsorted(np.cumsum(cost), self._space(capacity), side="right"))

    def most_byte_hits(self, capacity: int) -> int:
        """Return an upper bound on the hits in bytes of a cache of `capacity` bytes."""
        fits = self.held <= capacity
        cost, of_bytes = self.cost[fits], self.bytes[fits]
        order = np.argsort(cost / of_bytes, kind="stable")
        spent, gained = np.cumsum(cost[order]), np.cumsum(of_bytes[order])
        space = self._space(capacity)
        whole = int(np.searchsorted(spent, space, side="right"))
        most = int(gained[whole - 1]) if whole else 0
        if whole == len(order):
            return most
        left = space - (float(spent[whole - 1]) if whole else 0)
        share = left / float(cost[order[whole]])
        return most + int(share * float(of_bytes[order[whole]]))

    def _space(self, capacity: int) -> float | int:
        space = self.references * capacity
        return min(space, 2**62) if self.cost.dtype.kind == "i" else space * (1 + _SURPLUS)


def _is_discarded(caches: Caches, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether an object was discarded between a reference and the one before."""
    found = np.zeros(len(order), np.bool_)
    if caches.discards is None:
        return found
    at, objects = caches.discards
    stride = len(order) + 1
    places = caches.blocks[order].astype(np.int64) * stride + order
    discarded = np.searchsorted(places, objects.astype(np.int64) * stride + at.astype(np.int64))
    found[discarded[discarded < len(order)]] = True
    return found


def _smallest_so_far(ids: NDArray[np.uint32], sizes: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the smallest size of each object until each reference; objects lie side by side."""
    # Every object has values below those of the objects before it.
    above = (int(ids.max(initial=0)) - ids.astype(np.int64)) << 32
    smallest: NDArray[np.int64] = np.minimum.accumulate(sizes + above) - above
    return smallest


def with_bounds(caches: Caches, found: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return counts of all caches, given those that were replayed; others are bounds.

    Notes
    -----
    PFOO-L: hits in the order of their cost, until they cost as much space and time as there is.
    The bound of bytes takes hits by cost per byte, and is another optimum.

    References
    ----------
    D. S. Berger, N. Beckmann, M. Harchol-Balter, *Practical bounds on optimal caching with variable
    object sizes*, POMACS 2(2), 2018.
    """
    is_bound = np.array([spec.policy == BOUND_OF_SIZES for spec in caches.spec_of_each], np.bool_)
    if not is_bound.any():
        return found
    assert caches.weights is not None
    begun = time.process_time()
    reuses = Reuses.of(caches)
    rows = {name: np.zeros(len(is_bound), column.dtype) for name, column in found.items()}
    for name, column in found.items():
        rows[name][~is_bound] = column
    counted = len(caches.blocks) - caches.warm_up
    hits = np.array([reuses.most_hits(size) for size in caches.capacities])
    byte_hits = np.array([reuses.most_byte_hits(size) for size in caches.capacities])
    times = int(is_bound.sum()) // len(caches.capacities)
    bounds: dict[str, Any] = {
        "accesses": counted,
        "hits": np.tile(hits, times),
        "requests": counted,
        "request_hits": np.tile(hits, times),
        "request_bytes": int(caches.weights[caches.warm_up :].sum(dtype=np.int64)),
        "byte_hits": np.tile(byte_hits, times),
        "writes": 0
        if caches.operations is None
        else int(caches.operations[caches.warm_up :].sum(dtype=np.int64)),
        "seconds": (time.process_time() - begun) / int(is_bound.sum()),
    }
    for name, column in rows.items():
        column[is_bound] = bounds.get(name, 0)
    return rows
