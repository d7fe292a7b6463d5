"""How a finding's figures come into files: named by what they show, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.config.spec import FigureFormat

if TYPE_CHECKING:
    from mcsim.figures.style import Sheet
    from mcsim.reproduce.figure import Draw
    from mcsim.results.results import Results

__all__ = ["drawing"]


def drawing(
    sheets: Mapping[str, tuple[str, Callable[[], Sheet]]],
    *,
    runs: Sequence[Results] = (),
    notes: Iterable[str] = (),
) -> Draw:
    """Return what writes figures into a folder.

    Parameters
    ----------
    sheets : mapping of str to (str, callable)
        By what they show, as files are called: the title, if the sheet has none of its own, and
        what plots it.
    runs : sequence of Results
        What they show, if that is runs, which say themselves whether they are synthetic.
    notes : iterable of str
        Lines below every one of them.
    """
    lines = list(notes)

    def draw(folder: Path, formats: Sequence[FigureFormat], recorded: bool) -> list[Path]:
        from mcsim.figures.style import save, styled

        synthetic = not recorded and not runs
        written = []
        for shows, (title, plot) in sheets.items():
            with styled():
                sheet = plot()
                sheet.title = sheet.title or title
                sheet.notes += lines
                figure = sheet.finish(runs, synthetic=synthetic)
            path = folder / shows
            written += save(figure, path, sheet.title, runs, formats, synthetic=synthetic)
        return written

    return draw
