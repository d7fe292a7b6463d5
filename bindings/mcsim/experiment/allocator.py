"""Allocators written in Python: what they see, what they answer, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim.base.threads import run_in_main_thread
from mcsim.experiment.answers import (
    Extents,
    Migration,
    are_words,
    check_declared,
    check_possible,
    checked,
)
from mcsim.experiment.code import blamed
from mcsim.experiment.declared import Declared
from mcsim.locality.curve import HitRatioCurve

if TYPE_CHECKING:
    from mcsim._core.engine import Device
    from mcsim._core.locality import HitCurve


@dataclass(frozen=True, eq=False)
class Observation:
    """Input of an allocator when a timer fires: copies, which it may store.

    Arrays "by VM" have shape (vms,), in the order of `vms`; those "by tier and VM" have shape
    (tiers, vms), the fastest tier first. Counts are of the time since this timer last fired, or
    since the trace began. An access is one block of a request.

    Attributes
    ----------
    timer : str
        Name of the timer that fired; "interval" if the allocator declares none.
    interval : int
        Number of times that it has fired before.
    now : int
        Time at which it fired: nanoseconds, or references, since the trace began.
    vms : tuple of str
        Names of the VMs.
    accesses : int array, by VM
        Blocks that were read or written.
    reads : int array, by VM
        Accesses that read.
    requests : int array, by VM
        Requests that these accesses made up.
    unique_blocks : int array, by VM
        Distinct blocks accessed in the last period of the first timer.
    reuse_intensity : float array, by VM
        1 - distinct / all, of the last window of `ri_window` that closed.
    meters : mapping of str to array, dict or list
        Results of the allocator's own meters, by their names (`Allocator`).
    hits : int array, by tier and VM
        Accesses to blocks of the tier.
    write_hits : int array, by tier and VM
        Hits that wrote.
    misses : int array, by VM
        Accesses to blocks of no tier, except reads of blocks that a filter stages with their data.
    writes : int array, by VM
        Accesses that wrote.
    dirty : int array, by VM
        Blocks held at this time that the backend does not have.
    occupancy : int array, by tier and VM
        Blocks held when the interval ended.
    current : int array, by tier and VM
        Targets in force: the blocks that each VM is granted.
    departed : bool array, by VM
        VMs that have departed: they have no more counts, and need no space.
    arrived : bool array, by VM
        VMs that have arrived, also those that departed; without `arrives` from the start on.
    hosts : tuple of str
        Names of the hosts; none of one host.
    host : int array, by VM
        The host that it is on, an index into `hosts`.
    on_the_way : int array, by VM
        Blocks of its cache that have not come yet from the host that it left.
    capacities : int array, shape (tiers,)
        Blocks that can be granted, on each host.
    devices : tuple of Device
        Those of the tiers, and last that of the backend: ``name``, ``read_ns``, ``write_ns``,
        ``dollars_per_gb`` (nan: no price), ``iops`` and ``bandwidth`` (0: no limit), and
        ``busy_ns(bytes)``, how long an operation of that size keeps it busy.
    block_bytes : int
        Size of a block.
    tier_read_ns : float array, shape (tiers,)
        Time of a read from each tier, in ns.
    backend_read_ns : float
        Time of a read from the backend, in ns.
    vm_backend_ns : float array, by VM
        Time of a read from the VM's own storage, or else from the backend, in ns.
    latency_ns : float array, by VM
        Mean latency of an access, in ns; 0 for a VM without accesses.
    tier_latency_ns : float array, by tier and VM
        Mean latency of an access that the tier served, in ns.
    extents : Extents or None
        Placement and requests of every extent, if the host places extents.
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
        """Hits of an LRU cache of any size for each VM alone.

        By default they are of the last period of the first timer, in which the first access to a
        block is a miss. The allocator's ``distance_scope`` may be another.
        """
        return [curve_of(curve) for curve in self._curves]


def curve_of(curve: HitCurve) -> HitRatioCurve:
    """Convert a curve of the core to that of allocators."""
    capacities = np.concatenate([[0], curve.distances + 1])
    hits = np.concatenate([[0], curve.cumulative])
    return HitRatioCurve(capacities, hits.astype(np.float64), curve.accesses)


