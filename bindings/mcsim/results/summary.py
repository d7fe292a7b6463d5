"""A run in a few rows, as the tables of a sweep have it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from mcsim.base.result_columns import schema_of_table
from mcsim.results.results import Results
from mcsim.results.tables import COMPARISON, compared

SUMMARY = pa.schema([*COMPARISON, *schema_of_table("summary")])


def summary(results: Results) -> pa.Table:
    """Return `comparison` of a run with what OPT hits of all VMs, and what else is to be known."""
    return pa.Table.from_pylist(summed_up(results), schema=SUMMARY)


def summed_up(results: Results) -> list[dict[str, Any]]:
    """Return the rows of `summary`; what is not known of one may be absent."""
    bounds = results.table("bounds")
    of = dict(zip(bounds["system"].to_pylist(), bounds["opt_hits"].to_pylist(), strict=True))
    rows = compared(results)
    for row in rows:
        row["synthetic"] = results.synthetic
        if row["vm"] is None:
            row["opt_hits"] = of.get(row["system"])
    return rows
