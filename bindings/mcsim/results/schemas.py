"""The columns of a run's tables, and the order of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["SCHEMAS", "STAGED", "all_counts_of", "below", "counts_of", "joined_curves", "of_system"]
__all__ += ["schema_of", "spoken", "usual"]

# Blocks and requests, by what the VM waited for: a tier, or the backend.
_SERVED = ("reads_served", "writes_served", "read_requests", "write_requests")

_TIER_COUNTS = (
    "hits",
    "write_hits",
    "fills",
    "promotions",
    "demotions",
    "updates",
    "moved_up",
    "moved_down",
    "evictions",
    "invalidations",
    "copied_out",
    "occupancy",
    "target",
    *_SERVED,
)

_VM_COUNTS = (
    "accesses",
    "misses",
    "writes",
    "write_misses",
    "backend_reads",
    "backend_writes",
    "write_backs",
    "dirtied",
    "dirty",
    *_SERVED,
)

SCHEMAS: Mapping[str, pa.Schema] = {
    "metrics": pa.schema(
        [
            ("system", pa.string()),
            ("interval", pa.int32()),
            ("vm", pa.string()),
            ("tier", pa.int32()),
            *((name, pa.int64()) for name in _TIER_COUNTS),
        ]
    ),
    "vms": pa.schema(
        [
            ("system", pa.string()),
            ("interval", pa.int32()),
            ("vm", pa.string()),
            ("begin_ns", pa.int64()),  # since the workload's first access; or references
            *((name, pa.int64()) for name in _VM_COUNTS),
        ]
    ),
    "curves": pa.schema(
        [
            ("vm", pa.string()),
            ("scope", pa.string()),
            ("capacity", pa.int64()),
            ("hits", pa.int64()),
            ("accesses", pa.int64()),
        ]
    ),
    "reuse_intensity": pa.schema(
        [
            ("vm", pa.string()),
            ("window_end_ns", pa.int64()),  # since the workload's first access; or references
            ("reuse_intensity", pa.float64()),
            ("accesses", pa.int64()),
        ]
    ),
    "decisions": pa.schema(
        [
            ("system", pa.string()),
            ("interval", pa.int32()),
            ("request", pa.int64()),
            ("objective", pa.float64()),
            ("upper_bound", pa.float64()),
            ("evaluations", pa.int64()),
            ("infeasible", pa.string()),  # why what was asked for cannot be had; empty if it can
        ]
    ),
    "bounds": pa.schema(
        [
            ("system", pa.string()),
            ("opt_hits", pa.int64()),  # of OPT in one cache of all VMs, with a block more
        ]
    ),
}


# Of systems that read data from where it is staged, in memory; null in others.
STAGED = ("staged_hits", "staged_requests", "staged_ns")

# Columns beside these, of runs that say anything in them.
_NOW_AND_THEN: Mapping[str, pa.Schema] = {
    "decisions": pa.schema(
        [
            # By VM; null: as it was.
            ("admits", pa.list_(pa.bool_())),
            ("write_modes", pa.list_(pa.string())),  # "back", or by tier "through / back"
            ("timer", pa.string()),  # that rang, of systems that have several
            ("note", pa.string()),  # what the system found out besides; null: nothing
            ("throughputs", pa.list_(pa.float64())),  # by VM, blocks a second
            ("moved", pa.int64()),  # blocks of extents that were placed elsewhere
        ]
    ),
    # Of several hosts:
    "metrics": pa.schema(
        [(name, pa.int64()) for name in ("transfers", "remote_reads", "remote_requests")]
    ),
    "vms": pa.schema(
        [
            ("host", pa.string()),
            ("sent", pa.int64()),
            ("transferred", pa.int64()),
            ("on_demand", pa.int64()),
            ("left_behind", pa.int64()),
            ("on_the_way", pa.int64()),
            *((name, pa.int64()) for name in STAGED),
        ]
    ),
}


def usual(name: str, columns: Mapping[str, Any], *, hosts: bool, staged: bool) -> dict[str, Any]:
    """Leave out the columns of a table that only some runs have, but of these if asked for."""
    some = set(_NOW_AND_THEN.get(name, pa.schema([])).names)
    if hosts:
        some &= set(STAGED)
    if staged:
        some -= set(STAGED)
    return {column: values for column, values in columns.items() if column not in some}


def schema_of(name: str, columns: Iterable[str]) -> pa.Schema:
    """Return the schema of a table that has these columns."""
    schema, has = SCHEMAS[name], set(columns)
    for column in _NOW_AND_THEN.get(name, ()):
        schema = schema.append(column) if column.name in has else schema
    return schema


def spoken(name: str, table: pa.Table) -> pa.Table:
    """Return a table without columns that only some runs have and this one says nothing in."""
    for column in _NOW_AND_THEN.get(name, ()):
        if column.name in table.column_names and table[column.name].null_count == len(table):
            table = table.drop_columns([column.name])
    return table


def below(tables: Iterable[pa.Table]) -> pa.Table:
    """Put tables one below the other; a column that only some have is null in the others."""
    return pa.concat_tables(tables, promote_options="default")


def of_system(table: pa.Table, title: str) -> pa.Table:
    """Return the rows of one system, which come one after the other."""
    system = table["system"]
    rows = pc.sum(pc.equal(system, title), min_count=0).as_py()
    return table.slice(max(0, pc.index(system, title).as_py()), rows)


def counts_of(table: pa.Table, name: str) -> NDArray[np.int64]:
    """Return a column of one system's `metrics` or `vms`, whose rows come in this order.

    Returns
    -------
    array of int64, shape (intervals, vms, tiers), or (intervals, vms, 1) of `vms`
    """
    return all_counts_of(table, [name])[name]


def all_counts_of(table: pa.Table, names: Iterable[str]) -> dict[str, NDArray[np.int64]]:
    """Return several columns, each as of `counts_of`; zeros of what a system has none of."""
    if len(table) == 0:
        return {name: np.zeros((0, 0, 1), np.int64) for name in names}
    intervals = table["interval"][-1].as_py() - table["interval"][0].as_py() + 1
    tiers = table["tier"][-1].as_py() + 1 if "tier" in table.column_names else 1
    there = set(table.column_names)
    none = np.zeros(len(table), np.int64)
    return {
        name: (np.asarray(pc.fill_null(table[name], 0)) if name in there else none).reshape(
            intervals, -1, tiers
        )
        for name in names
    }


def joined_curves(steps: pa.Table, points: pa.Table) -> pa.Table:
    """Merge two tables of the same VMs' curves, each with rows VM by VM, by capacity.

    A capacity that both have comes once.
    """
    both = pa.concat_tables([steps, points]).combine_chunks()
    vm = pc.index_in(both["vm"], pc.unique(steps["vm"])).to_numpy()
    capacity = both["capacity"].to_numpy()
    order = np.lexsort((capacity, vm))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(vm[order]) != 0) | (np.diff(capacity[order]) != 0)
    rows = pa.array(order[new])
    # Column by column: a table is taken from in several times as long.
    return pa.table({name: both[name].take(rows) for name in both.column_names})
