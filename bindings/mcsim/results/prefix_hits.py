"""Prefix hits of a run on chains: blocks and tokens of each tenant, and the time that they save."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from mcsim.results.results import Results
from mcsim.results.tables import known, rows_by_vm, whole
from mcsim.results.totals import Totals, totals
from mcsim.tables.result_columns import schema_of_table

PREFIX_HITS = schema_of_table("prefix_hits")


def prefix_hits(results: Results) -> pa.Table:
    """Count the prefix hits of each system and tenant: a table of schema `PREFIX_HITS`.

    The time saved is that of all lookups at the backend, which computes blocks, less their time in
    the run. There are no rows without chains.
    """
    rows = [row for of in totals(results) for row in _rows(results, of)]
    return pa.Table.from_pylist(rows, schema=PREFIX_HITS)


def block_tokens_of(results: Results) -> int | None:
    """Return the tokens of a block; None for a workload without chains."""
    tokens = results.environment.get("block_tokens")
    return None if tokens is None else int(tokens)


def _rows(results: Results, of: Totals) -> Iterator[dict[str, Any]]:
    block_tokens = block_tokens_of(results)
    if block_tokens is None:
        return
    spec = results.spec
    token_bytes = spec.block_bytes // block_tokens
    computed_ns = known(spec.backend.read)
    counts = [
        (vm, row, int(of.bytes[v]), int(of.byte_hits[v]))
        for v, (vm, row) in enumerate(rows_by_vm(spec, of).items())
    ]
    every = (None, whole(spec, of), int(of.bytes.sum()), int(of.byte_hits.sum()))
    for vm, row, size, hit in [*counts, every]:
        waited = row.waited_ns or 0
        yield {
            "system": of.system.title,
            "vm": vm,
            "accesses": row.accesses,
            "hits": row.hits,
            "tokens": size // token_bytes,
            "token_hits": hit // token_bytes,
            "token_hit_ratio": hit / size if size else None,
            "saved_seconds": (row.accesses * computed_ns - waited) / 1e9,
        }
