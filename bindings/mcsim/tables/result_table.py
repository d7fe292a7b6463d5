"""Result tables: columns for NumPy, Arrow, pandas and Polars, and a table for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from mcsim.base.arguments import shortened
from mcsim.base.errors import ConfigError
from mcsim.base.package import require
from mcsim.base.suggest import did_you_mean
from mcsim.tables.charts import plot
from mcsim.tables.column import Column
from mcsim.tables.formatted_table import FormattedTable, RowStyle
from mcsim.tables.result_columns import TABLES, column_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


_MOST_ROWS = 40
"""Rows that a table shows of itself."""

_SPREADS = ("_margin", "_deviation")
"""Endings of columns with half of a band, or a standard deviation, of the column before."""


def polars_frame(table: pa.Table) -> pl.DataFrame:
    """Return an Arrow table as a Polars frame."""
    require("frames of Polars", "polars")
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def pandas_frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a pandas frame."""
    require("frames of pandas", "pandas")
    return table.to_pandas()


class Tabular:
    """Objects with an Arrow table, and from there one of pandas and Polars."""

    def to_arrow(self) -> pa.Table:
        """Return the columns as an Arrow table."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns of `to_arrow` as a pandas frame."""
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """Return the columns of `to_arrow` as a Polars frame."""
        return polars_frame(self.to_arrow())


