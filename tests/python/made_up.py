"""Rows of result tables for tests that make their results up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from mcsim.results.schemas import SCHEMAS


def of_tier(system: str, interval: int, vm: str, tier: int, hits: int, **more: int) -> Any:
    """A row of `metrics` where all accesses are reads, one block each."""
    served = {"hits": hits, "reads_served": hits, "read_requests": hits}
    return {"system": system, "interval": interval, "vm": vm, "tier": tier} | served | more


def of_vm(system: str, interval: int, vm: str, begin_ns: int, accesses: int, misses: int) -> Any:
    """A row of `vms` where all accesses are reads, one block each."""
    counts = {"accesses": accesses, "misses": misses, "backend_reads": misses}
    served = {"reads_served": misses, "read_requests": misses}
    names = {"system": system, "interval": interval, "vm": vm, "begin_ns": begin_ns}
    return names | counts | served


def table(name: str, rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Return rows as one of the tables of a run; counts not given are 0."""
    schema = SCHEMAS[name]
    assert all(set(row) <= set(schema.names) for row in rows)
    return pa.table({f.name: [row.get(f.name, 0) for row in rows] for f in schema}, schema=schema)
