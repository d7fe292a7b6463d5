"""Tuning: a cache of one size under every policy, block size and write mode of a grid."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mcsim._core import engine
from mcsim._core import policies as _policies
from mcsim.base.errors import ConfigError, OutOfMemoryError
from mcsim.base.suggest import did_you_mean
from mcsim.base.units import format_bytes, format_size, parse_bytes
from mcsim.config.devices import Device, device_named
from mcsim.locality.measure import vms_of
from mcsim.policies.miniatures import margin_of, rates_of, varies_less
from mcsim.policies.simulation import PolicySpec, memory_given, parse_policies, threads_given
from mcsim.traces.workload import Workload

if TYPE_CHECKING:
    from mcsim.traces.trace import Trace

__all__ = ["ESTIMATES", "OBJECTIVES", "Grid", "Objective", "Point", "tune"]

Objective = Literal["hit-ratio", "latency", "device-writes", "backend-writes"]
OBJECTIVES = {
    "hit-ratio": "hit_ratio",
    "latency": "latency_ns",
    "device-writes": "device_writes",
    "backend-writes": "backend_writes",
}
"""The columns that there are to choose by."""

ESTIMATES = ("hit_ratio", "latency_ns", "device_writes", "backend_reads", "backend_writes")

Correction = Literal["none", "adj"]
_CORRECTIONS: tuple[Correction, ...] = ("none", "adj")
WriteMode = Literal["through", "back", "around"]
WHOLE = "none"

_DIRTY_BYTES = 9
"""What writing back takes for each block of the trace."""


def tune(
    traces: Trace | Sequence[Trace],
    size: int | str,
    *,
    policies: str | Sequence[str] = "lru",
    blocks: Sequence[int | str] = ("4KiB", "8KiB", "16KiB", "32KiB", "64KiB"),
    sub_blocks: Sequence[int | str] = (WHOLE,),
    writes: Sequence[WriteMode] = ("through",),
    rate: float = 1,
    seeds: int | Sequence[int] = 5,
    objective: Objective = "hit-ratio",
    tier: str = "flash",
    backend: str = "hdd",
    seed: int = 1,
    threads: int | None = None,
    memory: int | str | None = None,
    told: Callable[[Sequence[Point], NDArray[np.int64]], object] | None = None,
    progress: Callable[[int], object] | None = None,
) -> np.recarray[Any, Any]:
    """Replay traces through a cache of one size for every combination of its parameters.

    All VMs share the cache. Requests are cut where blocks of the largest size begin, so that
    the same pieces are counted whatever the block size, and a sample has all or none of the
    pieces at one place: what is near to each other stays together.

    A block, or a sub-block, is read and written whole: what a request covers of it counts as
    all of it, and a write reads nothing. An operation of a device takes the time that the
    catalogue has for a block, whatever the size.

    Parameters
    ----------
    traces : Trace or sequence of Trace
        Merged by time; every VM has its own blocks.
    size : int or str
        Of the cache, in bytes or as ``'1GiB'``.
    policies : str or sequence of str
        As of `simulate`.
    blocks : sequence of int or str
        Block sizes.
    sub_blocks : sequence of int or str
        What is loaded at a time: ``'none'`` stands for whole blocks, ``'4KiB'`` for 4 KiB out
        of a block, which is evicted whole (see `simulate_lines`). Each with every block size.
    writes : sequence of {'through', 'back', 'around'}
        What becomes of writes.
    rate : float
        Share of the pieces in a sample, in (0, 1]; 1 replays all. It is doubled until the
        cache, which is a miniature of that rate, has 100 of the largest blocks.
    seeds : int or sequence of int
        Of samples, as of `miniature`; the estimate is the mean over them.
    objective : {'hit-ratio', 'latency', 'device-writes', 'backend-writes'}
        By what the rows are sorted, the best first.
    tier, backend : str
        Devices of the catalogue, whose latencies are taken.
    seed : int
        Of policies that draw.
    threads : int, optional
        Caches at a time; all cores if not given.
    memory : int or str, optional
        What the caches at work may hold together, as of `simulate`; the blocks of the requests,
        interned, come on top, and what `opt` is told of the future.
    told : callable, optional
        ``told(points, bytes)``: about what each of the caches that share a block size will hold,
        before they are replayed.
    progress : callable, optional
        ``progress(caches_done)``; each sample of a cache counts.

    Returns
    -------
    recarray
        A row for every point of the grid: ``policy``, ``writes``, ``block`` and ``sub_block``
        (bytes; equal where blocks are whole); ``hit_ratio`` (share of the pieces read that did
        not wait for the backend), ``latency_ns`` (mean of all pieces), ``device_writes``,
        ``backend_reads`` and ``backend_writes`` (bytes), each followed by half its 95 % band
        over the seeds in a column ``…_margin`` (nan with one seed, 0 where nothing is
        sampled); ``dirty`` (bytes at the end that are still to be written back), ``pareto``
        (no other is as good in all four objectives and better in one), ``rate``,
        ``correction`` (``'none'`` or ``'adj'``, ``'exact'`` at rate 1) and ``bytes`` (what the
        cache was said to hold, the most of all samples).

    Raises
    ------
    ConfigError
        If the grid is impossible, or an argument is wrong.
    OutOfMemoryError
        If a cache alone needs more than `memory`.

    Notes
    -----
    As of `miniature`, there are two estimates of a count: the sample's, scaled by how much of
    the reads, or of the writes, it has, and the same scaled by the rate. That whose hit ratios
    vary less over the seeds is taken, with one seed the second. How many blocks are written is
    known, and so what goes to the backend if it is not written back.

    Examples
    --------
    >>> from mcsim.traces.trace import Trace
    >>> trace = Trace.from_arrays([0, 1, 2, 3], [0, 4096, 0, 4096], 4096, source="few")
    >>> rows = tune(trace, "8KiB", blocks=["4KiB", "8KiB"])
    >>> rows[["block", "hit_ratio"]].tolist()
    [(8192, 0.75), (4096, 0.5)]
    """
    grid = Grid.asked(size, policies, blocks, sub_blocks, writes)
    if objective not in OBJECTIVES:
        raise ConfigError(
            f"objective: {objective!r}{did_you_mean(objective, OBJECTIVES)}; one of "
            f"{', '.join(OBJECTIVES)}"
        )
    if not 0 < rate <= 1:
        raise ConfigError(f"rate: {rate} is outside (0, 1]")
    chosen = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not chosen:
        raise ConfigError("seeds: expected at least one")
    devices = (device_named("tier", tier), device_named("backend", backend))
    used = grid.rate(rate, len(chosen))
    replay = _Replay(
        Workload(vms_of(traces if isinstance(traces, Sequence) else [traces]), synthetic=False),
        grid,
        devices,
        used,
        seed,
        threads_given(threads),
        _Room(memory_given(memory)),
        told,
        progress,
    )
    samples = [replay.sample(one) for one in (chosen if used < 1 else [1])]
    return _rows(grid, samples, used, objective)


@dataclass(frozen=True)
class Point:
    """One cache of the grid."""

    policy: PolicySpec
    block: int
    sub_block: int
    writes: WriteMode

    @property
    def key(self) -> tuple[str, int, int, str]:
        """Return what tells it from others."""
        return str(self.policy), self.block, self.sub_block, self.writes

    @property
    def layout(self) -> tuple[int, int]:
        """Return what the trace is interned by."""
        return self.block, self.sub_block

    @property
    def params(self) -> dict[str, Any]:
        """Return the parameters of the data path."""
        given = ",".join(f"{key}={value}" for key, value in self.policy.params.items())
        policy = f"{self.policy.name}({given})" if given else self.policy.name
        return {"policy": policy, "writes": self.writes, "line": self.block // self.sub_block}


@dataclass(frozen=True)
class Grid:
    """What is to be tried, in the order in which it was asked for."""

    size: int
    points: list[Point]

    @classmethod
    def asked(
        cls,
        size: int | str,
        policies: str | Sequence[str],
        blocks: Sequence[int | str],
        sub_blocks: Sequence[int | str],
        writes: Sequence[WriteMode],
    ) -> Grid:
        """Read what `tune` is given."""
        texts = [policies] if isinstance(policies, str) else policies
        specs = [spec for text in texts for spec in parse_policies(text)]
        of_size = _bytes("size", size)
        sizes = [_bytes("block", block) for block in blocks]
        for mode in writes:
            if mode not in get_args(WriteMode):
                known = get_args(WriteMode)
                raise ConfigError(
                    f"writes: {mode!r}{did_you_mean(mode, known)}; one of {', '.join(known)}"
                )
        layouts = [
            (block, block if sub == WHOLE else _bytes("sub-block", sub))
            for block in sizes
            for sub in sub_blocks
        ]
        for block, sub in layouts:
            _check(of_size, block, sub)
        if odd := [block for block in sizes if max(sizes) % block]:
            raise ConfigError(
                f"block: {format_bytes(max(sizes))}, the largest, are no multiple of "
                f"{format_bytes(odd[0])}"
            )
        points = [
            Point(spec, block, sub, mode)
            for spec in specs
            for block, sub in layouts
            for mode in writes
        ]
        if not points:
            raise ConfigError("tune: there is nothing to try")
        # Each once, however often it was asked for.
        return cls(of_size, list({point.key: point for point in points}.values()))

    @property
    def largest(self) -> int:
        """Return the largest block size."""
        return max(point.block for point in self.points)

    def rate(self, rate: float, seeds: int) -> float:
        """Return the share of the pieces that is sampled for all points."""
        return rates_of([self.size // self.largest], rate, seeds)[0] if rate < 1 else 1

    def by_layout(self) -> Iterator[tuple[tuple[int, int], list[int]]]:
        """Yield the positions of the points that have a layout in common."""
        for layout in dict.fromkeys(point.layout for point in self.points):
            yield layout, [i for i, point in enumerate(self.points) if point.layout == layout]


def _check(size: int, block: int, sub_block: int) -> None:
    if block > size:
        raise ConfigError(
            f"size: {format_bytes(size)} are less than one block of {format_bytes(block)}"
        )
    if sub_block > block:
        raise ConfigError(
            f"block: {format_bytes(block)} are less than a sub-block of {format_bytes(sub_block)}; "
            "leave out the smaller block sizes"
        )
    if block % sub_block:
        raise ConfigError(
            f"block: {format_bytes(block)} are no multiple of a sub-block of "
            f"{format_bytes(sub_block)}"
        )


def _bytes(what: str, value: int | str) -> int:
    try:
        size = parse_bytes(value)
    except ValueError as error:
        raise ConfigError(f"{what}: {error}") from None
    if size < 1:
        raise ConfigError(f"{what}: must be positive")
    return size


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
    grid: Grid
    devices: tuple[Device, Device]
    rate: float
    seed: int
    threads: int
    room: _Room
    told: Callable[[Sequence[Point], NDArray[np.int64]], object] | None
    progress: Callable[[int], object] | None
    done: int = field(default=0, init=False)

    def sample(self, seed: int) -> list[_Counted]:
        """Return what one sample says of every point."""
        found: dict[int, _Counted] = {}
        for (block, sub_block), members in self.grid.by_layout():
            view = {
                "block_bytes": sub_block,
                "ops": "all",
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
            with ThreadPoolExecutor(min(self.threads, len(members))) as pool:
                measured = pool.map(self._measure, repeat(accesses), points, needed.tolist())
                for i, one in zip(members, measured, strict=True):
                    found[i] = one
                    self.done += 1
                    if self.progress is not None:
                        self.progress(self.done)
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

    def _measure(self, accesses: engine.Accesses, point: Point, needed: int) -> _Counted:
        with self.room.taken(needed):
            return self._replayed(accesses, point, needed)

    def _replayed(self, accesses: engine.Accesses, point: Point, needed: int) -> _Counted:
        tier, backend = (
            engine.Device(d.name, d.read_ns.middle, d.write_ns.middle, d.dollars_per_gb.middle)
            for d in self.devices
        )
        machine = engine.Machine([(tier, self._capacity(point))], backend)
        system = engine.System("hierarchy", point.params, machine, seed=self.seed)
        cuts = np.array([0, accesses.request_count], dtype=np.int64)
        result = engine.run(accesses, system, None, cuts)
        of_tier = {name: int(counts.sum()) for name, counts in result.tiers.items()}
        of_vms = {name: int(counts.sum()) for name, counts in result.vms.items()}
        return _Counted(point, self.devices, self.rate, of_tier, of_vms, accesses.given, needed)


@dataclass(frozen=True)
class _Counted:
    """What a replay of a sample counted, of all VMs together, and what follows for the whole."""

    point: Point
    devices: tuple[Device, Device]
    rate: float
    tier: dict[str, int]
    vms: dict[str, int]
    given: dict[str, list[int]]
    """How much there is in the whole, by operation."""
    bytes: int
    """What the cache held."""

    def estimates(self, correction: Correction) -> dict[str, float]:
        """Return estimates of all columns, those of bytes in bytes."""
        tier, backend = self.devices
        back, around = self.point.writes == "back", self.point.writes == "around"
        read, write = self._scales("requests", correction)
        of_reads, of_writes = self._scales("accesses", correction)
        all_reads, all_writes = self.given["requests"]
        all_written = self.given["accesses"][1]
        waiting = (tier if back else backend).write_ns.middle  # for a write that hits
        missed = read * self.vms["read_requests"]
        lost = write * self.vms["write_requests"] if back else 0.0
        ns = (
            missed * backend.read_ns.middle
            + (all_reads - missed) * tier.read_ns.middle
            + lost * backend.write_ns.middle
            + (all_writes - lost) * waiting
        )
        # Every block that is written goes to the device, or to the backend, or to both.
        into_tier = 0 if around else self._sampled("accesses")[1]
        loaded = self._device_writes - into_tier
        columns = {
            "hit_ratio": 1 - missed / all_reads if all_reads else 0.0,
            "latency_ns": ns / (all_reads + all_writes),
            "device_writes": of_reads * loaded + (0 if around else all_written),
            "backend_reads": of_reads * self.vms["backend_reads"],
            "backend_writes": of_writes * self.vms["backend_writes"] if back else all_written,
            "dirty": of_writes * self.vms["dirty"],
        }
        of_bytes = set(columns) - {"hit_ratio", "latency_ns"}
        scaled = {name: columns[name] * self.point.sub_block for name in of_bytes}
        return {name: max(0.0, value) for name, value in (columns | scaled).items()}

    @property
    def _device_writes(self) -> int:
        return sum(self.tier[name] for name in ("fills", "promotions", "demotions", "updates"))

    def _sampled(self, what: Literal["requests", "accesses"]) -> list[int]:
        """Return how much there is in the sample, by operation."""
        requests = ("read_requests", "write_requests")
        served = requests if what == "requests" else ("reads_served", "writes_served")
        return [self.tier[name] + self.vms[name] for name in served]

    def _scales(
        self, what: Literal["requests", "accesses"], correction: Correction
    ) -> tuple[float, float]:
        """Return by what counts of reads and of writes are to be multiplied."""
        if correction == "adj":
            return 1 / self.rate, 1 / self.rate
        given, sampled = self.given[what], self._sampled(what)
        read, write = (whole / max(part, 1) for whole, part in zip(given, sampled, strict=True))
        return read, write


def _rows(
    grid: Grid, samples: Sequence[Sequence[_Counted]], rate: float, objective: Objective
) -> np.recarray[Any, Any]:
    points = grid.points
    plain, adjusted = (
        {
            name: np.array([[one[name] for one in sample] for sample in found])
            for name in (*ESTIMATES, "dirty")
        }
        for found in (
            [[one.estimates(correction) for one in sample] for sample in samples]
            for correction in _CORRECTIONS
        )
    )
    use_plain = varies_less(plain["hit_ratio"], adjusted["hit_ratio"])
    estimates = plain if use_plain else adjusted
    columns: dict[str, NDArray[Any]] = {
        "policy": np.array([str(point.policy) for point in points]),
        "writes": np.array([point.writes for point in points]),
        "block": np.array([point.block for point in points], dtype=np.int64),
        "sub_block": np.array([point.sub_block for point in points], dtype=np.int64),
    }
    for name in ESTIMATES:
        columns[name] = estimates[name].mean(axis=0)
        exact = np.zeros(len(points))
        columns[f"{name}_margin"] = margin_of(estimates[name]) if rate < 1 else exact
    columns["dirty"] = estimates["dirty"].mean(axis=0)
    columns["pareto"] = _pareto(columns)
    columns["rate"] = np.full(len(points), float(rate))
    correction = "exact" if rate == 1 else "none" if use_plain else "adj"
    columns["correction"] = np.full(len(points), correction)
    columns["bytes"] = np.array([[one.bytes for one in sample] for sample in samples]).max(axis=0)
    order = np.argsort(_costs(columns)[list(OBJECTIVES).index(objective)], kind="stable")
    rows = np.recarray(len(points), dtype=[(name, c.dtype) for name, c in columns.items()])
    for name, column in columns.items():
        rows[name] = column[order]
    return rows


def _costs(columns: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Return the objectives, a row each, such that less is better."""
    signs = {"hit_ratio": -1}
    return np.array([signs.get(name, 1) * columns[name] for name in OBJECTIVES.values()])


def _pareto(columns: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    costs = _costs(columns)
    beaten = [
        bool(((costs <= own[:, None]).all(axis=0) & (costs < own[:, None]).any(axis=0)).any())
        for own in costs.T
    ]
    return ~np.array(beaten)
