"""Batches of cells: run one cell after the other, here or in another process."""

from __future__ import annotations

import platform
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mcsim.base.errors import ConfigError, McsimError
from mcsim.base.progress import Reporter
from mcsim.base.threads import Inline
from mcsim.config import Source
from mcsim.config.sweep import Cell, Value
from mcsim.experiment.code import Code, Permission
from mcsim.experiment.environment import check_program
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.prepared import Prepared
from mcsim.experiment.stages import Stages, sized
from mcsim.results.output import RunOutput
from mcsim.results.packs import write_pack
from mcsim.sweeps.plan import PlannedCell, prepared_for, workload_key
from mcsim.sweeps.store import finished


@dataclass(frozen=True)
class _SentCell:
    index: int
    values: dict[str, Value]
    run_id: str
    root: dict[str, Any]


@dataclass(frozen=True)
class Task:
    """All that another process needs to run a batch."""

    context: SweepContext
    cells: tuple[_SentCell, ...]


@dataclass(frozen=True)
class SweepContext:
    """Context that all batches of a sweep share.

    Attributes
    ----------
    name : str
        Name of the experiment.
    source : str
        Name of its source in messages.
    folder, code_folder, out : Path
        Folders of the experiment, of its classes and libraries, and of all results. Workers see
        them by the same names.
    permission : Permission
    trace_dirs : tuple of Path
    version, build : str
        Version and build of mcsim.
    """

    name: str
    source: str
    folder: Path
    code_folder: Path
    out: Path
    permission: Permission
    trace_dirs: tuple[Path, ...]
    version: str
    build: str

    def task(self, batch: Sequence[PlannedCell]) -> Task:
        """Return the task of a batch, which is sent to a worker."""
        return Task(
            self,
            tuple(
                _SentCell(
                    cell.cell.index,
                    dict(cell.cell.values),
                    cell.run_id,
                    dict(cell.experiment.given),
                )
                for cell in batch
            ),
        )

    @cached_property
    def code(self) -> Code:
        """The classes and libraries that the experiment names."""
        return Code(self.code_folder, self.permission)


def run_task(task: Task) -> int:
    """Run the missing cells of a batch in this process.

    Returns
    -------
    int
        Number of cells of the batch.

    Raises
    ------
    ConfigError
        If this process has another mcsim, or sees other traces.
    """
    context = task.context
    check_program(context.version, context.build, "the sweep")
    there = finished(context.out, [cell.run_id for cell in task.cells])
    cells = [_opened(context, cell) for cell in task.cells if cell.run_id not in there]
    writer = PackWriter(context.out, context.name, lambda _: None)
    try:
        run_batch(cells, writer, lambda: None)
    finally:
        writer.flush()
    return len(task.cells)


_kept: OrderedDict[str, Prepared] = OrderedDict()
_lock = threading.Lock()
_MOST_KEPT = 2


def _opened(context: SweepContext, sent: _SentCell) -> PlannedCell:
    source = Source(context.source, sent.root, context.folder)
    experiment = Experiment.of(source, context.code)
    key = f"{context.folder} {context.trace_dirs} {workload_key(experiment.spec)}"
    with _lock:
        if key not in _kept:
            _kept[key] = prepared_for(experiment, context.trace_dirs, Reporter())
        _kept.move_to_end(key)
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
        prepared = _kept[key]
    experiment = sized(experiment, prepared)
    run_id = experiment.run_id(prepared.described)
    planned = PlannedCell(Cell(sent.index, sent.values), experiment, run_id, prepared)
    if run_id != sent.run_id:
        raise ConfigError(
            f"{planned}: on {platform.node()} it is {run_id} and not {sent.run_id}: the traces or "
            "the code that it names are others there"
        )
    return planned


class PackWriter:
    """Finished cells of all batches of a process, written together as packs.

    Parameters
    ----------
    out : Path
        Folder of all results.
    name : str
        First part of the packs' names.
    done : callable
        Notified of the number of cells that have finished since the last call.
    """

    def __init__(self, out: Path, name: str, done: Callable[[int], None]) -> None:
        self.out = out
        self._name, self._done = name, done
        self._lock = threading.Lock()
        self._cells: list[RunOutput] = []
        self._written_at = time.monotonic()

    def add(self, cell: RunOutput) -> None:
        """Add a finished cell; write all after some seconds of work."""
        with self._lock:
            self._cells.append(cell)
            is_due = time.monotonic() - self._written_at > _KEPT_WITHIN
            is_full = len(self._cells) >= _MOST_IN_A_PACK
        self._done(1)
        if is_due or is_full:
            self.flush()

    def flush(self) -> None:
        """Write the cells that were added since the last time."""
        with self._lock:
            cells, self._cells = self._cells, []
            self._written_at = time.monotonic()
        if cells:
            write_pack(self.out, self._name, cells)


# Seconds of work that a power cut may lose.
_KEPT_WITHIN = 5.0
_MOST_IN_A_PACK = 1024


def run_batch(cells: Sequence[PlannedCell], writer: PackWriter, check: Callable[[], None]) -> None:
    """Run cells one after the other; `check` raises `Stopped` after a request to stop."""
    for cell in cells:
        check()
        writer.add(_run_cell(cell, writer.out, check))


def _run_cell(cell: PlannedCell, out: Path, check: Callable[[], None]) -> RunOutput:
    output = RunOutput(out / cell.run_id)
    with blamed_on(cell):
        Stages(cell.experiment, cell.prepared, output, Reporter(), Inline(check)).execute()
    return output


@contextmanager
def blamed_on(cell: PlannedCell) -> Iterator[None]:
    """Prefix errors with the name of the cell."""
    try:
        yield
    except McsimError as error:
        raise type(error)(f"{cell}: {error}") from error
