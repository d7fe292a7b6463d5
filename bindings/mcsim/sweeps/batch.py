"""Cells run one after the other, and written together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcsim.base.errors import McsimError
from mcsim.base.progress import Reporter
from mcsim.base.threads import Inline
from mcsim.experiment.stages import Stages
from mcsim.results.held import Held, write_pack
from mcsim.sweeps.plan import PlannedCell

# What is lost if the machine is: seconds of work.
_KEPT_WITHIN = 5.0
_MOST_IN_A_PACK = 256


def run_batch(
    cells: Sequence[PlannedCell],
    out: Path,
    name: str,
    check: Callable[[], None],
    done: Callable[[int], None],
) -> None:
    """Run cells and write packs of them; what had finished is written if one fails.

    Parameters
    ----------
    cells : sequence of PlannedCell
    out : Path
        The folder of all results.
    name : str
        First part of the packs' names.
    check : callable
        Raises `Stopped` if the cells are not wanted any more.
    done : callable
        Told of cells that were written.
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
    """Name the cell in what goes wrong with it."""
    try:
        yield
    except McsimError as error:
        raise type(error)(f"{cell}: {error}") from error
