"""Allocators written in Python: observations, decisions and declarations."""

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
    check_declared,
    check_possible,
    checked,
    is_list_of_str,
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
        Blocks of each tier granted to each VM, at most the capacity in all; space may stay free.
        Unchanged by default.
    write_modes : sequence of str by VM, or array of str of shape (tiers, vms), optional
        ``"through"``, ``"back"`` or ``"around"``. Modes by tier need a chain that keeps several
        copies of a block. If a VM stops writing back, its dirty blocks are written back at once.
        They go to the next slower tier that writes back, or to the backend. Unchanged by default.
    infeasible : str
        Reason why a promise cannot be kept; stored in `Results.decisions`.
    admits : bool array, by VM, optional
        Whether missed blocks of a VM may enter the cache. Cached blocks of a blocked VM stay, hit,
        move between tiers and are evicted as usual. Its other accesses bypass the cache and the
        filter of `admission`. Unchanged by default; at first all VMs are admitted.
    migrations : sequence of Migration, optional
        VMs that move to other hosts; targets refer to the new hosts. No VM moves by default.
    placements : int array of shape (extents,), optional
        Tier of each extent on a placed host; the number of tiers stands for the backend. Extents
        elsewhere move. Unchanged by default.
    """

    targets: ArrayLike | None = None
    write_modes: Sequence[str] | Sequence[Sequence[str]] | NDArray[np.str_] | None = None
    infeasible: str = ""
    admits: ArrayLike | None = None
    migrations: Sequence[Migration] | None = None
    placements: ArrayLike | None = None


class Allocator(Protocol):
    """A system of your own: any class with `allocate`.

    Parameters in the experiment file are arguments of the constructor. Attributes of the class or
    the object override defaults:

    ``interval`` : int or str
        Time between decisions, such as ``"10min"``; by default that of the experiment.
    ``timers`` : mapping of str to int, str or mapping
        Several timers by name, in place of `interval`, such as
        ``{"sizes": "10min", "reuse": "1min"}``. `allocate` is called at each; timers that fire
        at the same time fire in this order. Observations of the trace cover intervals of the
        first timer. With ``{"every": "10min", "at_start": True}`` a timer also fires before
        the first request; without ``"every"`` it fires only then. At the start nothing has been
        counted, and only curves with foresight have values.
    ``meters`` : mapping of str to mapping
        Additional measurements by name: ``{"wss": {"meter": "distinct", "window": "1h"}}``, with
        ``"timer"`` if another timer than the first reads it. ``mcsim describe METER`` lists the
        parameters; most meters have a ``window`` of several intervals of the timer.

        - ``curve``: a list of `HitRatioCurve`, by VM. ``"foresight": "next"`` gives curves of
          the interval that begins, ``"whole"`` of the whole trace. Such an allocator is marked
          as a yardstick (`Results.foresight`).
        - ``distinct`` and ``intensity``: arrays by VM.
        - ``load``: a dict of arrays: ``requests``, ``read_requests``, ``write_requests``,
          ``accesses``, ``reads``, ``writes``. With ``"bytes": True`` also ``bytes_read`` and
          ``bytes_written``, the recorded bytes of requests; the trace must have lengths.
        - ``classes``: accesses by the operation and the previous one on their block: ``rar``,
          ``raw``, ``war``, ``waw``, ``cold_reads``, ``cold_writes``; `scope` as of curves.
        - ``responses``: ``requests`` with a response time, their ``mean_ns``, and
          ``outstanding``, the mean number of requests in progress.
        - ``host``, at most once: counts of the cache over all tiers, or None if another timer
          fired. ``distinct_hits`` counts distinct blocks that hit, ``touched`` held blocks that
          were accessed, ``peak`` the largest number of held blocks.
    ``ri_window`` : int or str
        Window of reuse intensity; 60 s by default.
    ``distance_scope`` : {'interval', 'cumulative', 'warm'}
        Accesses of curves: the last interval, all so far, or the last interval with a warm cache.
    ``actions`` : sequence of str
        Parts of its decisions, of ``"targets"``, ``"write_modes"``, ``"admits"``,
        ``"write_modes_by_tier"`` (chains with several copies), ``"migrations"`` (several hosts)
        and ``"placements"`` (placed hosts, which have no other). All by default. mcsim refuses
        actions that the host cannot perform when it loads the experiment, and other parts of
        a decision when it is made.
    ``resize_mode`` : {'lazy', 'eager', 'strict-own'}
        How a VM above its target shrinks: when others need space, at once, or when it inserts
        a block.
    ``data_path`` : dict
        Parameters of `hierarchy` (``mcsim describe hierarchy``) other than the defaults, such as
        ``{"policy": "arc", "writes": "back"}``. Without ``"writes"``, the write mode is that of all
        systems of the experiment, else ``"through"``.
    ``host`` : str or mapping
        ``"placed"`` or ``"classed"`` in place of divided tiers, or a mapping with ``"name"`` and
        parameters, such as ``{"name": "placed", "extent": 64}``. A placed host caches nothing;
        extents live where `Decision.placements` puts them, as under `hystor`, `vfrm` and `edt`.
        Its parameters are ``extent``, ``write_area``, ``high_water`` (``mcsim describe hystor``)
        and ``sizes``, limits of the size classes of `Observation.extents`, such as
        ``["4KiB", "16KiB"]``. A classed host has the parameters of `dss`; its classes alone
        decide admission and eviction.

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
    """Wrapper of an allocator: passes an `Observation`, and checks the decision."""

    def allocate(self, raw: Any) -> Any:
        """Call the allocator; called by the core."""
        raw.meters = {name: _shown(value) for name, value in raw.meters.items()}
        raw.extents = None if raw.extents is None else Extents(**vars(raw.extents))
        seen = Observation(**vars(raw))
        doing = f"{self._name}: allocate() of {seen.timer} {seen.interval}"
        with blamed(doing):
            answer = run_in_main_thread(lambda: self._allocator.allocate(seen))
        if answer is None:
            return None
        if isinstance(answer, tuple) and len(answer) == 2 and is_list_of_str(answer[1]):
            answer = Decision(*answer)
        if not isinstance(answer, Decision):
            answer = Decision(answer)
        check_declared(answer, self.actions, doing)
        if self.host is not None:
            check_possible(answer, self.host[0], doing)
        return checked(answer, seen, doing)


def answering(allocator: Allocator, name: str, writes: str | None = None) -> object:
    """Wrap an allocator so that its decisions are checked.

    Parameters
    ----------
    allocator : Allocator
    name : str
        Name in messages.
    writes : str, optional
        Write mode of a divided host, unless the allocator declares one.

    Returns
    -------
    object
        Object that the core accepts.
    """
    # The core calls an allocator by the name of its class.
    kind = type(type(allocator).__name__, (_Answering,), {})
    wrapped = kind(allocator, name)
    wrapped.set_default_writes(writes)
    return wrapped


def _shown(meter: Any) -> Any:
    return [curve_of(curve) for curve in meter] if isinstance(meter, list) else meter
