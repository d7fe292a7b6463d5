"""Batches of several sources, merged by time or compared."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mcsim.traces.batches import Batch, batch_with


def merged(sources: Iterable[tuple[int, Iterator[Batch]]]) -> Iterator[Batch]:
    """Merge sorted requests by time; at equal times an earlier source comes first.

    Parameters
    ----------
    sources : iterable of (int, iterator of Batch)
        Batches, none of them empty, after a time that is at most that of the first request; in
        the order of these times. A source is not read before its time.
    """
    waiting = deque(sources)
    active: list[_Cursor] = []
    while waiting or active:
        while waiting and (not active or waiting[0][0] <= min(of.last for of in active)):
            _, batches = waiting.popleft()
            active += [_Cursor(batches, first) for first in [next(batches, None)] if first]
        if not active:
            return
        limit = min(of.last for of in active)
        # The first source with a batch that ends at `limit` may have more requests of that time.
        ending = next(place for place, of in enumerate(active) if of.last == limit)
        taken = [
            of.take(int(np.searchsorted(of.batch.time, limit, "right" if k <= ending else "left")))
            for k, of in enumerate(active)
        ]
        yield _sorted([batch for batch in taken if len(batch.time)])
        active = [of for of in active if of.has_more()]


@dataclass
class _Cursor:
    """Batches of one source, and what is left of the batch that is being merged."""

    batches: Iterator[Batch]
    batch: Batch

    @property
    def last(self) -> int:
        return int(self.batch.time[-1])

    def take(self, count: int) -> Batch:
        """Return the first requests of the batch and leave the others."""
        taken = batch_with(column[:count] for column in self.batch)
        self.batch = batch_with(column[count:] for column in self.batch)
        return taken

    def has_more(self) -> bool:
        """Read the next batch if nothing is left; False at the end."""
        if not len(self.batch.time):
            following = next(self.batches, None)
            if following is None:
                return False
            self.batch = following
        return True


def _sorted(pieces: Sequence[Batch]) -> Batch:
    if len(pieces) == 1:
        return pieces[0]
    columns = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
    order: npt.NDArray[np.int64] = np.argsort(columns[0], kind="stable")
    return batch_with(column.take(order) for column in columns)


def has_same_references(one: Iterator[Batch], other: Iterator[Batch]) -> bool:
    """Return whether two traces have equal columns, apart from response times and classes."""
    batches = (one, other)
    pieces: list[list[npt.NDArray[Any]]] = [[], []]
    while True:
        for side in (0, 1):
            while not pieces[side] or not len(pieces[side][0]):
                batch = next(batches[side], None)
                if batch is None:
                    break
                pieces[side] = [batch.time, batch.vm, batch.op, batch.offset, batch.length]
        rows = min(len(side[0]) if side else 0 for side in pieces)
        if rows == 0:
            return all(not side or not len(side[0]) for side in pieces)
        if any((a[:rows] != b[:rows]).any() for a, b in zip(*pieces, strict=True)):
            return False
        pieces = [[column[rows:] for column in side] for side in pieces]
