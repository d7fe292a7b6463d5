"""Curves of several streams by name: each by itself, and all in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcsim.base.result_table import Tabular
from mcsim.locality.curve import HitRatioCurve

if TYPE_CHECKING:
    import pyarrow as pa


class HitRatioCurves(dict[str | int, HitRatioCurve], Tabular):
    """Curves by VM or interval, such as `hit_ratio_curves` returns: a dict, with tables of all.

    Attributes
    ----------
    by : {'vm', 'begin'}
        What the keys are: names of VMs, or begins of intervals after the first request, in ns or
        references.
    """

    def __init__(self, curves: Mapping[Any, HitRatioCurve], by: str) -> None:
        super().__init__(curves)
        self.by = by

    def _repr_html_(self) -> str:
        """Return the best ratio of each curve, for notebooks."""
        from mcsim.base.formatted_table import FormattedTable

        rows = [
            [
                str(name),
                f"{curve.accesses:,}",
                f"{100 * curve.best_ratio:.2f} %",
                f"{curve.saturation:,}",
            ]
            for name, curve in self.items()
        ]
        heads = [self.by, "accesses", "most hits", "from blocks on"]
        title = f"{len(rows)} hit ratio curves"
        return FormattedTable(heads, rows, [False, True, True, True], title).to_html()

    def to_arrow(self) -> pa.Table:
        """Return all curves as one Arrow table, their names in a column `by` of their own.

        The other columns are those of `HitRatioCurve.to_arrow`, null where a curve has none.
        """
        import pyarrow as pa

        kind = pa.string() if self.by == "vm" else pa.int64()
        tables = [
            pa.table({self.by: pa.array([], kind), "capacity": pa.array([], pa.int64())}),
            *(
                curve.to_arrow()
                .replace_schema_metadata()
                .add_column(0, self.by, pa.array([name] * len(curve.capacities)).cast(kind))
                for name, curve in self.items()
            ),
        ]
        return pa.concat_tables(tables, promote_options="default")