@dataclass(frozen=True, eq=False)
class Decision:
    """Changes that an allocator decides when a timer fires.

    Attributes
    ----------
    targets : int array of shape (tiers, vms), optional
        Blocks of each tier for each VM from now on, no more than there are; some may be left
        to nobody. As they are if not given.
    write_modes : sequence of str by VM, or array of str of shape (tiers, vms), optional
        ``"through"``, ``"back"`` or ``"around"``, for all tiers alike or by tier, which chains can
        that have several copies of a block. What a VM no longer writes back is written back at
        once: to the next slower tier that writes back, or to the backend. As they are if not given.
    infeasible : str
        Why what was asked for cannot be had, if it cannot; `Results.decisions` has it.
    admits : bool array, by VM, optional
        Whether blocks come in that are not in the cache. Of a VM that is shut out what is there
        stays, is served and moves between tiers, and leaves as space is needed; all else passes
        the cache by, and no filter of `admission` is asked for it. As it is if not given; at
        first all VMs are let in.
    migrations : sequence of Migration, optional
        VMs that move to other hosts; targets are of where they are then. None if not given.
    placements : int array of shape (extents,), optional
        The tier in which each extent is to live, the number of tiers for the backend, on a host
        that places them. What lives elsewhere moves. As they are if not given.
    """

    targets: ArrayLike | None = None
    write_modes: Sequence[str] | Sequence[Sequence[str]] | NDArray[np.str_] | None = None
    infeasible: str = ""
    admits: ArrayLike | None = None
    migrations: Sequence[Migration] | None = None
    placements: ArrayLike | None = None