class Row(dict[str, Any]):
    """One row: ``row["hits"]`` and ``row.hits``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no column {name!r}{did_you_mean(name, self)}") from None


class ResultTable(Tabular):
    """A table of results.

    ``table.hits`` and ``table["hits"]`` are a column as a NumPy array, ``table[0]`` is a row,
    ``table[table.policy == "arc"]`` and ``table[["policy", "hits"]]`` are tables again. A
    notebook displays the table.

    Parameters
    ----------
    columns : mapping of str to array, or pyarrow.Table
        Columns of one length.
    kind : str
        Key of `mcsim.tables.result_columns.TABLES`, which has headings and formats.
    title : str
        Heading of the table.
    answer : str
        Summary of the table: a sentence computed from the data.
    notes : sequence of str
        Text below the table.
    shown : sequence of str, optional
        The columns for people; if not given, those that their kind shows, without uninformative
        ones.
    more : sequence of str
        Columns for people that their kind does not show otherwise.
    parts : sequence of str
        Names of the tiers, for columns with a value of each.
    order : sequence of int, optional
        The rows for people, in this order; all if not given.
    styles : sequence of {'', 'best', 'yardstick', 'total'}
        Styles of these rows.
    declared : sequence of Column
        Columns that this table alone has, or has otherwise than its kind.

    Examples
    --------
    >>> rows = mc.ResultTable({"policy": np.array(["lru", "arc"]), "hits": np.array([3, 4])})
    >>> rows.hits.sum(), rows[0].policy, rows[rows.hits > 3].to_arrow().to_pydict()
    (np.int64(7), 'lru', {'policy': ['arc'], 'hits': [4]})
    """

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]] | pa.Table,
        kind: str = "",
        *,
        title: str = "",
        answer: str = "",
        notes: Sequence[str] = (),
        shown: Sequence[str] | None = None,
        more: Iterable[str] = (),
        parts: Sequence[str] = (),
        order: Sequence[int] | None = None,
        styles: Sequence[RowStyle] = (),
        declared: Sequence[Column] = (),
    ) -> None:
        self._arrow: pa.Table | None = None
        self._columns: dict[str, NDArray[Any]] = {}
        if isinstance(columns, Mapping):
            self._columns = _checked(columns)
        elif hasattr(columns, "column_names"):
            self._arrow = columns
        else:
            raise ConfigError(f"columns: expected a mapping, got {shortened(columns)}")
        self.kind, self.title, self.answer, self.notes = kind, title, answer, tuple(notes)
        self._more = frozenset(more)
        self._shown, self._parts, self._order, self._styles = shown, parts, order, styles
        self._declared = {column.name: column for column in declared}

    @classmethod
    def of_rows(
        cls, declared: Sequence[Column], rows: Iterable[Sequence[Any]], kind: str = "", **text: Any
    ) -> ResultTable:
        """Return a table of rows, each with a value for every column; None where there is none."""
        import numpy as np

        arrays = {column.name: [] for column in declared}  # type: dict[str, list[Any]]
        for row in rows:
            for values, value in zip(arrays.values(), row, strict=True):
                values.append(value)
        found = {name: np.empty(len(values), object) for name, values in arrays.items()}
        for name, values in arrays.items():
            for at, value in enumerate(values):
                found[name][at] = value
        return ResultTable(found, kind, declared=declared, **text)

    def column_of(self, name: str) -> Column:
        """Return the declaration of a column."""
        return self._declared.get(name) or column_of(self.kind, name)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._columns) if self._arrow is None else list(self._arrow.column_names)

    def __len__(self) -> int:
        if self._arrow is not None:
            return len(self._arrow)
        return len(next(iter(self._columns.values())))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.column_names:
            near = "" if name.startswith("_") else did_you_mean(name, self.column_names)
            raise AttributeError(f"{type(self).__name__} has no column {name!r}{near}")
        return self._column(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.column_names]

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, str):
            return self._column(which)
        if isinstance(which, Integral):
            which = int(which)
            if not -len(self) <= which < len(self):
                raise IndexError(f"row {which} of {len(self)}")
            return Row({name: self.values(name)[which] for name in self.column_names})
        if isinstance(which, list) and all(isinstance(name, str) for name in which):
            return self._with({name: self._column(name) for name in which}, which)
        return self._with({name: self._column(name)[which] for name in self.column_names})

    def __iter__(self) -> Iterator[Row]:
        for values in self.tolist():
            yield Row(zip(self.column_names, values, strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        options = dict(self.__dict__)
        return _restored, (type(self), options)

    def _column(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            if self._arrow is None or name not in self._arrow.column_names:
                raise KeyError(f"no column {name!r}{did_you_mean(name, self.column_names)}")
            self._columns[name] = self._arrow[name].to_numpy()
        return self._columns[name]

    def _with(self, columns: Mapping[str, NDArray[Any]], more: Iterable[str] = ()) -> ResultTable:
        """Return a table of the same kind, with the title but no other text."""
        declared = [of for of in self._declared.values() if of.name in columns]
        return ResultTable(
            columns,
            self.kind,
            title=self.title,
            more=[*self._more, *more],
            parts=self._parts,
            declared=declared,
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name, without copies."""
        return {name: self._column(name) for name in self.column_names}

    def tolist(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples."""
        return list(zip(*map(self.values, self.column_names), strict=True))

    def values(self, name: str) -> list[Any]:
        """Return a column as a list; None where a value is missing."""
        if self._arrow is not None and name in self._arrow.column_names:
            values: list[Any] = self._arrow[name].to_pylist()
            return values
        return list(self._column(name).tolist())

    def to_arrow(self) -> pa.Table:
        """Return the columns as an Arrow table."""
        if self._arrow is None:
            import pyarrow as pa

            arrays = {
                name: pa.array(column, self._declared[name].arrow_type)
                if name in self._declared
                else pa.array(column)
                for name, column in self._columns.items()
            }
            self._arrow = pa.table(arrays)
        return self._arrow

    def plot(self, **options: Any) -> Figure:
        """Draw the table.

        Parameters
        ----------
        **options
            Options of the figure, such as ``style='paper'``. For tables of a run, ``figure`` is
            the name of another figure, such as ``'latency'``.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ConfigError
            If there is no figure of such a table.
        """
        return plot(self, **options)

    def formatted(
        self, shown: Sequence[str] | None = None, *, most: int | None = None
    ) -> FormattedTable:
        """Return the table for people.

        Parameters
        ----------
        shown : sequence of str, optional
            Names of columns. Default: the informative ones.
        most : int, optional
            Upper limit of rows, of which the first are shown; all if not given.
        """
        order = range(len(self)) if self._order is None else self._order
        notes = self.notes
        if most is not None and len(order) > most:
            left = len(order) - most
            notes = (f"… and {left:,} more row{'' if left == 1 else 's'}", *notes)
            order = order[:most]
        names = shown or self._shown or self._shown_by_default()
        headings: list[str] = []
        numeric: list[bool] = []
        cells: list[list[str]] = []
        sorts: list[list[float | None]] = []
        for name in names:
            if self._is_spread(name) and name not in (shown or ()):
                continue
            column = self.column_of(name)
            spread = self._spread_of(name)
            for heading, values in self._parted(column, name):
                if shown is None and not column.is_informative(values):
                    continue
                headings.append(heading)
                numeric.append(column.is_numeric)
                spreads = spread or [None] * len(values)
                cells.append([_text(column, values[i], spreads[i]) for i in order])
                sorts.append([_number(values[i]) for i in order])
        rows = [list(row) for row in zip(*cells, strict=True)]
        keys = [list(row) for row in zip(*sorts, strict=True)]
        return FormattedTable(headings, rows, numeric, self.title, notes, list(self._styles), keys)

    def _shown_by_default(self) -> list[str]:
        """Return the columns for people, those of the kind in their order.

        Each other one stays behind the column that it follows.
        """
        columns = TABLES.get(self.kind, ())
        declared = {of.name: -1 if of.is_first else at for at, of in enumerate(columns)}
        places, place = {}, -2
        for name in self.column_names:
            places[name] = place = declared.get(name, place)
        shown = (of for of in self.column_names if self.column_of(of).shown or of in self._more)
        return sorted(shown, key=places.__getitem__)

    def _is_spread(self, name: str) -> bool:
        """Whether a column is the spread of another, which shows both."""
        return any(name.removesuffix(end) in self.column_names for end in _SPREADS if end in name)

    def _spread_of(self, name: str) -> list[Any] | None:
        found = (f"{name}{end}" for end in _SPREADS if f"{name}{end}" in self.column_names)
        spread = next(found, None)
        return None if spread is None else self.values(spread)

    def _parted(self, column: Column, name: str) -> Iterator[tuple[str, list[Any]]]:
        """Yield a column, or one for each tier, with its heading."""
        values = self.values(name)
        if column.by != "tier" or name != column.name:
            yield column.heading, values
            return
        for tier in range(max((len(of) for of in values if of is not None), default=0)):
            part = self._parts[tier] if tier < len(self._parts) else f"tier {tier}"
            each = [of[tier] if of is not None and tier < len(of) else None for of in values]
            yield f"{part} {column.heading}", each

    def to_csv(self) -> str:
        """Return the columns of `to_arrow` as CSV; a list by tier is a column for each."""
        from mcsim.tables.csv import csv_of, without_lists

        return csv_of(without_lists(self.to_arrow()))

    def to_markdown(self) -> str:
        """Return the table for people as Markdown."""
        return self.formatted().to_markdown()

    def to_latex(self) -> str:
        """Return the table for people as LaTeX, for the package booktabs."""
        return self.formatted().to_latex()

    def __repr__(self) -> str:
        text = self.formatted(most=_MOST_ROWS).to_text()
        return f"{self.answer}\n{text}" if self.answer else text

    def _repr_html_(self) -> str:
        from html import escape

        answer = f"<p><b>{escape(self.answer)}</b></p>" if self.answer else ""
        return answer + self.formatted(most=_MOST_ROWS).to_html()


def _restored(cls: type[Any], attributes: dict[str, Any]) -> Any:
    table: Any = object.__new__(cls)
    table.__dict__.update(attributes)
    return table


def _checked(columns: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    from mcsim.base.arguments import array_given

    arrays = {str(name): array_given(column, str(name)) for name, column in columns.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or len(shapes.pop()) != 1:
        raise ConfigError("columns: expected some of one length, in one dimension")
    return arrays


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _text(column: Column, value: Any, spread: float | None = None) -> str:
    if value is not None and column.is_nonzero(spread):
        return f"{column.format(value)} ± {column.format(spread).lstrip('+')}"
    if isinstance(value, list) and column.unit != "names":
        return ", ".join(column.format(each) for each in value)
    if value is None and column.name == "vm":
        return "all"
    return column.format(value)
