"""Extents as allocators in Python see and place them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError

if TYPE_CHECKING:
    from mcsim.experiment.observation import Observation


@dataclass(frozen=True, eq=False)
class Extents:
    """Where every extent lives, and how it was asked for since the timer rang last.

    Arrays "by extent" have shape (extents,): the extents of the first VM, then those of the next.
    Those "by size and extent" have shape (sizes + 1, extents): of requests of at most as many
    bytes as the first of the host's `sizes`, of at most as many as the next, and of larger ones.
    A request counts for each extent that it touches, by its whole size. Of VMs that are gone
    nothing is counted, and their extents are in the backend.

    Attributes
    ----------
    blocks : int
        Blocks of an extent.
    rooms : int array, shape (tiers,)
        Extents that there is room for, beside the write area.
    vm : int array, by extent
        Whose it is, an index into `vms`.
    tier : int array, by extent
        Where it lives; the number of tiers stands for the backend.
    reads, writes : int array, by size and extent
        Requests.
    blocks_read, blocks_written : int array, by extent
        Blocks of these requests that lie in the extent.
    """

    blocks: int
    rooms: NDArray[np.int64]
    vm: NDArray[np.int64]
    tier: NDArray[np.int64]
    reads: NDArray[np.int64]
    writes: NDArray[np.int64]
    blocks_read: NDArray[np.int64]
    blocks_written: NDArray[np.int64]


def checked_placements(given: object, seen: Observation, doing: str) -> NDArray[np.int64]:
    """Return the tier of each extent, or say what is wrong with it."""
    doing = f"{doing}: placements"
    extents = seen.extents
    if extents is None:
        raise ConfigError(f'{doing}: the host caches blocks; `host = "placed"` places extents')
    tiers = len(extents.rooms)
    wanted = f"expected a tier from 0 to {tiers} for each of {len(extents.tier)} extents"
    try:
        array = np.asarray(given)
    except ValueError:
        raise ConfigError(f"{doing}: {wanted}, got rows of different lengths") from None
    if array.dtype.kind not in "iuf":
        raise ConfigError(f"{doing}: {wanted}, got {given!r:.60}")
    if array.shape != extents.tier.shape:
        raise ConfigError(f"{doing}: {wanted}, got an array of shape {array.shape}")
    # What is not a number is not at least 0.
    odd = np.flatnonzero(~((array >= 0) & (array <= tiers) & (array == np.rint(array))))
    for extent in odd[:1]:
        raise ConfigError(f"{doing}: {wanted}, got {array[extent]} for extent {extent}")
    placed = array.astype(np.int64)
    _check_gone(placed, extents, seen, doing)
    _check_room(placed, extents, doing)
    return placed


def _check_gone(placed: NDArray[np.int64], extents: Extents, seen: Observation, doing: str) -> None:
    for extent in np.flatnonzero(seen.departed[extents.vm] & (placed < len(extents.rooms)))[:1]:
        raise ConfigError(
            f"{doing}: extent {extent} is of {seen.vms[extents.vm[extent]]}, which is gone: it "
            f"stays in the backend, which is {len(extents.rooms)}, not in tier {placed[extent]}"
        )


def _check_room(placed: NDArray[np.int64], extents: Extents, doing: str) -> None:
    tiers = len(extents.rooms)
    counts = np.bincount(placed, minlength=tiers + 1)[:tiers]
    for tier in np.flatnonzero(counts > extents.rooms)[:1]:
        raise ConfigError(
            f"{doing}: {counts[tier]} extents in tier {tier}, which has room for "
            f"{extents.rooms[tier]}"
        )
