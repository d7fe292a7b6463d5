"""How a finding's figures come into files: named by what they show, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.config.spec import FigureFormat

if TYPE_CHECKING:
    from mcsim.figures.style import Sheet
    from mcsim.reproduce.figure import Draw, Found

__all__ = ["drawing"]


def drawing(
    sheets: Mapping[str, tuple[str, Callable[[], Sheet]]], *, notes: Iterable[str] = ()
) -> Draw:
    """Return what writes figures into a folder.

    Parameters
    ----------
    sheets : mapping of str to (str, callable)
        By what they show, as files are called: the title, if the sheet has none of its own, and
        what plots it.
    notes : iterable of str
        Lines below every one of them.
    """
    lines = list(notes)

    def draw(folder: Path, formats: Sequence[FigureFormat], found: Found) -> list[Path]:
        from mcsim.figures.style import save, styled

        runs, synthetic = found.runs, not found.recorded
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
