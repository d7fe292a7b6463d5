"""Hit-ratio curves of traces: which references, by which estimators, how fast."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mcsim._core import engine
from mcsim.base.errors import ConfigError
from mcsim.base.specs import parse_spec, split_specs, title
from mcsim.locality.estimators import Estimator, HitRatioCurve, estimator_names
from mcsim.traces.workload import Workload, WorkloadVm

if TYPE_CHECKING:
    from mcsim.base.progress import Reporter
    from mcsim.traces.trace import Trace

__all__ = [
    "EstimatorSpec",
    "Measured",
    "Ops",
    "Stream",
    "by_interval",
    "by_vm",
    "measure",
    "parse_estimator",
    "parse_estimators",
    "read_accesses",
    "vms_of",
    "whole",
]

Ops = Literal["reads", "all", "writes"]

_PIECE = 1 << 20  # accesses


@dataclass(frozen=True)
class EstimatorSpec:
    """An estimator as it is asked for: `NAME` or `NAME:PARAM=VALUE,…`."""

    name: str
    params: dict[str, str]

    def __str__(self) -> str:
        return title(self.name, self.params)

    def make(self, *, seed: int, threads: int, block_bytes: int) -> Estimator:
        """Make the estimator; ConfigError if its parameters are wrong."""
        return Estimator(
            self.name, seed=seed, threads=threads, block_bytes=block_bytes, **self.params
        )


def parse_estimator(text: str) -> EstimatorSpec:
    """Read `NAME` or `NAME:PARAM=VALUE,…`.

    Raises
    ------
    ConfigError
        If there is no such estimator or parameter, or a value is missing or wrong.

    Examples
    --------
    >>> str(parse_estimator("exact"))
    'exact'
    """
    spec = EstimatorSpec(*parse_spec(text, "estimator", estimator_names()))
    spec.make(seed=1, threads=1, block_bytes=1)
    return spec


def parse_estimators(text: str) -> list[EstimatorSpec]:
    """Read several, divided by commas, as the parameters of each are.

    Examples
    --------
    >>> [str(spec) for spec in parse_estimators("exact,exact")]
    ['exact', 'exact']
    """
    return [parse_estimator(spec) for spec in split_specs(text)]


def read_accesses(
    traces: Sequence[Trace], *, ops: Ops, block_bytes: int, reporter: Reporter
) -> engine.Accesses:
    """Split the requests of traces into blocks, merged by time; every VM has its own blocks.

    Raises
    ------
    ConfigError
        If some have a clock and others do not, or there is nothing to count.
    """
    vms = vms_of([trace.slice(ops="writes") if ops == "writes" else trace for trace in traces])
    requests = sum(vm.trace.request_count for vm in vms)
    view = {"block_bytes": block_bytes, "ops": "reads" if ops == "reads" else "all"}
    with reporter.stage("intern", total=requests, unit="requests") as stage:
        accesses = Workload(vms, synthetic=False).intern(view, stage.update)
    if accesses.access_count == 0:
        sources = ", ".join(trace.metadata.source for trace in traces)
        what = {"reads": "reads (try --ops all)", "writes": "writes", "all": "requests"}[ops]
        raise ConfigError(f"{sources}: there are no {what}, so there is no curve")
    return accesses


def vms_of(traces: Sequence[Trace]) -> tuple[WorkloadVm, ...]:
    """Return the VMs of all traces, under names that tell them apart.

    Raises
    ------
    ConfigError
        If some have a clock and others do not.
    """
    if len({trace.time_base for trace in traces}) > 1:
        raise ConfigError("some of the traces have a clock and some do not: they do not merge")
    several = [name for trace in traces for name in trace.vms]
    return tuple(
        WorkloadVm(
            name if several.count(name) == 1 else f"{trace.metadata.source}:{name}", trace, only=v
        )
        for trace in traces
        for v, name in enumerate(trace.vms)
    )


@dataclass(frozen=True)
class Stream:
    """Some requests of a trace in their order, as references to blocks.

    Attributes
    ----------
    label : str
        What they are, for people.
    requests : slice or ndarray of int64
        Their positions in the trace.
    """

    label: str
    accesses: engine.Accesses
    requests: slice | NDArray[np.int64]

    def __len__(self) -> int:
        return int(self._lengths(self._positions()).sum())

    def pieces(
        self,
    ) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.int64] | None, NDArray[np.uint8]]]:
        """Yield block, time (None without a clock) and operation of about 10^6 accesses."""
        of = self.accesses
        positions = self._positions()
        ends = np.cumsum(self._lengths(positions))
        has_clock = of.time_base == "clock"
        first = 0
        while first < len(positions):
            done = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, done + _PIECE, side="right")), first + 1)
            chosen = positions[first:last]
            lengths = np.diff(ends[first:last], prepend=done)
            yield (
                self._blocks(chosen, lengths),
                np.repeat(of.request_time[chosen], lengths) if has_clock else None,
                np.repeat(of.request_op[chosen], lengths),
            )
            first = last

    def _positions(self) -> NDArray[np.int64]:
        if isinstance(self.requests, slice):
            return np.arange(self.requests.start, self.requests.stop)
        return self.requests

    def _lengths(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the blocks of each request."""
        begin = self.accesses.request_begin.view(np.int64)
        return begin[positions + 1] - begin[positions]

    def _blocks(self, chosen: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
        begin = self.accesses.request_begin.view(np.int64)
        if chosen[-1] - chosen[0] == len(chosen) - 1:  # a range: no copy
            return self.accesses.ids[begin[chosen[0]] : begin[chosen[-1] + 1]]
        skipped = begin[chosen] - np.concatenate(([0], np.cumsum(lengths)[:-1]))
        return self.accesses.ids[np.repeat(skipped, lengths) + np.arange(lengths.sum())]


def whole(accesses: engine.Accesses, label: str) -> Stream:
    """Return all references as one stream: one cache that all VMs share."""
    return Stream(label, accesses, slice(0, accesses.request_count))


def by_vm(accesses: engine.Accesses) -> list[Stream]:
    """Return the stream of every VM that has accesses."""
    return [
        Stream(vm.name, accesses, np.flatnonzero(accesses.request_vm == v))
        for v, vm in enumerate(accesses.vms)
        if vm.accesses
    ]


def by_interval(
    accesses: engine.Accesses, length: int, label_of: Callable[[int], str]
) -> list[Stream]:
    """Return the stream of every interval, empty ones included.

    Parameters
    ----------
    length : int
        In the trace's unit, from its first request on.
    label_of : callable
        Gives the label of the interval that begins so long after the first.
    """
    cuts = engine.aligned_cuts(accesses, length)
    return [
        Stream(label_of(k * length), accesses, slice(int(cuts[k]), int(cuts[k + 1])))
        for k in range(len(cuts) - 1)
    ]


@dataclass(frozen=True)
class Measured:
    """A curve and what it took.

    Attributes
    ----------
    seconds : float
        The estimator's own, on a clock.
    bytes : int
        Memory that the estimator held at the end.
    """

    label: str
    curve: HitRatioCurve
    seconds: float
    bytes: int

    @property
    def rate(self) -> float:
        """References a second."""
        return self.curve.accesses / self.seconds if self.seconds else 0.0


class _StoppedError(Exception):
    """Another stream's work failed or was interrupted."""


def measure(
    tasks: Sequence[tuple[Stream, EstimatorSpec]],
    *,
    seed: int,
    jobs: int,
    reporter: Reporter,
    one_at_a_time: bool = False,
) -> list[Measured]:
    """Feed every stream to its estimator.

    Parameters
    ----------
    jobs : int
        Threads: so many streams at a time, or for one estimator alone.
    one_at_a_time : bool
        Whether estimators must not disturb each other's times; each is a stage of its own.
    """
    if one_at_a_time or len(tasks) == 1:
        measured = []
        for stream, spec in tasks:
            with reporter.stage(
                "estimate", total=len(stream), unit="refs", about=str(spec)
            ) as stage:
                progress = _Total(stage.update)
                measured.append(_measure_one(stream, spec, seed, jobs, progress))
        return measured
    total = sum(len(stream) for stream, _ in tasks)
    about = f"{len(tasks)} curves"
    with (
        reporter.stage("estimate", total=total, unit="refs", about=about) as stage,
        ThreadPoolExecutor(min(jobs, len(tasks))) as pool,
    ):
        progress = _Total(stage.update)
        running = [
            pool.submit(_measure_one, stream, spec, seed, 1, progress) for stream, spec in tasks
        ]
        try:
            wait(running, return_when=FIRST_EXCEPTION)
        finally:
            # Does nothing to those that are done.
            progress.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
    errors = [e for future in running if not future.cancelled() and (e := future.exception())]
    for error in sorted(errors, key=lambda error: isinstance(error, _StoppedError)):
        raise error
    return [future.result() for future in running]


class _Total:
    """Adds up what several threads have done, and lets them know when to stop."""

    def __init__(self, update: Callable[[int], Any]) -> None:
        self.stop = threading.Event()
        self._update = update
        self._lock = threading.Lock()
        self._done = 0

    def add(self, count: int) -> None:
        if self.stop.is_set():
            raise _StoppedError
        with self._lock:
            self._done += count
            self._update(self._done)


def _measure_one(
    stream: Stream, spec: EstimatorSpec, seed: int, threads: int, progress: _Total
) -> Measured:
    estimator = spec.make(seed=seed, threads=threads, block_bytes=stream.accesses.block_bytes)
    seconds = 0.0
    for keys, times, ops in stream.pieces():
        begun = time.perf_counter()
        estimator.process(keys, times, ops)
        seconds += time.perf_counter() - begun
        progress.add(len(keys))
    begun = time.perf_counter()
    curve = estimator.curve()
    seconds += time.perf_counter() - begun
    return Measured(stream.label, curve, seconds, estimator.bytes)
