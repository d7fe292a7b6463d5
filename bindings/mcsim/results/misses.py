"""Misses of a run by cause: first accesses, too little space, and the other VMs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from mcsim.base.result_columns import schema_of_table
from mcsim.results.results import Results
from mcsim.results.tables import Totals, totals
from mcsim.results.yardsticks import hits_alone

MISSES = schema_of_table("misses")


def miss_classes(results: Results) -> pa.Table:
    """Classify the misses of each system and VM by cause: a table of schema `MISSES`.

    The three classes add up to the misses. In a cache that VMs share, interference takes the
    place of conflicts between addresses.

    Notes
    -----
    VMs are left out if the curves of the run have other accesses than the system: other blocks,
    or those of a warm-up.

    References
    ----------
    M. D. Hill, *Aspects of Cache Memory and Instruction Buffer Performance*, thesis, University
    of California, Berkeley, 1987.
    """
    alone = _misses_alone(results)
    rows = [row for of in totals(results) for row in _rows(of, alone)]
    return pa.Table.from_pylist(rows, schema=MISSES)


def _rows(of: Totals, alone: dict[str, tuple[int, int, int]]) -> Iterator[dict[str, Any]]:
    every = [0, 0, 0, 0]
    for vm, accesses, misses in zip(of.vms, of.accesses.tolist(), of.misses.tolist(), strict=True):
        counted, first, missed = alone.get(vm, (-1, 0, 0))
        if counted != accesses:
            continue
        row = [accesses, first, missed - first, misses - missed]
        every = [a + b for a, b in zip(every, row, strict=True)]
        yield _row(of, vm, row)
    yield _row(of, None, every)


def _row(of: Totals, vm: str | None, counts: list[int]) -> dict[str, Any]:
    return dict(zip(MISSES.names, [of.system.title, vm, *counts], strict=True))


def _misses_alone(results: Results) -> dict[str, tuple[int, int, int]]:
    """Return of each VM its accesses, its first ones, and its misses with all tiers of its own."""
    space = sum(tier.capacity for tier in results.spec.tiers)
    return {
        vm: (accesses, accesses - max(hits.values()), accesses - hits[space])
        for vm, (accesses, hits) in hits_alone(results).items()
        if space in hits
    }