class Allocator(Protocol):
    """A system of your own: any class with `allocate`.

    Parameters of the experiment file are arguments of its constructor. What it wants beside
    what is usual, attributes of the class or the object say:

    ``interval`` : int or str
        Time between decisions, such as ``"10min"``; that of the experiment if not given.
    ``timers`` : mapping of str to int, str or mapping
        Instead of `interval` several, by name, such as ``{"sizes": "10min", "reuse": "1min"}``.
        `allocate` is asked at each; of those that ring at one time the first is first. What is
        seen of the trace is of the first timer's intervals. One rings also before the first
        request if its value is ``{"every": "10min", "at_start": True}``, and then alone without
        ``"every"``: nothing has been counted then, and of curves those with foresight alone
        show anything.
    ``meters`` : mapping of str to mapping
        What to measure beside, by name: ``{"wss": {"meter": "distinct", "window": "1h"}}``, with
        ``"timer"`` for the one at which it is read, if that is not the first. There are
        ``curve`` (a list of `HitRatioCurve`, by VM), ``distinct`` and ``intensity`` (arrays by
        VM), ``load``, ``classes`` and ``responses`` (dicts of such arrays), with the parameters
        that ``mcsim describe`` shows of each, most of them a ``window`` of several intervals of
        the timer; and ``host``, at most once, what only the cache knows, all tiers taken
        together: a dict of arrays by VM, or None if another timer fired. ``distinct_hits`` counts
        blocks that were hit, ``touched`` blocks held that were accessed, ``peak`` the largest
        number of blocks held. A ``curve`` with
        ``"foresight": "next"`` is of the interval that begins, with ``"whole"`` of the whole trace:
        whoever asks for that is a yardstick, and marked as one (`Results.foresight`).

        ``load`` has ``requests`` (``read_requests`` and ``write_requests``) and ``accesses``
        (``reads`` and ``writes``), and with ``"bytes": True`` ``bytes_read`` and
        ``bytes_written``: those of requests as they were recorded, whatever blocks they touch, of
        traces that tell lengths. ``classes`` has accesses by what they do after what the last one
        to their block did, ``rar``, ``raw``, ``war`` and ``waw``, and those that find nothing
        before them, ``cold_reads`` and ``cold_writes``; what is remembered its ``scope`` says, as
        of curves. ``responses`` needs traces with response times: ``requests`` that have one,
        ``mean_ns`` of these, and ``outstanding``, the requests under way at a time, in the mean.
    ``ri_window`` : int or str
        The window of reuse intensity; 60 s if not given.
    ``distance_scope`` : {'interval', 'cumulative', 'warm'}
        What curves are of: the interval that ended, all since the trace began, or the interval
        with all that came before it remembered.
    ``actions`` : sequence of str
        What its decisions may have, of ``"targets"``, ``"write_modes"``, ``"admits"``,
        ``"write_modes_by_tier"`` where the chain of `data_path` has several copies of a block, and
        ``"migrations"`` where there are hosts; of a placed `host` there is ``"placements"`` alone.
        All of it if not given. What the host cannot change
        is refused as the experiment is loaded, and a decision that has more as it is taken.
    ``resize_mode`` : {'lazy', 'eager', 'strict-own'}
        How a VM that holds more than its target shrinks: as others need the space, at once,
        or when it brings a block in itself.
    ``data_path`` : dict
        Parameters of `hierarchy` (``mcsim describe hierarchy``) where they are not its
        defaults, such as ``{"policy": "arc", "writes": "back"}``.
    ``host`` : str or mapping
        Instead of tiers that are divided, ``"placed"`` or ``"classed"``, or a mapping with that as
        ``"name"`` and parameters, such as ``{"name": "placed", "extent": 64}``. On the placed host
        nothing is cached, and extents of so many blocks live where `Decision.placements` says, as
        under `hystor`, `vfrm` and `edt`; there are ``extent``, ``write_area`` and ``high_water``
        (``mcsim describe hystor``), and ``sizes``, of requests that `Observation.extents` counts
        apart, such as ``["4KiB", "16KiB"]``. The classed host is that of `dss`, with its
        parameters: what comes in and what leaves its classes decide, and nobody else.

    Examples
    --------
    >>> class Demand:
    ...     '''Every tier in proportion to the distinct blocks each VM touched.'''
    ...
    ...     def allocate(self, seen):
    ...         weight = seen.unique_blocks + 1
    ...         return seen.capacities[:, None] * weight // weight.sum()
    """

    def allocate(
        self, seen: Observation
    ) -> ArrayLike | tuple[ArrayLike, Sequence[str]] | Decision | None:
        """Divide the tiers for the time to come.

        Called on the thread that called `run`, where Ctrl-C ends it.

        Parameters
        ----------
        seen : Observation

        Returns
        -------
        int array of shape (tiers, vms), or that and a list of str, or Decision, or None
            Blocks of each tier for each VM, no more than there are; with a list, also each
            VM's write mode from now on (``"through"``, ``"back"`` or ``"around"``); all that
            can be decided is in a `Decision`. None leaves all as it is.
        """
        ...


class _Answering(Declared):
    """Stands before an allocator: shows it an `Observation`, and looks at what it answers."""

    def allocate(self, raw: Any) -> Any:
        """Ask the allocator; called by the core."""
        raw.meters = {name: _shown(value) for name, value in raw.meters.items()}
        raw.extents = None if raw.extents is None else Extents(**vars(raw.extents))
        seen = Observation(**vars(raw))
        doing = f"{self._name}: allocate() of {seen.timer} {seen.interval}"
        with blamed(doing):
            answer = run_in_main_thread(lambda: self._allocator.allocate(seen))
        if answer is None:
            return None
        if isinstance(answer, tuple) and len(answer) == 2 and are_words(answer[1]):
            answer = Decision(*answer)
        if not isinstance(answer, Decision):
            answer = Decision(answer)
        check_declared(answer, self.actions, doing)
        if self.host is not None:
            check_possible(answer, self.host[0], doing)
        return checked(answer, seen, doing)


def answering(allocator: Allocator, name: str) -> object:
    """Put what looks at its answers before an allocator.

    Parameters
    ----------
    allocator : Allocator
    name : str
        What messages call it.

    Returns
    -------
    object
        What the core takes.
    """
    # The core calls an allocator by the name of its class.
    kind = type(type(allocator).__name__, (_Answering,), {})
    return kind(allocator, name)


def _shown(meter: Any) -> Any:
    return [curve_of(curve) for curve in meter] if isinstance(meter, list) else meter
