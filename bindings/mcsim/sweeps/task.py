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
from mcsim.experiment.stages import Stages
from mcsim.results.held import Held, write_pack
from mcsim.sweeps.plan import PlannedCell, prepared_for, sized, workload_key
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
    run_batch(cells, context.out, context.name, lambda: None, lambda _: None)
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


# Seconds of work that a power cut may lose.
_KEPT_WITHIN = 5.0
_MOST_IN_A_PACK = 256


def run_batch(
    cells: Sequence[PlannedCell],
    out: Path,
    name: str,
    check: Callable[[], None],
    done: Callable[[int], None],
) -> None:
    """Run cells and write their results as packs; if a cell fails, write finished ones.

    Parameters
    ----------
    cells : sequence of PlannedCell
    out : Path
        Folder of all results.
    name : str
        First part of the packs' names.
    check : callable
        Raises `Stopped` after a request to stop.
    done : callable
        Notified of the number of cells that a pack has, after each write.
    """
    held: list[Held] = []
    begun = time.monotonic()

    def write() -> None:
        if held:
            write_pack(out, name, held)
            done(len(held))
            held.clear()

    try:
        for cell in cells:
            check()
            held.append(_run_cell(cell, out, check))
            if time.monotonic() - begun > _KEPT_WITHIN or len(held) == _MOST_IN_A_PACK:
                write()
                begun = time.monotonic()
    finally:
        write()


def _run_cell(cell: PlannedCell, out: Path, check: Callable[[], None]) -> Held:
    held = Held(cell.run_id, out)
    with blamed_on(cell):
        Stages(cell.experiment, cell.prepared, held, Reporter(), Inline(check)).execute()
    return held


@contextmanager
def blamed_on(cell: PlannedCell) -> Iterator[None]:
    """Prefix errors with the name of the cell."""
    try:
        yield
    except McsimError as error:
        raise type(error)(f"{cell}: {error}") from error
