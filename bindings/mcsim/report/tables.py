"""Tables as data: cells that have a text and something to be sorted by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import pyarrow as pa

from mcsim.base import units
from mcsim.results.render import points, signed

__all__ = ["Cell", "Table", "from_arrow", "number_cell"]

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


def percent(share: float) -> str:
    """Write a share in percent."""
    return f"{100 * share:.2f} %"


def signed_percent(share: float) -> str:
    """Write a relative difference in percent."""
    return f"{signed(100 * share, 1)} %"


def _seconds(value: float) -> str:
    return f"{value:.2f} s"


_ENDINGS: Sequence[tuple[str, Callable[[float], str]]] = (
    ("_ns", units.format_latency),
    ("_seconds", _seconds),
    ("_bytes_per_day", lambda size: f"{units.format_size(size)}/day"),
    ("_bytes", units.format_size),
    ("_ratio", percent),
    ("utilization", percent),
)
_NAMES: Mapping[str, Callable[[float], str]] = {
    "ratio": percent,
    "served_by_cache": percent,
    "share_of_opt": percent,
    "gain": signed_percent,
    "gain_over_legacy": signed_percent,
    "latency_gain": signed_percent,
    "latency_gain_over_legacy": signed_percent,
    "gain_absolute": points,
    "gain_absolute_over_legacy": points,
    "over_hindsight": points,
}


def _shown_by(name: str) -> Callable[[float], str] | None:
    """Return how numbers of a column are written, by its name."""
    if name in _NAMES:
        return _NAMES[name]
    return next((show for ending, show in _ENDINGS if name.endswith(ending)), None)


def from_arrow(
    table: pa.Table,
    heads: Mapping[str, str] | None = None,
    *,
    parts: Sequence[str] = (),
    nothing: Mapping[str, str] | None = None,
    title: str = "",
    caption: str = "",
    most: int = 1000,
) -> Table:
    """Show an Arrow table; numbers are written as the names of their columns ask.

    Parameters
    ----------
    table : pa.Table
    heads : mapping of str to str, optional
        What columns are called, and which are shown; all, by their names, if not given.
    parts : sequence of str
        What the elements of lists are of, such as the devices of tiers.
    nothing : mapping of str to str, optional
        What stands for null, by column; a dash if not given.
    most : int
        Rows that are shown at most.
    """
    heads = heads or {name: name.replace("_", " ") for name in table.column_names}
    if len(table) > most:
        caption = f"{caption} The first {most:,} of {len(table):,} rows.".strip()
        table = table.slice(0, most)
    columns = [
        column
        for name, head in heads.items()
        for column in _columns(table[name], name, head, parts, (nothing or {}).get(name))
    ]
    columns = [column for column in columns if any(cell.text != _NOTHING for cell in column[1])]
    rows = [list(row) for row in zip(*(cells for _, cells in columns), strict=True)]
    foreseen = table["foresight"].to_pylist() if "foresight" in table.column_names else ()
    yardsticks = {i for i, foresight in enumerate(foreseen) if foresight is not None}
    sums = {i for name in nothing or () for i, v in enumerate(table[name].to_pylist()) if v is None}
    strong = frozenset(sums - yardsticks)
    return Table([head for head, _ in columns], rows, caption, title, strong)


def _columns(
    column: pa.ChunkedArray, name: str, head: str, parts: Sequence[str], nothing: str | None
) -> Iterator[tuple[str, list[Cell]]]:
    values = column.to_pylist()
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        yield head, [_cell(value, name, nothing) for value in values]
        return
    for i in range(max((len(value) for value in values if value is not None), default=0)):
        part = parts[i] if i < len(parts) else str(i + 1)
        each = [value[i] if value is not None and i < len(value) else None for value in values]
        yield f"{part} {head}", [_cell(value, name, nothing) for value in each]


def _cell(value: Any, name: str, nothing: str | None) -> Cell:
    if value is None:
        return Cell(nothing or _NOTHING)
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, (int, float)):
        return number_cell(value, _shown_by(name))
    return Cell(str(value))
