"""Figures of a finding for print: a file for each of its plots, named by its title."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.config.spec import FigureFormat

if TYPE_CHECKING:
    from mcsim.figures.style import Style
    from mcsim.reproduce.figure import Found


def draw_found(
    found: Found, folder: Path, formats: Sequence[FigureFormat], style: Style
) -> list[Path]:
    """Write the plots of a finding into a folder in each of the formats; return the files."""
    from mcsim.figures.chart import subject_of
    from mcsim.figures.declared import sheets_of
    from mcsim.figures.style import save, styled

    synthetic, written = not found.recorded, []
    for sheet in sheets_of(found.plots, found.tables):
        with styled(style):
            figure = sheet.finish(found.runs, synthetic=synthetic)
        path = folder / re.sub(r"[^a-z0-9]+", "-", sheet.title.lower()).strip("-")
        subject = subject_of(found.runs, synthetic)
        written += save(figure, path, sheet.title, subject, formats)
    return written
