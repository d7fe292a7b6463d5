"""Blocks of several VMs that are discarded while they share a cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsim._core import locality as _locality
from mcsim.references.pieces import Discarded


class VmDiscards(NamedTuple):
    """Blocks of several VMs that are discarded, in order."""

    at: NDArray[np.uint64]
    """Positions among the references of all VMs: before which reference."""
    block: NDArray[np.uint64]
    vm: NDArray[np.uint16]
    """VM of each block."""


def merged_discards(
    discards: Sequence[Discarded | None],
    first: NDArray[np.int64],
    counts: Sequence[int],
    places: NDArray[np.float64],
) -> VmDiscards | None:
    """Merge the discards of several VMs by place; None if there are none.

    Parameters
    ----------
    discards : sequence of (ndarray of uint64, ndarray of uint64) or None
        For each VM, positions among its references, and the blocks that are discarded before them.
    first : ndarray of int64
        The number to add to the blocks of each VM.
    counts : sequence of int
        References of each VM: its discards before reference k have the place k / count.
    places : ndarray of float64
        Places of all references, in order.
    """
    gone = [
        (vm, of[0] / counts[vm], of[1] + np.uint64(first[vm]))
        for vm, of in enumerate(discards)
        if of is not None
    ]
    if not gone:
        return None
    at = np.searchsorted(places, np.concatenate([place for _, place, _ in gone]))
    blocks = np.concatenate([block for *_, block in gone])
    vms = np.repeat(np.array([vm for vm, *_ in gone], np.uint16), [len(of[1]) for of in gone])
    order = np.argsort(at, kind="stable")
    return VmDiscards(at[order].astype(np.uint64), blocks[order], vms[order])


def distances_of(ids: NDArray[np.uint32], discards: Discarded | None) -> NDArray[np.int64]:
    """Return the reuse distance of each reference."""
    if discards is None:
        return _locality.reuse_distances(ids)
    return _locality.reuse_distances_with_discards(ids.astype(np.uint64), discards)


def positions_by_vm(vm: NDArray[np.uint16], vms: int) -> list[NDArray[np.int64]]:
    """Return the positions of each VM."""
    order = np.argsort(vm, kind="stable")
    return np.split(order, np.cumsum(np.bincount(vm, minlength=vms))[:-1])


def discards_by_vm(
    discards: VmDiscards | None, positions: Sequence[NDArray[np.int64]]
) -> list[Discarded | None]:
    """Return positions among the references of each VM, and its blocks discarded before them.

    `positions` are those of the references of each VM among all.
    """
    if discards is None:
        return [None] * len(positions)
    at, block, vm = discards
    rows = positions_by_vm(vm, len(positions))
    return [
        (np.searchsorted(own, at[row]).astype(np.uint64), block[row]) if len(row) else None
        for own, row in zip(positions, rows, strict=True)
    ]
