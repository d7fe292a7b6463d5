"""The columns of all result tables, declared once.

`TABLES` serves the schemas of stored tables, the terminal, pages, charts, CSV, LaTeX and
``docs/columns.md``. A new column is one entry of `RUN_TABLES` or `ANALYSIS_TABLES`; its value
comes from the code that makes the rows of its table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcsim.base.analysis_columns import ANALYSIS_TABLES
from mcsim.base.column import Column
from mcsim.base.run_columns import RUN_TABLES

if TYPE_CHECKING:
    import pyarrow as pa


_POSSIBLE = ("share_of_opt", "over_hindsight", "worst_slowdown")

TABLES: Mapping[str, Sequence[Column]] = {
    **RUN_TABLES,
    **ANALYSIS_TABLES,
    "overview": [
        Column("seeds", "seeds", "count", "number of seeds; only of sweeps", rare=True),
        *RUN_TABLES["comparison"],
        *(column for column in RUN_TABLES["yardsticks"] if column.name in _POSSIBLE),
    ],
}
"""The columns of every table, in order."""


def column_of(table: str, name: str) -> Column:
    """Return a column of a table; one that is not declared is shown by its name.

    A column of one tier, such as ``tier_hit_ratio_0``, has the declaration of the list.
    """
    declared = {column.name: column for column in TABLES.get(table, ())}
    base = name.rpartition("_")[0] if name[-1:].isdigit() and name not in declared else name
    if base in declared:
        return declared[base]
    of_spread = declared.get(name.removesuffix("_margin").removesuffix("_deviation"))
    if of_spread is not None:
        return Column(name, f"± {of_spread.heading}", of_spread.unit, "half of its 95 % band")
    return Column(name, name.replace("_", " "), "", "")


def schema_of_table(table: str, *, rare: bool = False) -> pa.Schema:
    """Return the schema of the columns that all such tables have, or of those that are rare."""
    import pyarrow as pa

    columns = (column for column in TABLES[table] if column.rare == rare)
    return pa.schema([(column.name, column.arrow_type) for column in columns])
