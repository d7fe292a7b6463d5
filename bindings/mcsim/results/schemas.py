"""The columns of a run's tables, and the order of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.tables.result_columns import schema_of_table

SCHEMAS: Mapping[str, pa.Schema] = {
    name: schema_of_table(name)
    for name in ("metrics", "vms", "curves", "reuse_intensity", "decisions", "bounds", "alone")
}
"""The tables that a run stores."""

# Columns of systems that read staged data from memory; null in others.
STAGED = ("staged_hits", "staged_requests", "staged_ns")

# Columns of tiers with delayed hits; null in others.
DELAYED = ("delayed_hits", "delayed_ns", "delayed_requests", "request_delay_ns")

# Counts of requests, of their bytes if the trace has lengths, and of discards if there were any.
REQUESTS = ("requests", "request_hits")
BYTES = ("bytes", "byte_hits")
DISCARDS = ("discarded_dirty",)
REPEATS = ("intervals", "times")
"""Columns with the number of equal intervals or decisions that a row stands for."""

OPTIONAL_COLUMNS: Mapping[str, pa.Schema] = {
    name: schema_of_table(name, rare=True) for name in SCHEMAS
}
"""Columns that only some runs have."""


def without_optional_columns(
    name: str, columns: Mapping[str, Any], *, hosts: bool
) -> dict[str, Any]:
    """Drop the optional columns of several hosts unless requested, and groups without a count."""
    groups = (STAGED, DELAYED, REQUESTS, BYTES, DISCARDS)
    counted = {column for group in groups for column in group}
    some = set() if hosts else set(OPTIONAL_COLUMNS[name].names) - counted
    for group in groups:
        if not any(np.any(columns.get(column, 0)) for column in group):
            some |= set(group)
    return {column: values for column, values in columns.items() if column not in some}


def schema_of(name: str, columns: Iterable[str]) -> pa.Schema:
    """Return the schema of a table that has these columns."""
    schema, has = SCHEMAS[name], set(columns)
    for column in OPTIONAL_COLUMNS[name]:
        schema = schema.append(column) if column.name in has else schema
    return schema


def drop_empty_optional_columns(name: str, table: pa.Table) -> pa.Table:
    """Return a table without optional columns that have no value."""
    for column in OPTIONAL_COLUMNS[name]:
        if column.name in table.column_names and table[column.name].null_count == len(table):
            table = table.drop_columns([column.name])
    return table


def concat_tables(tables: Iterable[pa.Table]) -> pa.Table:
    """Concatenate tables; a column that only some have is null in the others."""
    return pa.concat_tables(tables, promote_options="default")


def fill_repeats(table: pa.Table) -> pa.Table:
    """Replace nulls of `intervals` and `times`, from systems without such rows, by 1."""
    for name in REPEATS:
        if name in table.column_names:
            index = table.schema.get_field_index(name)
            table = table.set_column(index, name, pc.fill_null(table[name], 1))
    return table


def of_system(table: pa.Table, title: str) -> pa.Table:
    """Return the rows of one system, which come one after the other."""
    system = table["system"]
    rows = pc.sum(pc.equal(system, title), min_count=0).as_py()
    return table.slice(max(0, pc.index(system, title).as_py()), rows)


def counts_of(table: pa.Table, name: str) -> NDArray[np.int64]:
    """Return a column of one system's `metrics` or `vms`, with rows in the order of the axes.

    Returns
    -------
    array of int64, shape (intervals, vms, tiers), or (intervals, vms, 1) of `vms`
    """
    return all_counts_of(table, [name])[name]


def all_counts_of(
    table: pa.Table, names: Iterable[str], *, expanded: bool = True
) -> dict[str, NDArray[np.int64]]:
    """Return several columns, each as of `counts_of`; zeros of what a system has none of.

    Without `expanded`, the first axis has one entry for each of `interval_counts`.
    """
    if len(table) == 0:
        return {name: np.zeros((0, 0, 1), np.int64) for name in names}
    lengths = interval_counts(table)
    tiers = table["tier"][-1].as_py() + 1 if "tier" in table.column_names else 1
    there = set(table.column_names)
    none = np.zeros(len(table), np.int64)
    counts = {
        name: (np.asarray(pc.fill_null(table[name], 0)) if name in there else none).reshape(
            len(lengths), -1, tiers
        )
        for name in names
    }
    if expanded and np.any(lengths > 1):
        return {name: np.repeat(of, lengths, axis=0) for name, of in counts.items()}
    return counts


def interval_counts(table: pa.Table) -> NDArray[np.int64]:
    """Return how many intervals the rows of each interval stand for, of one system.

    Raises
    ------
    ValueError
        If intervals are missing.
    """
    begins = np.asarray(table["interval"], np.int64)
    is_first = np.diff(begins, prepend=-1) != 0
    lengths: NDArray[np.int64] = repeats_of(table, "intervals")[is_first]
    if np.any(begins[is_first][:1] + np.cumsum(lengths)[:-1] != begins[is_first][1:]):
        raise ValueError("intervals are missing")
    return lengths


def repeats_of(table: pa.Table, column: str) -> NDArray[np.int64]:
    """Return `intervals` or `times` of each row; 1 where there is none."""
    if column not in table.column_names:
        return np.ones(len(table), np.int64)
    repeats: NDArray[np.int64] = pc.fill_null(table[column], 1).to_numpy()
    return repeats


def with_every_interval(table: pa.Table, length: int) -> pa.Table:
    """Return `metrics`, `vms` or `decisions` with a row for every interval or decision.

    Parameters
    ----------
    table : pa.Table
        Returned as it is without `intervals` and `times`.
    length : int
        Length of an interval.
    """
    names = [name for name in REPEATS if name in table.column_names]
    if not names:
        return table
    lengths = repeats_of(table, names[0])
    rows = np.repeat(np.arange(len(table)), lengths)
    table = table.take(pa.array(rows)).drop_columns(names)
    if names == ["times"]:
        return table
    after = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    for name, step in {"interval": 1, "begin_ns": length}.items():
        if name in table.column_names:
            field = table.schema.get_field_index(name)
            moved = pa.array(table[name].to_numpy() + step * after, table[name].type)
            table = table.set_column(field, name, moved)
    system = pc.index_in(table["system"], pc.unique(table["system"])).to_numpy()
    return table.take(pa.array(np.lexsort((rows, table["interval"], system))))


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
