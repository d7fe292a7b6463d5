"""How a finding's figures come into files: named by what they show, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcsim.figures.style import Sheet

__all__ = ["drawing"]


def drawing(
    sheets: Mapping[str, tuple[str, Callable[[], Sheet]]], *, recorded: bool
) -> Callable[[Path], Sequence[Path]]:
    """Return what writes figures beside a stem.

    Parameters
    ----------
    sheets : mapping of str to (str, callable)
        By what they show, as files are called: the title, and what plots it.
    recorded : bool
        False: the titles say that the workload is synthetic.
    """

    def draw(stem: Path) -> list[Path]:
        from mcsim.figures.style import styled, write

        mark = "" if recorded else "synthetic workload"
        written = []
        for name, (title, make) in sheets.items():
            shown = f"{title} ({mark})" if mark else title
            with styled():
                figure = make().frame(shown, "")
            written += write(figure, stem.with_name(name), title, mark, ("png", "svg"))
        return written

    return draw
