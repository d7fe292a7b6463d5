"""What allocators in Python see when a timer rings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim.experiment.answers import Extents
from mcsim.locality.curve import HitRatioCurve

if TYPE_CHECKING:
    from mcsim._core.engine import Device
    from mcsim._core.locality import HitCurve


@dataclass(frozen=True, eq=False)
class Observation:
    """What an allocator sees when a timer rings: copies, which it may keep.

    Arrays "by VM" have shape (vms,), in the order of `vms`; those "by tier and VM" have shape
    (tiers, vms), the fastest tier first. Counts are of the time since this timer rang last, or
    since the trace began; what a cache is called for, blocks, is counted per access, and a
    request of several blocks makes several accesses.

    Attributes
    ----------
    timer : str
        Which timer rang; "interval" if the allocator declares none.
    interval : int
        How often it had rung before.
    now : int
        When it rang: nanoseconds, or references, since the trace began.
    vms : tuple of str
        Names of the VMs.
    accesses : int array, by VM
        Blocks that were read or written.
    reads : int array, by VM
        Of these, those that were read.
    requests : int array, by VM
        Requests that these accesses made up.
    unique_blocks : int array, by VM
        Distinct blocks accessed in the last period of the first timer.
    reuse_intensity : float array, by VM
        1 - distinct / all, of the last window of `ri_window` that closed.
    meters : mapping of str to array, dict or list
        What the allocator wants measured beside, by the names that it gave (`Allocator`).
    hits : int array, by tier and VM
        Accesses whose block the tier had.
    write_hits : int array, by tier and VM
        Those of them that wrote.
    misses : int array, by VM
        Accesses that no tier had, but for reads of what a filter has staged with its data.
    writes : int array, by VM
        Accesses that wrote.
    dirty : int array, by VM
        Blocks held at this time that the backend does not have.
    occupancy : int array, by tier and VM
        Blocks held when the interval ended.
    current : int array, by tier and VM
        Targets in force: the blocks that each VM is granted.
    departed : bool array, by VM
        VMs that are gone: nothing is counted of them any more, and they need no space.
    arrived : bool array, by VM
        VMs that have arrived, also those that departed; without `arrives` from the start on.
    hosts : tuple of str
        Names of the hosts; none of one host.
    host : int array, by VM
        The host that it is on, an index into `hosts`.
    on_the_way : int array, by VM
        Blocks of its cache that have not come yet from the host that it left.
    capacities : int array, shape (tiers,)
        Blocks that there are to grant, on each host.
    devices : tuple of Device
        Those of the tiers, and last that of the backend: ``name``, ``read_ns``, ``write_ns``,
        ``dollars_per_gb`` (nan: no price), ``iops`` and ``bandwidth`` (0: no limit), and
        ``busy_ns(bytes)``, how long an operation of that size keeps it busy.
    block_bytes : int
        Size of a block.
    tier_read_ns : float array, shape (tiers,)
        What a read from each tier takes, in ns.
    backend_read_ns : float
        What a read from the backend takes, in ns.
    vm_backend_ns : float array, by VM
        The same for VMs whose storage is another.
    latency_ns : float array, by VM
        What an access waited for, in the mean, in ns; 0 for a VM that had none.
    tier_latency_ns : float array, by tier and VM
        The same of those that each tier served.
    extents : Extents or None
        Where every extent lives and how it was asked for, of a host that places them.
    """

    timer: str
    interval: int
    now: int
    vms: tuple[str, ...]
    accesses: NDArray[np.int64]
    reads: NDArray[np.int64]
    requests: NDArray[np.int64]
    unique_blocks: NDArray[np.int64]
    reuse_intensity: NDArray[np.float64]
    hits: NDArray[np.int64]
    write_hits: NDArray[np.int64]
    misses: NDArray[np.int64]
    writes: NDArray[np.int64]
    dirty: NDArray[np.int64]
    occupancy: NDArray[np.int64]
    current: NDArray[np.int64]
    departed: NDArray[np.bool_]
    arrived: NDArray[np.bool_]
    hosts: tuple[str, ...]
    host: NDArray[np.int64]
    on_the_way: NDArray[np.int64]
    capacities: NDArray[np.int64]
    devices: tuple[Device, ...]
    block_bytes: int
    tier_read_ns: NDArray[np.float64]
    backend_read_ns: float
    vm_backend_ns: NDArray[np.float64]
    latency_ns: NDArray[np.float64]
    tier_latency_ns: NDArray[np.float64]
    meters: Mapping[str, Any]
    extents: Extents | None = None
    _curves: Sequence[HitCurve] = field(default=(), repr=False)

    @cached_property
    def curves(self) -> list[HitRatioCurve]:
        """Hits of an LRU cache of any size, by VM: of this interval, or of all so far.

        Of the last period of the first timer, in which the first access to a block is a miss,
        unless the allocator has said another ``distance_scope``. They are what a VM would hit on
        its own.
        """
        return [curve_of(curve) for curve in self._curves]


def curve_of(curve: HitCurve) -> HitRatioCurve:
    """Return a curve of the core as allocators see it."""
    capacities = np.concatenate([[0], curve.distances + 1])
    hits = np.concatenate([[0], curve.cumulative])
    return HitRatioCurve(capacities, hits.astype(np.float64), curve.accesses)
