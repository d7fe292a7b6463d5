"""Tables as data: cells that have a text and something to be sorted by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from mcsim.base.result_table import ResultTable

_NOTHING = "–"


class Cell(NamedTuple):
    """A text, and the number that it stands for, if any."""

    text: str
    value: float | None = None

    @property
    def kind(self) -> str:
        """How it is set: as a text of several lines, or plainly."""
        return "w" if self.value is None and len(self.text) > 32 else ""

    @property
    def key(self) -> str:
        """What it is sorted by; empty where the text says it by itself."""
        if self.value is None:
            return ""
        try:
            float(self.text.replace(",", ""))
        except ValueError:
            return f"{self.value:.7g}"
        return ""


@dataclass(frozen=True)
class Table:
    """A table that sorts.

    Attributes
    ----------
    heads : sequence of str
    rows : sequence of sequence of Cell
    caption : str
        What to mind, below the table.
    title : str
        Above it.
    strong : frozenset of int
        Rows that stand out, such as sums.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    title: str = ""
    strong: frozenset[int] = frozenset()

    kind = "table"

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers and stand to the right."""
        return [any(row[i].value is not None for row in self.rows) for i in range(len(self.heads))]


def number_cell(value: float | None, show: Callable[[float], str] | None = None) -> Cell:
    """Return a cell of a number, or a dash where there is none."""
    if value is None or value != value:
        return Cell(_NOTHING)
    if not isfinite(value):
        return Cell("∞" if value > 0 else "−∞", 1e308 if value > 0 else -1e308)
    return Cell((show or _plain)(value), float(value))


def _plain(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def page_table(table: ResultTable, *, most: int = 1000) -> Table:
    """Return a result table for a page, of many rows the first."""
    shown = table.formatted()
    rows = [
        [Cell(*pair) for pair in zip(cells, values, strict=True)]
        for cells, values in zip(shown.rows[:most], shown.values, strict=False)
    ]
    notes = [note[:1].upper() + note[1:] for note in shown.notes]
    if len(shown.rows) > most:
        notes.append(f"The first {most:,} of {len(shown.rows):,} rows")
    strong = {i for i, style in enumerate(shown.styles[:most]) if style in ("best", "total")}
    caption = " ".join(f"{note}." for note in notes)
    return Table(list(shown.headings), rows, caption, shown.title, frozenset(strong))
