"""Columns of a table as people see them: headings, cells and sort keys."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcsim.tables.column import Column
from mcsim.tables.result_columns import TABLES

if TYPE_CHECKING:
    from mcsim.tables.result_table import ResultTable

_SPREADS = ("_margin", "_deviation")
"""Endings of columns with half of a band, or a standard deviation, of the column before."""


@dataclass(frozen=True)
class ShownColumn:
    """A column of a table for people, or its part of one tier.

    Attributes
    ----------
    heading : str
    declared : Column
    values : list
        A value for each row; None where it is missing.
    spreads : list of float or None
        The spread of each value, shown behind it.
    """

    heading: str
    declared: Column
    values: list[Any]
    spreads: Sequence[float | None]

    @property
    def is_numeric(self) -> bool:
        """Whether the cells are numbers, which are aligned to the right."""
        return self.declared.is_numeric

    def cell(self, row: int) -> str:
        """Return the text of a cell."""
        column, value, spread = self.declared, self.values[row], self.spreads[row]
        if value is not None and column.is_nonzero(spread):
            return f"{column.format(value)} ± {column.format(spread).lstrip('+')}"
        if isinstance(value, list) and column.unit != "names":
            return ", ".join(column.format(each) for each in value)
        if value is None and column.name == "vm":
            return "all"
        return column.format(value)

    def sort_key(self, row: int) -> float | None:
        """Return the number of a cell; None for other cells."""
        value = self.values[row]
        return float(value) if isinstance(value, (int, float)) else None


def shown_columns(
    table: ResultTable, names: Sequence[str], parts: Sequence[str], chosen: Sequence[str] | None
) -> Iterator[ShownColumn]:
    """Yield columns of a table with their headings, one for each tier where values are by tier.

    Parameters
    ----------
    table : ResultTable
    names : sequence of str
        Candidates, in order. A spread is a part of its column's cells unless it is chosen.
    parts : sequence of str
        Names of the tiers.
    chosen : sequence of str, optional
        Columns that a caller names; if not given, uninformative ones are left out.
    """
    for name in names:
        if _is_spread(table, name) and name not in (chosen or ()):
            continue
        column = table.column_of(name)
        spread = _spread_of(table, name)
        for heading, values in _by_part(column, name, table.values(name), parts):
            if chosen is not None or column.is_informative(values):
                yield ShownColumn(heading, column, values, spread or [None] * len(values))


def default_columns(table: ResultTable, more: Collection[str]) -> list[str]:
    """Return the columns for people, those of the kind in their order.

    Each other one stays behind the column that it follows.

    Parameters
    ----------
    table : ResultTable
    more : collection of str
        Columns to show that their kind does not show otherwise.
    """
    columns = TABLES.get(table.kind, ())
    declared = {of.name: -1 if of.is_first else at for at, of in enumerate(columns)}
    places, place = {}, -2
    for name in table.column_names:
        places[name] = place = declared.get(name, place)
    shown = (of for of in table.column_names if table.column_of(of).shown or of in more)
    return sorted(shown, key=places.__getitem__)


def _is_spread(table: ResultTable, name: str) -> bool:
    """Whether a column is the spread of another, which shows both."""
    return any(name.removesuffix(end) in table.column_names for end in _SPREADS if end in name)


def _spread_of(table: ResultTable, name: str) -> list[Any] | None:
    found = (f"{name}{end}" for end in _SPREADS if f"{name}{end}" in table.column_names)
    spread = next(found, None)
    return None if spread is None else table.values(spread)


def _by_part(
    column: Column, name: str, values: list[Any], parts: Sequence[str]
) -> Iterator[tuple[str, list[Any]]]:
    """Yield a column, or one for each tier, with its heading."""
    if column.by != "tier" or name != column.name:
        yield column.heading, values
        return
    for tier in range(max((len(of) for of in values if of is not None), default=0)):
        part = parts[tier] if tier < len(parts) else f"tier {tier}"
        each = [of[tier] if of is not None and tier < len(of) else None for of in values]
        yield f"{part} {column.heading}", each
