"""Parts of `Blocks`: pieces of references with discards and requests, and intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mcsim._core import engine
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.units import parse_bytes, parse_interval

if TYPE_CHECKING:
    from mcsim.references.blocks import Blocks

Discarded = tuple[NDArray[np.uint64], NDArray[np.uint64]]
"""Positions among references, and the blocks that are discarded before them."""

Shapes = tuple[int, NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]
"""Bytes of a block; by request, blocks, offset in the first block, and bytes."""


DiscardColumns = tuple[NDArray[np.uint64], NDArray[np.uint32]]
"""The reference before which each discard comes, in order, and the number of its block."""

RequestColumns = tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32], int]
"""First reference of each request and the number of references; bytes and offset in the first
block, both empty without lengths; bytes of a block."""


PIECE = 1 << 20
"""References, or requests, of a piece."""


class Piece(NamedTuple):
    """References in order, with what estimators need of each."""

    keys: NDArray[np.uint32] | NDArray[np.uint64]
    times: NDArray[np.int64] | None
    """None without a clock."""
    ops: NDArray[np.uint8] | None
    discards: Discarded | None
    requests: Shapes | None
    """Requests that touch blocks; None if bytes of requests are not kept."""


class Discards(NamedTuple):
    """Blocks that are discarded, each before a request, in order."""

    request: NDArray[np.int64]
    block: NDArray[np.uint32]

    @classmethod
    def of(cls, accesses: engine.Accesses) -> Self:
        """Return all discards of a trace."""
        return cls(
            np.ascontiguousarray(accesses.discard_request).view(np.int64),
            np.ascontiguousarray(accesses.discard_block),
        )

    def __len__(self) -> int:
        return len(self.block)

    def by_vm(self, accesses: engine.Accesses) -> list[Discards]:
        """Return those of each VM."""
        vm = vms_of_ids(accesses, self.block)
        order = np.argsort(vm, kind="stable")
        ends = np.searchsorted(vm[order], np.arange(len(accesses.vms) + 1)).tolist()
        return [
            Discards(self.request[order[begin:end]], self.block[order[begin:end]])
            for begin, end in pairwise(ends)
        ]

    def among(self, requests: NDArray[np.int64]) -> Discards:
        """Return those between the first and the last of some requests."""
        if not len(self):
            return self
        if not len(requests):
            return Discards(self.request[:0], self.block[:0])
        first, last = np.searchsorted(self.request, requests[[0, -1]], side="right")
        return Discards(self.request[first:last], self.block[first:last])

    def cut(self, requests: NDArray[np.int64], at: int) -> tuple[Discards, Discards]:
        """Return those up to request `at` of `requests`, which is excluded, and later ones."""
        done = np.searchsorted(self.request, requests[at - 1], side="right") if at else 0
        return (
            Discards(self.request[:done], self.block[:done]),
            Discards(self.request[done:], self.block[done:]),
        )

    def with_writes(
        self, accesses: engine.Accesses, writes: NDArray[np.int64], blocks: NDArray[np.int64]
    ) -> Discards:
        """Add the blocks of writes, as if each write discarded those that it touches."""
        request = np.concatenate([self.request, np.repeat(writes, blocks)])
        block = np.concatenate([self.block, ids_of(accesses, writes, blocks)])
        order = np.argsort(request, kind="stable")
        return Discards(request[order], block[order])

    def split(
        self, requests: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[Discarded | None, Discards]:
        """Return discards before requests with references that end at `ends`, and later ones."""
        count = int(np.searchsorted(self.request, requests[-1], side="right")) if len(self) else 0
        if count == 0:
            return None, self
        index = np.searchsorted(requests, self.request[:count])
        at = np.concatenate(([0], ends))[index].astype(np.uint64)
        later = Discards(self.request[count:], self.block[count:])
        return (at, self.block[:count].astype(np.uint64)), later


def vms_of_ids(
    accesses: engine.Accesses, ids: NDArray[np.unsignedinteger[Any]]
) -> NDArray[np.uint16]:
    """Return the VMs that blocks belong to."""
    begins = np.array([vm.first_id for vm in accesses.vms], np.uint32)
    return (np.searchsorted(begins, ids, side="right") - 1).astype(np.uint16)


def ids_of(
    accesses: engine.Accesses, requests: NDArray[np.int64], blocks: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """Return the block of each reference of requests, which have numbers of `blocks`."""
    if not len(requests):
        return np.empty(0, np.uint32)
    begin = accesses.request_begin.view(np.int64)
    if requests[-1] - requests[0] == len(requests) - 1:  # a range: no copy
        return accesses.ids[begin[requests[0]] : begin[requests[-1] + 1]]
    skipped = begin[requests] - np.concatenate(([0], np.cumsum(blocks)[:-1]))
    return accesses.ids[np.repeat(skipped, blocks) + np.arange(blocks.sum())]


def some_positions(requests: slice | NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield positions of requests, those of a range about 10^6 at a time."""
    if not isinstance(requests, slice):
        yield requests
        return
    for first in range(requests.start, requests.stop, PIECE):
        yield np.arange(first, min(first + PIECE, requests.stop))


