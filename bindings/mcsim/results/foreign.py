"""Validate the files of a run, which may come from another version or from anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from mcsim.config.load import MOST_VALUES, check_extent
from mcsim.config.spec import ExperimentSpec
from mcsim.config.stored_keys import with_current_keys
from mcsim.results.schemas import SCHEMAS, schema_of

_ENVIRONMENT: Mapping[str, type | tuple[type, ...]] = {
    "build": str,
    "synthetic": bool,
    "traces": list,
    "counted_ns": list,
    "code": dict,
    "data_paths": dict,
    "foresight": dict,
    "results_version": int,
}
_ALWAYS = ("synthetic",)

_KEYS: Mapping[str, set[str]] = {
    "metrics": {"system", "interval", "vm", "tier"},
    "vms": {"system", "interval", "vm", "begin_ns"},
    "curves": {"vm", "scope", "capacity", "hits", "accesses"},
    "reuse_intensity": {"vm", "window_end_ns", "reuse_intensity"},
    "decisions": {"system", "interval"},
    "bounds": {"system", "opt_hits"},
    "alone": {"system", "vm", "accesses"},
}


PACKED_RUNS = pa.schema(
    [
        ("spec", pa.string()),
        ("timings", pa.string()),
        ("environment", pa.int32()),
        ("curves", pa.int32()),
        ("reuse_intensity", pa.int32()),
    ]
)
"""The table `runs` of a pack: a row for each run."""


def parse_spec(text: bytes) -> ExperimentSpec:
    """Return the experiment of a `spec.yaml`; ValueError if it is not one."""
    try:
        nodes = YAML(typ="safe").load(text)
    except (YAMLError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"not YAML: {type(error).__name__}") from None
    # A run writes no aliases, so that each value takes a byte or more.
    check_extent(nodes, lambda line: f"line {line}", max(MOST_VALUES, len(text)))
    return spec_of(nodes)


def spec_of(nodes: Any) -> ExperimentSpec:
    """Return an experiment of its nodes; ValueError if this version has no such experiments."""
    from pydantic import ValidationError

    try:
        return ExperimentSpec.model_validate(with_current_keys(nodes))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the top"
        raise ValueError(
            f"not an experiment of this version of mcsim: {where}: {first['msg']}"
        ) from None
    except (RecursionError, TypeError) as error:
        raise ValueError(f"not an experiment: {error}") from None


def check_environment(value: Mapping[str, Any]) -> None:
    """Check the shape of an `environment.json`; ValueError if it is another."""
    for name, kind in _ENVIRONMENT.items():
        if name not in value and name in _ALWAYS:
            raise ValueError(f"it has no {name!r}")
        if name in value and not isinstance(value[name], kind):
            raise ValueError(f"{name!r} is not of its type")
    counted = value.get("counted_ns", [0, 0])
    if [type(time) for time in counted] != [int, int] or not 0 <= counted[0] <= counted[1]:
        raise ValueError("'counted_ns' is not two times")
    if not set(map(str, value.get("foresight", {}).values())) <= {"next", "whole"}:
        raise ValueError("'foresight' has other values")
    if not all(isinstance(path, dict) for path in value.get("data_paths", {}).values()):
        raise ValueError("'data_paths' has other values")
    for trace in value.get("traces", []):
        if not isinstance(trace, dict) or not isinstance(trace.get("vm"), str):
            raise ValueError("'traces' has an entry without a VM")


def check_timings(value: Mapping[str, Any]) -> None:
    """Check the shape of a `timings.json`; ValueError if it is another."""
    stages, systems = value.get("stages"), value.get("systems")
    if not isinstance(stages, dict) or not isinstance(systems, dict):
        raise ValueError("it has no 'stages' or no 'systems'")
    for of in (stages, *systems.values()):
        if not isinstance(of, dict) or not all(isinstance(s, int | float) for s in of.values()):
            raise ValueError("it has other values than seconds")


def checked_table(name: str, table: pa.Table) -> pa.Table:
    """Return a table if its columns have the types of `SCHEMAS`; ValueError otherwise.

    Runs of earlier versions may lack counts. All runs have the columns of `_KEYS`.
    """
    needed = _KEYS[name]
    if missing := needed - set(table.column_names):
        raise ValueError(f"it has no column {min(missing)!r}")
    for column in schema_of(name, table.column_names):
        if column.name not in table.column_names:
            continue
        found = table.schema.field(column.name).type
        if found != column.type and not pa.types.is_null(found):
            raise ValueError(f"column {column.name!r} is {found}, not {column.type}")
        if column.name in needed and table[column.name].null_count:
            raise ValueError(f"column {column.name!r} has nulls")
    return table


def number_column(name: str) -> str:
    """Return the column of a table of a pack that numbers its runs, or what they share."""
    return "of" if name in ("curves", "reuse_intensity") else "run"


def checked_packed(name: str, table: pa.Table, runs: int) -> pa.Table:
    """Return a table of a pack if its columns have the needed types; ValueError otherwise."""
    if name == "runs":
        if len(table) != runs:
            raise ValueError(f"{len(table):,} rows of {runs:,} runs")
        needed = PACKED_RUNS
    else:
        column = number_column(name)
        needed = pa.schema([(column, pa.int32())])
    for field in needed:
        if field.name not in table.column_names or table[field.name].type != field.type:
            raise ValueError(f"no column {field.name!r} of type {field.type}")
        if table[field.name].null_count:
            raise ValueError(f"column {field.name!r} has nulls")
    if name != "runs" and np.any(np.diff(table[column].to_numpy()) < 0):
        raise ValueError(f"column {column!r} is out of order")
    if name in (*SCHEMAS, "points"):
        checked_table("curves" if name == "points" else name, table)
    return table
