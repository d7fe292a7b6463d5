"""Objects with an Arrow table, as frames of pandas and Polars, and their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcsim.base.package import require
from mcsim.base.suggest import did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


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
        """Return the columns as an Arrow table, without copies where that is possible."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns of `to_arrow` as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            The rows and columns of `to_arrow`, with an index from 0 on.

        Raises
        ------
        ConfigError
            If pandas is not installed.

        Examples
        --------
        >>> mc.hit_ratio_curve([1, 2, 1, 2]).to_pandas()["ratio"].max()
        np.float64(0.5)
        """
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """Return the columns of `to_arrow` as a Polars frame.

        Returns
        -------
        polars.DataFrame
            The rows and columns of `to_arrow`.

        Raises
        ------
        ConfigError
            If Polars is not installed.

        Examples
        --------
        >>> mc.hit_ratio_curve([1, 2, 1, 2]).to_polars()["capacity"].to_list()
        [0, 2]
        """
        return polars_frame(self.to_arrow())


class Row(dict[str, Any]):
    """One row: ``row["hits"]`` and ``row.hits``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no column {name!r}{did_you_mean(name, self)}") from None
