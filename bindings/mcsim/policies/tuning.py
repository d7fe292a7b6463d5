"""Tuning: a cache of one size under every policy, block size and write mode of a grid."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import engine, locality
from mcsim._core import policies as _policies
from mcsim.base.arguments import seed_given, text
from mcsim.base.columns import keys_of
from mcsim.base.errors import ConfigError, OutOfMemoryError, mistakes_in
from mcsim.base.sizes import is_share, parse_capacity, share_given
from mcsim.base.suggest import did_you_mean
from mcsim.base.threads import Pool, threads_given
from mcsim.base.units import format_bytes, format_size
from mcsim.config.device_choice import device_given, devices_given
from mcsim.config.devices import Device
from mcsim.config.latency import WriteMode
from mcsim.policies.bands import squares_of_places
from mcsim.policies.deployed_tuning import deployed_in, settings_of, tune_deployed
from mcsim.policies.grid import WHOLE, WRITES, Grid, Point
from mcsim.policies.miniatures import seeds_of_samples
from mcsim.policies.scaled import OBJECTIVES, Counted, Objective, rows_of
from mcsim.policies.simulation import memory_given
from mcsim.references.blocks import Blocks, References
from mcsim.references.given import traces_in
from mcsim.references.warm_up import check_no_warm_up
from mcsim.references.workload import Workload, vms_of
from mcsim.tables.result_table import ResultTable
from mcsim.traces.trace import Trace

_DIRTY_BYTES = 9
"""Memory of write-back for each block of the trace."""


def tune(
    references: References,
    size: int | float | str,
    *,
    policies: str | Sequence[str] = "lru",
    block_bytes: Sequence[int | str] = ("4KiB", "8KiB", "16KiB", "32KiB", "64KiB"),
    sub_block_bytes: Sequence[int | str] = (WHOLE,),
    writes: Sequence[WriteMode] = WRITES,
    rate: float | str = 1,
    seeds: int | Sequence[int] = 5,
    objective: Objective = "hit-ratio",
    tier: str = "flash",
    backend: str = "hdd",
    devices: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    seed: int = 1,
    threads: int | None = None,
    memory: int | str | None = None,
    told: Callable[[Sequence[Point], NDArray[np.int64]], object] | None = None,
    progress: Callable[[int], object] | None = None,
) -> ResultTable:
    """Replay traces through a cache of one size for every combination of its parameters.

    All VMs share the cache. Requests are cut where blocks of the largest size begin, so that
    the same pieces are counted whatever the block size, and a sample has all or none of the
    pieces at one place: what is near to each other stays together.

    A block, or a sub-block, is read and written whole, also if a request covers a part. A write
    reads nothing. An operation of a device takes the time that the
    catalogue has for a block, whatever the size.

    Parameters
    ----------
    references : Trace, sequence of Trace, Blocks, or array_like of int, shape (n,)
        Requests, reads and writes, merged by time; every VM has its own blocks. `Blocks` stand for
        the requests that they were made of, divided into other blocks. Each number of an array is
        the address of a read of one block of the smallest size.
    size : int, float or str
        Size of the cache: blocks of the smallest size, ``'1GiB'``, or ``'1%'`` of all accessed
        blocks.
    policies : str or sequence of str
        Eviction policies, as of `simulate`; or deployed caches alone, such as ``'dm-cache'``. These
        are replayed with every combination of the settings in `mcsim.base.deployed.SETTINGS` that
        they do not state. Their requests are not cut, their hits are of requests, and they
        ignore `block_bytes`, `sub_block_bytes`, `seeds`, `seed`, `memory` and `told`.
    block_bytes : sequence of int or str
        Block sizes.
    sub_block_bytes : sequence of int or str
        Units of loading, each combined with every block size: ``'none'`` loads whole blocks,
        ``'4KiB'`` loads 4 KiB of a block, which is evicted whole (see `simulate_lines`).
    writes : sequence of {'through', 'back', 'around'}
        Write modes.
    rate : float or str
        Sampling rate: ``0.01``, ``'1%'`` or ``'1/16'``; 1 replays all. The rate is doubled until
        the miniature cache has 100 of the largest blocks.
    seeds : int or sequence of int
        Seeds of samples, as of `miniature`; the estimate is the mean over samples.
    objective : {'hit-ratio', 'latency', 'device-writes', 'backend-writes'}
        Sort key of the rows, the best first. Ties are ordered by the other three, in this order.
    tier, backend : str
        Devices of the catalogue (see `device_names`) or of `devices`, or latencies such as
        ``'4ms'``.
    devices : mapping or sequence of str, optional
        Other devices by name, as in an experiment, ``{"mine": {"read": "80us", "write": "20us"}}``;
        or each as ``'mine=read:80us,write:20us'``.
    seed : int
        Seed of policies with random choices.
    threads : int, optional
        Caches at a time; all cores if not given.
    memory : int or str, optional
        Limit of the memory of all caches at work, as of `simulate`. The interned blocks of the
        requests, and the foresight of `opt`, need more.
    told : callable, optional
        Callback ``told(points, bytes)``: estimated memory of each cache of a block size, called
        before these are replayed.
    progress : callable, optional
        ``progress(caches_done)``; each sample of a cache counts.

    Returns
    -------
    ResultTable
        A row for every point of the grid: ``policy``, ``writes``, ``block`` and ``sub_block``
        (bytes; equal where blocks are whole); ``hit_ratio`` (share of the pieces read that did
        not wait for the backend), ``latency_ns`` (mean of all pieces), ``device_writes``,
        ``backend_reads`` and ``backend_writes`` (bytes), each followed by half its 95 % band
        over the seeds in a column ``…_margin`` (nan where there is none, 0 where nothing is
        sampled); ``no_band`` (why there is no band; empty where there is one), ``dirty``
        (bytes at the end that are still to be written back), ``pareto``
        (no other is as good in all four objectives and better in one), ``rate``,
        ``correction`` (``'none'`` or ``'adj'``, ``'exact'`` at rate 1) and ``bytes`` (what the
        cache needs, the maximum of all samples).

    Raises
    ------
    ConfigError
        If the grid is impossible, or an argument is wrong.
    OutOfMemoryError
        If a cache alone needs more than `memory`.

    Notes
    -----
    As of `miniature`, there are two estimates of a count: the sample's, scaled by how much of
    the reads, or of the writes, it has, and the same scaled by the rate. That with the narrower
    bands of hit ratios is taken, with one seed the second. A band is by how much the estimates vary
    over the seeds, but never less than it must be, as samples may all lack the same few places:
    how unevenly reads and writes are spread over places is estimated of all of them. How many
    blocks are written is known, and so what goes to the backend if it is not written back.

    Examples
    --------
    >>> trace = mc.Trace.from_arrays([0, 1, 2, 3], [0, 4096, 0, 4096], 4096, source="few")
    >>> rows = mc.tune(trace, "8KiB", block_bytes=["4KiB", "8KiB"], writes=["through"])
    >>> rows[["block", "hit_ratio"]].tolist()
    [(8192, 0.75), (4096, 0.5)]
    """
    _check_objective(objective)
    rate = share_given("rate", rate)
    own = devices_given("devices", devices)
    used_devices = (device_given("tier", tier, own), device_given("backend", backend, own))
    if deployed := deployed_in(policies):
        settings = settings_of(deployed, writes, rate)
        work = used_devices, threads_given(threads), progress
        return tune_deployed(references, size, settings, objective, *work)
    layouts = (policies, block_bytes, sub_block_bytes, writes)
    grid = Grid.asked(size, *layouts)
    chosen = seeds_of_samples(seeds)
    if is_share(size):
        grid = Grid.asked(blocks_of_share(size, references, grid.smallest), *layouts)
    used = grid.rate(rate, len(chosen))
    replay = _Replay(
        *workload_of(references, grid.smallest),
        grid,
        used_devices,
        used,
        seed_given(seed),
        threads_given(threads),
        _Room(memory_given(memory)),
        told,
        progress,
    )
    samples = [replay.sample(one) for one in (chosen if used < 1 else [1])]
    squares = np.zeros(2)
    if used < 1:
        squares = squares_of_places(replay.workload, replay.ops, grid.largest)
    return rows_of(grid, samples, used, objective, squares)


def _check_objective(objective: str) -> None:
    if text("objective", objective) not in OBJECTIVES:
        raise ConfigError(
            f"objective: {objective!r}{did_you_mean(objective, OBJECTIVES)}; one of "
            f"{', '.join(OBJECTIVES)}"
        )


class _Room:
    """Memory, in bytes, for which the caches at work wait."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._free = size
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Wait until there is room, and have it; `size` is at most that of all."""
        with self._changed:
            self._changed.wait_for(lambda: self._free >= size)
            self._free -= size
        try:
            yield
        finally:
            with self._changed:
                self._free += size
                self._changed.notify_all()


@dataclass
class _Replay:
    """Replays every point of the grid over samples of a workload."""

    workload: Workload
    ops: Literal["reads", "all"]
    grid: Grid
    devices: tuple[Device, Device]
    rate: float
    seed: int
    threads: int
    room: _Room
    told: Callable[[Sequence[Point], NDArray[np.int64]], object] | None
    progress: Callable[[int], object] | None
    done: int = field(default=0, init=False)
    _counting: threading.Lock = field(default_factory=threading.Lock, init=False)

    def sample(self, seed: int) -> list[Counted]:
        """Return the estimates of one sample for every point."""
        found: dict[int, Counted] = {}
        for (block, sub_block), members in self.grid.by_layout():
            view = {
                "block_bytes": sub_block,
                "ops": self.ops,
                "line_blocks": block // sub_block,
                "cut_bytes": self.grid.largest,
                "sample_rate": self.rate,
                "sample_seed": seed,
            }
            accesses = self.workload.intern(view)
            if accesses.request_count == 0:
                raise ConfigError(
                    "rate: the sample is empty; try a higher one"
                    if self.rate < 1
                    else "tune: there are no requests"
                )
            points = [self.grid.points[i] for i in members]
            needed = self._needed(accesses, points)
            if self.told is not None:
                self.told(points, needed)
            with Pool(min(self.threads, len(members))) as pool:
                measured = [
                    pool.submit(self._measure, accesses, point, bytes_needed, pool)
                    for point, bytes_needed in zip(points, needed.tolist(), strict=True)
                ]
            found |= zip(members, (one.result() for one in measured), strict=True)
        return [found[i] for i in range(len(self.grid.points))]

    def _capacity(self, point: Point) -> int:
        """Return how many sub-blocks the cache, or its miniature, has."""
        lines = max(1, round(self.rate * (self.grid.size // point.block)))
        return lines * (point.block // point.sub_block)

    def _needed(self, accesses: engine.Accesses, points: Sequence[Point]) -> NDArray[np.int64]:
        """Return the bytes that each cache will hold; an error if one is too many."""
        of_caches = _policies.memory_needed(
            accesses.ids,
            accesses.id_count,
            [(p.policy.policy, p.policy.declared(), self._capacity(p)) for p in points],
            one_pass=False,
            line_blocks=accesses.line_blocks,
        )
        dirty = [_DIRTY_BYTES * accesses.id_count * (p.writes == "back") for p in points]
        needed = np.asarray(of_caches + np.array(dirty, dtype=np.int64))
        for point, size in zip(points, needed, strict=True):
            if size > self.room.size:
                raise OutOfMemoryError(
                    f"memory: {point.policy} with blocks of {format_bytes(point.block)} needs "
                    f"{format_size(size)} of the {format_size(self.room.size)} that there may be; "
                    "larger blocks and a lower rate need less"
                )
        return needed

    def _measure(self, accesses: engine.Accesses, point: Point, needed: int, pool: Pool) -> Counted:
        with self.room.taken(needed):
            counted = self._replayed(accesses, point, needed, pool)
        with self._counting:
            self.done += 1
            if self.progress is not None:
                self.progress(self.done)
        return counted

    def _replayed(
        self, accesses: engine.Accesses, point: Point, needed: int, pool: Pool
    ) -> Counted:
        tier, backend = (
            engine.Device(d.name, d.read_ns.middle, d.write_ns.middle, 0) for d in self.devices
        )
        machine = engine.Machine([(tier, self._capacity(point))], backend)
        system = engine.System("hierarchy", point.params, machine, seed=self.seed)
        cuts = np.array([0, accesses.request_count], dtype=np.int64)
        result = engine.run(
            accesses, system, locality.Characterised(), cuts, lambda _: pool.check()
        )
        of_tier = {name: int(counts.sum()) for name, counts in result.tiers.items()}
        of_vms = {name: int(counts.sum()) for name, counts in result.vms.items()}
        return Counted(
            point,
            self.devices,
            self.rate,
            of_tier,
            of_vms,
            accesses.given,
            needed,
            accesses.id_count,
        )


def blocks_of_share(size: float | str, references: References, block_bytes: int) -> int:
    """Return the number of blocks of this size in a share of all that is accessed.

    Raises
    ------
    ConfigError
        If it is no share, or there is nothing to take one of.
    """
    workload, ops = workload_of(references, block_bytes)
    view = {"block_bytes": block_bytes, "ops": ops, "key": "aligned"}
    accesses = workload.intern(view | {"whole_seconds": False, "line_blocks": 1})
    with mistakes_in("size"):
        return parse_capacity(size, accesses.id_count, None)


_OBJECTS = (
    "references: an object trace: there is no size of blocks to tune; to choose a policy, use "
    "`mcsim compare`, or `mcsim mrc --policies … --mini` with samples"
)


def workload_of(
    references: References, block_bytes: int
) -> tuple[Workload, Literal["reads", "all"]]:
    """Return requests and their counted operations; an array becomes reads of `block_bytes`."""
    if isinstance(references, Blocks):
        check_no_warm_up(references, "tune")
        if not references.is_whole:
            raise ConfigError("references: these blocks are a part of others; tune a Trace")
        if references.kind == "objects":
            raise ConfigError(_OBJECTS)
        return references.workload, "reads" if references.ops_kept == "reads" else "all"
    traces = traces_in(references)
    if traces is None:
        keys = keys_of(cast(ArrayLike, references)).astype(np.uint64, copy=False)
        if keys.size and int(keys.max()) >= 2**64 // block_bytes:
            raise ConfigError(
                f"references: block {keys.max()} of {format_bytes(block_bytes)} ends beyond 2^64"
            )
        offset = keys * np.uint64(block_bytes)
        time = np.arange(keys.size)
        traces = [Trace.from_arrays(time, offset, block_bytes, time_base="index")]
    if any(trace.kind == "objects" for trace in traces):
        raise ConfigError(_OBJECTS)
    return Workload(vms_of(traces), synthetic=False), "all"
