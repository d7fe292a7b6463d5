"""Result tables: columns for NumPy, Arrow, pandas and Polars, and a table for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from mcsim.base.arguments import shortened
from mcsim.base.columns import columns_given
from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.tables.charts import plot
from mcsim.tables.column import Column
from mcsim.tables.formatted_table import FormattedTable, RowStyle
from mcsim.tables.frames import Row, Tabular
from mcsim.tables.result_columns import column_of
from mcsim.tables.shown_columns import default_columns, shown_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


_MOST_ROWS = 40
"""Rows that a table shows of itself."""


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
            self._columns = columns_given(columns)
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
        """Make a table of rows.

        Parameters
        ----------
        declared : sequence of Column
            The columns, in order.
        rows : iterable of sequence
            Rows with a value for each column; None where a value is missing.
        kind : str
            Kind of the table, as of the class.
        **text
            Further arguments of the class, such as ``title`` and ``answer``.

        Returns
        -------
        ResultTable
            A table with a row for each of `rows`.
        """
        import numpy as np

        arrays = {column.name: [] for column in declared}  # type: dict[str, list[Any]]
        for row in rows:
            for values, value in zip(arrays.values(), row, strict=True):
                values.append(value)
        found = {name: np.fromiter(values, object, len(values)) for name, values in arrays.items()}
        return ResultTable(found, kind, declared=declared, **text)

    def column_of(self, name: str) -> Column:
        """Return the declaration of a column: heading, unit, type and format.

        Parameters
        ----------
        name : str
            A column of the table or of its kind.

        Returns
        -------
        Column
            The table's own declaration, or else that of its kind.
        """
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
        """Return the columns by name, without copies.

        Returns
        -------
        dict of str to ndarray, each of shape (rows,)
            The columns in order, numbers in the units that the table documents.
        """
        return {name: self._column(name) for name in self.column_names}

    def tolist(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples.

        Returns
        -------
        list of tuple
            Plain values in the order of `column_names`; None where a value is missing.

        Examples
        --------
        >>> mc.ResultTable({"policy": ["lru", "arc"], "hits": [3, 4]}).tolist()
        [('lru', 3), ('arc', 4)]
        """
        return list(zip(*map(self.values, self.column_names), strict=True))

    def values(self, name: str) -> list[Any]:
        """Return a column as a list.

        Parameters
        ----------
        name : str
            One of `column_names`.

        Returns
        -------
        list
            Plain values, one for each row; None where a value is missing.

        Raises
        ------
        KeyError
            If there is no such column.
        """
        if self._arrow is not None and name in self._arrow.column_names:
            values: list[Any] = self._arrow[name].to_pylist()
            return values
        return list(self._column(name).tolist())

    def to_arrow(self) -> pa.Table:
        """Return the columns as an Arrow table.

        Returns
        -------
        pyarrow.Table
            A row for each of the table, with nulls where values are missing.

        Examples
        --------
        >>> mc.ResultTable({"policy": ["lru", "arc"], "hits": [3, 4]}).to_arrow().num_rows
        2
        """
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
            The figure, which is not shown and not saved.

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

        Returns
        -------
        FormattedTable
            Headings and cells as text, which it writes for terminals, HTML, Markdown and LaTeX.
        """
        order = range(len(self)) if self._order is None else self._order
        notes = self.notes
        if most is not None and len(order) > most:
            left = len(order) - most
            notes = (f"… and {left:,} more row{'' if left == 1 else 's'}", *notes)
            order = order[:most]
        names = shown or self._shown or default_columns(self, self._more)
        columns = list(shown_columns(self, names, self._parts, shown))
        cells = [[column.cell(row) for row in order] for column in columns]
        keys = [[column.sort_key(row) for row in order] for column in columns]
        return FormattedTable(
            [column.heading for column in columns],
            [list(row) for row in zip(*cells, strict=True)],
            [column.is_numeric for column in columns],
            self.title,
            notes,
            list(self._styles),
            [list(row) for row in zip(*keys, strict=True)],
        )

    def to_csv(self) -> str:
        """Return the columns of `to_arrow` as CSV.

        Returns
        -------
        str
            A line of names, then a line for each row. A list by tier is a column for each tier.

        Examples
        --------
        >>> mc.ResultTable({"vms": [1, 2], "hits": [3, 4]}).to_csv().splitlines()
        ['"vms","hits"', '1,3', '2,4']
        """
        from mcsim.tables.csv import csv_of, without_lists

        return csv_of(without_lists(self.to_arrow()))

    def to_markdown(self) -> str:
        """Return the table for people as Markdown.

        Returns
        -------
        str
            The columns and rows of `formatted`, between ``|``.

        Examples
        --------
        >>> print(mc.ResultTable({"policy": ["lru", "arc"], "hits": [3, 4]}).to_markdown())
        | policy | hits |
        | --- | --- |
        | lru | 3 |
        | arc | 4 |
        """
        return self.formatted().to_markdown()

    def to_latex(self) -> str:
        """Return the table for people as LaTeX.

        Returns
        -------
        str
            A ``tabular`` with the columns and rows of `formatted`, for the package booktabs.
        """
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