def have_one_block_each(accesses: engine.Accesses) -> bool:
    """Return whether every request has one block."""
    begin = accesses.request_begin
    if len(begin) != accesses.access_count + 1:
        return False
    return all(
        (np.diff(begin[first : first + PIECE + 1]) == 1).all()
        for first in range(0, len(begin) - 1, PIECE)
    )


def shapes_of(
    accesses: engine.Accesses, requests: NDArray[np.int64], blocks: NDArray[np.int64]
) -> Shapes | None:
    """Return how requests lie in their blocks; None if their bytes are not kept.

    Requests without a block are left out, because they cannot hit.
    """
    if len(accesses.request_bytes) != accesses.request_count:
        return None
    some = blocks > 0
    if not some.all():
        requests, blocks = requests[some], blocks[some]
    return (
        accesses.block_bytes,
        blocks.astype(np.uint32),
        accesses.request_head[requests],
        accesses.request_bytes[requests],
    )


def parts_by_vm(blocks: Blocks) -> Iterator[tuple[str, NDArray[np.int64], Discards]]:
    """Yield the name, the positions of requests and the discards of every VM."""
    vm = blocks.accesses.request_vm[blocks.requests]
    order = np.argsort(vm, kind="stable")
    by_vm = blocks.positions[order]
    ends = np.searchsorted(vm[order], np.arange(len(blocks.vms) + 1)).tolist()
    discards = blocks.discards.by_vm(blocks.accesses)
    for name, of_vm, (begin, end) in zip(blocks.vms, discards, pairwise(ends), strict=True):
        yield name, by_vm[begin:end], of_vm


def discards_of(blocks: Blocks) -> DiscardColumns | None:
    """Return the discards of blocks that have references among these; None without any."""
    accesses = blocks.accesses
    if not len(accesses.discard_block):
        return None
    if blocks.is_whole:
        discarded = accesses.discard_block.copy()
        return accesses.request_begin[accesses.discard_request], discarded
    number = np.full(accesses.id_count, -1, np.int64)
    number[blocks.whole_ids] = blocks.ids
    found = number[accesses.discard_block]
    kept = found >= 0
    before = np.searchsorted(blocks.positions, accesses.discard_request[kept])
    return _begin(blocks)[before], found[kept].astype(np.uint32)


def request_columns_of(blocks: Blocks) -> RequestColumns:
    """Return which references each request has, and its bytes."""
    of = blocks.accesses
    parts = [of.request_bytes, of.request_head]
    if not blocks.is_whole:
        parts = [part[blocks.positions] if len(part) else part for part in parts]
    return _begin(blocks), parts[0], parts[1], of.block_bytes


def _begin(blocks: Blocks) -> NDArray[np.uint64]:
    if blocks.is_whole:
        return blocks.accesses.request_begin
    return np.concatenate(([0], np.cumsum(blocks.lengths))).astype(np.uint64)


def equal_bytes(sizes: NDArray[np.uint32], parts: Iterable[NDArray[np.int64]]) -> int | None:
    """Return the bytes of requests at positions, if all are equal; None otherwise."""
    found: set[int] = set()
    if not len(sizes):
        return None
    for positions in parts:
        some = sizes[positions]
        found |= {int(some.min()), int(some.max())} if len(some) else set()
        if len(found) > 1:
            return None
    return found.pop() if found else 0


def interval_length(interval: str, *, has_clock: bool) -> int:
    """Parse the length of an interval, in ns, or in references without a clock.

    Raises
    ------
    ConfigError
        If the interval is none, or of another kind than the times.
    """
    with mistakes_in("interval"):
        if (length := length_of_time(interval, has_clock=has_clock)) == 0:
            raise ValueError("must be positive")
    return length


def length_of_time(text: str, *, has_clock: bool) -> int:
    """Parse a length of time, in ns, or in references without a clock.

    Raises
    ------
    ValueError
        If it is none, or of another kind than the times.
    """
    length, by_reference = parse_interval(text)
    if by_reference == has_clock:
        wanted = "such as 1h" if by_reference else "in references, such as '50000 references'"
        clock = "a" if by_reference else "no"
        raise ValueError(f"the trace has {clock} clock: give a length {wanted}")
    return length


def cuts_of(
    requests: NDArray[np.int64], times: NDArray[np.int64], length: int
) -> Iterator[tuple[int, int, int]]:
    """Yield number, first and end of intervals of requests; of adjacent empty ones the first.

    Intervals begin at the first request of the trace, and end with its last one.
    """
    if not len(times):
        return
    since = (times[requests].view(np.uint64) - times[:1].view(np.uint64)) // np.uint64(length)
    begins = np.flatnonzero(np.diff(since, prepend=since[:1])).tolist()
    begins = [0, *begins] if len(since) else []
    expected = 0
    for first, end in pairwise([*begins, len(since)]):
        number = int(since[first])
        if number > expected:
            yield expected, first, first
        yield number, first, end
        expected = number + 1
    if (int(times[-1]) - int(times[0])) // length >= expected:
        yield expected, len(since), len(since)


def bytes_of_block(what: str, value: int | str) -> int:
    """Read the size of a block: bytes, or as ``'4KiB'``.

    Raises
    ------
    ConfigError
        If it is none; the message begins with `what`.
    """
    with mistakes_in(what):
        size = parse_bytes(value)
    if not 0 < size < 2**32:
        raise ConfigError(f"{what}: expected 1 byte to 4 GiB less one, got {value!r}")
    return size
