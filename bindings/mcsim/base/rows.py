"""What is handed to users: arrays by name, and a table where one is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.arguments import shortened
from mcsim.base.columns import array_given
from mcsim.base.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Rows", "Tabular", "polars_frame"]


def polars_frame(table: pa.Table) -> pl.DataFrame:
    """Return an Arrow table as a Polars frame."""
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


class Tabular:
    """What goes to Arrow, and from there to pandas and Polars."""

    def to_arrow(self) -> pa.Table:
        """Return the columns as an Arrow table."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns of `to_arrow` as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the columns of `to_arrow` as a Polars frame."""
        return polars_frame(self.to_arrow())


class Rows(np.recarray[Any, Any], Tabular):
    """Rows of equal columns, such as `simulate` returns.

    A NumPy record array: ``rows.hits`` and ``rows["hits"]`` are a column, ``rows[0]`` is a row,
    ``rows[rows.policy == "arc"]`` are rows again.

    Examples
    --------
    >>> rows = mc.Rows.of({"policy": np.array(["lru", "arc"]), "hits": np.array([3, 4])})
    >>> rows.hits.sum(), rows[0].policy, rows[rows.hits > 3].to_arrow().to_pydict()
    (np.int64(7), np.str_('lru'), {'policy': ['arc'], 'hits': [4]})
    """

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]]) -> Rows:
        """Make rows of columns of one length.

        Raises
        ------
        ConfigError
            If there is no column, or one has another length or more than one dimension.
        """
        if not isinstance(columns, Mapping):
            raise ConfigError(f"columns: expected a mapping, got {shortened(columns)}")
        columns = {name: array_given(column, str(name)) for name, column in columns.items()}
        shapes = {column.shape for column in columns.values()}
        if len(shapes) != 1 or len(shape := shapes.pop()) != 1:
            raise ConfigError("columns: expected some of one length, in one dimension")
        kinds = [(name, column.dtype) for name, column in columns.items()]
        rows = cls(shape[0], dtype=kinds)
        for name, column in columns.items():
            rows[name] = column
        return rows

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name, as views of the rows."""
        return {name: np.asarray(self[name]) for name in self.dtype.names or ()}

    def to_arrow(self) -> pa.Table:
        """Return the columns as an Arrow table."""
        import pyarrow as pa

        return pa.table({name: pa.array(column) for name, column in self.columns().items()})
