"""Tables as data: cells with a text and a sort key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from mcsim.base.formatted_table import RowStyle
from mcsim.base.result_table import ResultTable

__all__ = ["Cell", "Table", "number_cell", "page_table"]

_NOTHING = "–"


class Cell(NamedTuple):
    """Text of a cell, and its number if it has one."""

    text: str
    value: float | None = None

    @property
    def kind(self) -> str:
        """Return the CSS class: ``w`` for text of several lines, or empty."""
        return "w" if self.value is None and len(self.text) > 32 else ""

    @property
    def key(self) -> str:
        """Return the sort key; empty if the text is itself the number."""
        if self.value is None:
            return ""
        try:
            float(self.text.replace(",", ""))
        except ValueError:
            return f"{self.value:.7g}"
        return ""


@dataclass(frozen=True)
class Table:
    """A sortable table.

    Attributes
    ----------
    heads : sequence of str
    rows : sequence of sequence of Cell
    caption : str
        Notes below the table.
    title : str
        Heading above the table.
    styles : sequence of {'', 'best', 'yardstick', 'total'}
        Style of each row; all plain if absent.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    title: str = ""
    styles: Sequence[RowStyle] = ()

    kind = "table"

    @property
    def numeric(self) -> list[bool]:
        """Return whether each column has numbers, which are aligned to the right."""
        return [any(row[i].value is not None for row in self.rows) for i in range(len(self.heads))]


def number_cell(value: float | None, show: Callable[[float], str] | None = None) -> Cell:
    """Return the cell of a number, or a dash if it is None or NaN."""
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
    """Convert a result table for a page; keep the first `most` rows."""
    shown = table.formatted()
    rows = [
        [Cell(*pair) for pair in zip(cells, values, strict=True)]
        for cells, values in zip(shown.rows[:most], shown.values, strict=False)
    ]
    notes = [note[:1].upper() + note[1:] for note in shown.notes]
    if len(shown.rows) > most:
        notes.append(f"The first {most:,} of {len(shown.rows):,} rows")
    caption = " ".join(f"{note}." for note in notes)
    return Table(list(shown.headings), rows, caption, shown.title, list(shown.styles[:most]))
