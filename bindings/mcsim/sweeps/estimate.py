"""Estimate the time and the memory of a sweep from replays that are cut short."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mcsim.base.limits import resident
from mcsim.base.progress import Reporter, Stage
from mcsim.base.threads import Inline, Stopped
from mcsim.experiment.stages import Stages, own_view
from mcsim.results.output import RunOutput
from mcsim.sweeps.plan import PlannedCell
from mcsim.sweeps.task import blamed_on

T = TypeVar("T")

_SECONDS = 0.25  # of a probe
_MOST_PROBES = 8
_SECONDS_BESIDE = 0.003  # of a cell, apart from its replays


@dataclass(frozen=True)
class Estimate:
    """Estimated time and memory of cells.

    Attributes
    ----------
    seconds : float
        Time of all cells on one core.
    shared_bytes : int
        Memory that all running cells share.
    cell_bytes : int
        Additional memory of each running cell.
    """

    seconds: float
    shared_bytes: int
    cell_bytes: int

    def jobs_within(self, memory: int) -> int:
        """Return the number of cells that fit into some bytes of memory; 0 if none fits."""
        if self.shared_bytes + self.cell_bytes > memory:
            return 0
        return (memory - self.shared_bytes) // max(1, self.cell_bytes)


def estimate(cells: Sequence[PlannedCell], out: Path) -> Estimate:
    """Estimate time and memory of cells from a quarter of a second of some replays.

    Cells of one kind have the same workload and systems. The largest cell of each kind is probed,
    for a limited number of kinds. Memory is the maximum over probes.
    """
    largest: dict[tuple[int, str], PlannedCell] = {}
    kinds = [(id(cell.prepared), _titles(cell)) for cell in cells]
    for kind, cell in zip(kinds, cells, strict=True):
        if kind not in largest or _blocks(cell) > _blocks(largest[kind]):
            largest[kind] = cell
    step = max(1, -(-len(largest) // _MOST_PROBES))
    probes = {kind: _probe(largest[kind], out) for kind in list(largest)[::step]}
    mean = sum(probe.seconds for probe in probes.values()) / len(probes)
    seconds = sum(probes[kind].seconds if kind in probes else mean for kind in kinds)
    return Estimate(
        seconds,
        max(probe.shared_bytes for probe in probes.values()),
        max(probe.cell_bytes for probe in probes.values()),
    )


def _titles(cell: PlannedCell) -> str:
    return "\n".join(system.title for system in cell.experiment.spec.systems)


def _blocks(cell: PlannedCell) -> int:
    return sum(tier.capacity for tier in cell.experiment.spec.tiers)


_REPLAYS = ("replay", "alone")
"""Stages that replay the workload."""


class _Moments(Inline):
    """Run the beginning of each piece of work, and discard its result."""

    def submit(self, work: Callable[..., T], *args: Any) -> Future[T]:
        """Run the work until it is stopped."""
        try:
            return super().submit(work, *args)
        except Stopped as stopped:
            future: Future[T] = Future()
            future.set_exception(stopped)
            return future

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None:
            raise Stopped


class _Watch(Reporter):
    """Record the progress of the replays of a cell."""

    def __init__(self) -> None:
        super().__init__()
        self.replays: list[Stage] = []
        self.seconds_of: list[float] = []
        self.replaying: Stage | None = None

    @contextmanager
    def stage(
        self, name: str, total: int | None = None, unit: str = "", about: str = ""
    ) -> Iterator[Stage]:
        """Record stages that are replays."""
        with super().stage(name, total, unit, about) as stage:
            if name in _REPLAYS:
                self.replays.append(stage)
                self.replaying = stage
            try:
                yield stage
            finally:
                if name in _REPLAYS:
                    self.replaying = None
                    self.seconds_of.append(time.monotonic() - stage.begun)


def _probe(cell: PlannedCell, out: Path) -> Estimate:
    """Replay a cell for a quarter of a second; the shared workload is prepared and stays."""
    watch = _Watch()
    cell.prepared.accesses(own_view(cell.experiment.spec, cell.prepared))
    shared = most = resident()

    def check() -> None:
        nonlocal most
        most = max(most, resident())
        stage = watch.replaying
        if stage is not None and stage.done and time.monotonic() - stage.begun > _SECONDS:
            raise Stopped

    output = RunOutput(out / cell.run_id)
    with suppress(Stopped), blamed_on(cell):
        Stages(cell.experiment, cell.prepared, output, watch, _Moments(check)).execute()
    most = max(most, resident())
    rates = [
        (stage.total or 0) / stage.done * seconds
        for stage, seconds in zip(watch.replays, watch.seconds_of, strict=True)
    ]
    return Estimate(sum(rates) + _SECONDS_BESIDE, shared, most - shared)
