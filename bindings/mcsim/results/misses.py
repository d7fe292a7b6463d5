"""Misses of a run by cause: first accesses, invalidations, too little space, and the other VMs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mcsim.results.results import Results
from mcsim.results.schemas import of_system
from mcsim.results.totals import Totals, totals
from mcsim.tables.result_columns import schema_of_table

MISSES = schema_of_table("misses")


def miss_classes(results: Results) -> pa.Table:
    """Classify the misses of each system and VM by cause: a table of schema `MISSES`.

    The causes add up to the misses. Compulsory and invalidated misses are those of the VM alone in
    unlimited space, capacity misses its further ones alone with all tiers, on the data path of the
    system. All others are interference: it takes the place of conflicts between addresses in a
    cache that VMs share.

    Notes
    -----
    There are rows only of VMs that were replayed alone, and have counted accesses. Systems that
    move extents or load lines have none, because first accesses may hit. Systems that change write
    modes have none, because their invalidations differ from those of the VM alone.

    References
    ----------
    M. D. Hill, *Aspects of Cache Memory and Instruction Buffer Performance*, thesis, University
    of California, Berkeley, 1987.
    """
    rows = [row for of in totals(results) for row in _rows(results, of)]
    return pa.Table.from_pylist(rows, schema=MISSES)


def _rows(results: Results, of: Totals) -> Iterator[dict[str, Any]]:
    title = of.system.title
    if changes_write_modes(results, title):
        return
    alone = alone_by_vm(results, title)
    every = [0] * (len(MISSES) - 2)
    for vm, accesses, misses in zip(of.vms, of.accesses.tolist(), of.misses.tolist(), strict=True):
        known = alone.get(vm)
        if not accesses or known is None or known["compulsory"] is None:
            continue
        if known["accesses"] != accesses:
            continue
        missed = misses if len(of.vms) == 1 else known["misses"]
        certain = [known["compulsory"], known["invalidated"]]
        counts = [accesses, *certain, missed - sum(certain), misses - missed]
        every = [a + b for a, b in zip(every, counts, strict=True)]
        yield _row(title, vm, counts)
    if every[0]:
        yield _row(title, None, every)


def _row(title: str, vm: str | None, counts: list[int]) -> dict[str, Any]:
    return dict(zip(MISSES.names, [title, vm, *counts], strict=True))


def changes_write_modes(results: Results, title: str) -> bool:
    """Return whether decisions of a system changed write modes."""
    decisions = results.table("decisions")
    if "write_modes" not in decisions.column_names:
        return False
    modes = of_system(decisions, title)["write_modes"]
    return bool(modes.null_count < len(modes))


def alone_by_vm(results: Results, title: str) -> dict[str, Mapping[str, Any]]:
    """Return the rows of table `alone` of a system, by VM."""
    alone = results.table("alone")
    return {row["vm"]: row for row in alone.filter(pc.equal(alone["system"], title)).to_pylist()}
