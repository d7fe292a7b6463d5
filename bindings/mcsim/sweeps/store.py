"""Results of a sweep in a folder of results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mcsim.results.packs import packs_in
from mcsim.results.results import Results
from mcsim.results.seals import unsound_files
from mcsim.results.tables import SUMMARY, summary


def finished(out: Path, run_ids: Sequence[str]) -> set[str]:
    """Return the ids of finished runs, in packs or in undamaged folders of their own."""
    wanted = set(run_ids)
    there = {run_id for pack in packs_in(out) for run_id in pack.run_ids} & wanted
    return there | {run_id for run_id in wanted - there if not unsound_files(out / run_id)}


def joined(out: Path, plan: pa.Table) -> pa.Table:
    """Join the results of finished cells: a row for each cell, system and VM.

    Parameters
    ----------
    out : Path
        Folder of all results.
    plan : pyarrow.Table
        Plan as of `Plan.table`.

    Returns
    -------
    pyarrow.Table
        Columns of the plan, then those of `mcsim.results.tables.SUMMARY`. In rows over all VMs,
        `vm` is null. Hits by tier have a column for each tier. Rows are in the order of the cells
        and do not depend on the process that ran a cell.
    """
    cells: dict[str, list[int]] = {}
    for cell, run_id in enumerate(plan["run_id"].to_pylist()):
        cells.setdefault(run_id, []).append(cell)
    rows, places = [SUMMARY.empty_table()], [np.zeros(0, np.int64)]
    for run_id, table in _summaries(out, set(cells)):
        for cell in cells[run_id]:
            rows.append(table)
            places.append(np.full(len(table), cell))
    place = np.concatenate(places)
    order = np.argsort(place, kind="stable")
    found = _with_columns_of_tiers(pa.concat_tables(rows).take(pa.array(order)))
    of_plan = plan.take(pa.array(place[order]))
    for name in found.column_names:
        of_plan = of_plan.append_column(name, found[name])
    return of_plan.combine_chunks()


def _summaries(out: Path, run_ids: set[str]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the summary of each finished run, once."""
    missing = set(run_ids)
    for pack in packs_in(out):
        for number, run_id in enumerate(pack.run_ids):
            if run_id in missing:
                missing.remove(run_id)
                yield run_id, pack.summary(number)
    for run_id in missing:
        if (out / run_id / "DONE").exists():
            yield run_id, summary(Results.open(out / run_id))


def _with_columns_of_tiers(table: pa.Table) -> pa.Table:
    """Replace lists by a column for each tier."""
    for name in ("tier_hits", "tier_hit_ratio"):
        of = table[name].combine_chunks()
        tiers = pc.max(pc.list_value_length(of)).as_py() or 0
        table = table.drop_columns([name])
        for tier in range(tiers):
            has = pc.greater(pc.list_value_length(of), tier)
            safe = pc.if_else(has, of, pa.scalar(None, of.type))
            column = pc.list_element(pc.fill_null(safe, [0] * tiers), tier)
            table = table.append_column(f"{name}_{tier}", pc.if_else(has, column, None))
    return table
