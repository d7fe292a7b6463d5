"""Distance of each system from upper bounds, with OPT; its fairness and its churn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mcsim.base.deployed import RULES
from mcsim.config.spec import SystemSpec
from mcsim.results.data_paths import FIXED, PLACED
from mcsim.results.misses import alone_by_vm
from mcsim.results.results import Results
from mcsim.results.schemas import all_counts_of, interval_counts, of_system, repeats_of
from mcsim.results.tables import rows_by_vm
from mcsim.results.totals import Totals, totals
from mcsim.tables.result_columns import schema_of_table

YARDSTICKS = schema_of_table("yardsticks")


def yardsticks(results: Results) -> pa.Table:
    """Compare each system with upper bounds: a table of schema `YARDSTICKS`."""
    possible = dict(zip(*results.table("bounds").to_pydict().values(), strict=True))
    decisions = results.measured("decisions")
    timings: Mapping[str, Mapping[str, float]] = results.timings["systems"]
    rows: list[dict[str, Any]] = []
    hindsight, foresight = None, results.foresight
    for of in totals(results):
        accesses, hits = int(of.accesses.sum()), int(of.hits.sum())
        # OPT has the tiers alone, without a staging area.
        ratio = (hits + int(of.staged_hits.sum())) / accesses if accesses else 0.0
        title = of.system.title
        if hindsight is None and of.system.name == "hindsight":
            hindsight = ratio
        by_vm = slowdowns(results, of)
        slower = list((by_vm or {}).values())
        opt = possible.get(title)
        own = of_system(decisions, title)
        is_infeasible = np.asarray(pc.not_equal(pc.fill_null(own["infeasible"], ""), ""))
        rows.append(
            {
                "system": title,
                "hit_ratio": ratio,
                "share_of_opt": hits / opt if opt else None,
                "fairness": jain(slower) if slower and len(slower) > 1 else None,
                "worst_slowdown": max(slower) if slower else None,
                "churn": churn(results, title),
                "infeasible": int(repeats_of(own, "times")[is_infeasible].sum()),
                "decide_seconds": timings.get(title, {}).get("decide_seconds"),
                "foresight": foresight.get(title),
            }
        )
    if hindsight is not None:
        for row in rows:
            row["over_hindsight"] = row["hit_ratio"] - hindsight
    return pa.Table.from_pylist(rows, schema=YARDSTICKS)


def jain(values: Sequence[float]) -> float | None:
    """Return Jain's index: 1 if all values are equal, 1/n if all but one are 0.

    Jain, Chiu, Hawe: A quantitative measure of fairness, DEC-TR-301, 1984.

    Examples
    --------
    >>> from mcsim.results.yardsticks import jain
    >>> jain([1, 3])
    0.8
    >>> jain([]) is None
    True
    """
    squares = sum(value * value for value in values)
    if not 0 < squares < np.inf:
        return None
    return sum(values) ** 2 / (len(values) * squares)


def slowdowns(results: Results, of: Totals) -> dict[str, float] | None:
    """Return the factor between the mean latency of each VM and its mean latency alone.

    Alone, the VM has all tiers all the time, on the data path that is configured for the system
    (`mcsim.experiment.alone`). A factor below 1 means that the system serves the VM better than
    that. The only VM of a run has 1.

    Returns
    -------
    dict of str to float, or None
        Factor of each VM that has accesses. None if the VMs were not replayed alone, and of
        objects, which have no latency.
    """
    if results.kind == "objects":
        return None
    shared = rows_by_vm(results.spec, of)
    alone = alone_by_vm(results, of.system.title)
    factors = {}
    for vm, row in shared.items():
        if row.mean_latency_ns is None:
            continue
        if len(shared) == 1:
            return {vm: 1.0}
        known = alone.get(vm)
        if known is None or known["accesses"] != row.accesses or known["mean_latency_ns"] is None:
            return None
        least = known["mean_latency_ns"]
        if least:
            factors[vm] = row.mean_latency_ns / least
        else:
            factors[vm] = np.inf if row.mean_latency_ns else 1.0
    return factors


def churn(results: Results, system: str) -> float | None:
    """Return the mean number of blocks per interval that targets move to another VM.

    A block counts for the VM that gains it. The result is None for a single interval. For a system
    that places extents, it is the mean number of blocks of extents that moved, on any device.
    """
    own = of_system(results.measured("metrics"), system)
    intervals = int(interval_counts(own).sum())
    decisions = of_system(results.to_arrow("decisions"), system)
    if "moved" in decisions.column_names and decisions["moved"].null_count < len(decisions):
        measured = of_system(results.measured("decisions"), system)
        return float(pc.sum(measured["moved"], min_count=0).as_py()) / intervals
    if intervals < 2:
        return None
    targets = all_counts_of(own, ["target"], expanded=False)["target"]
    return float(np.maximum(np.diff(targets, axis=0), 0).sum()) / (intervals - 1)


# Seconds of time: OPT replays 15 million accesses a second or more, of caches of gigabytes.
MOST_ACCESSES = 1 << 27
"""Number of accesses up to which a run computes the bound by default."""
_ACCESSES_PER_SECOND = 15e6


def how_to_get_opt(accesses: int) -> str:
    """Return the sentence that names the option for the bound, and the time that it takes.

    Examples
    --------
    >>> from mcsim.results.yardsticks import how_to_get_opt
    >>> how_to_get_opt(900_000_000)
    '`--set opt=true` computes it in about 1 min'
    """
    seconds = accesses / _ACCESSES_PER_SECOND
    if seconds < 60:
        return f"`--set opt=true` computes it in about {max(1, round(seconds))} s"
    minutes = seconds / 60
    time = f"{round(minutes)} min" if minutes < 90 else f"{round(minutes / 60, 1):g} h"
    return f"`--set opt=true` computes it in about {time}"


def why_no_opt(results: Results) -> str | None:
    """Return why a run has no bound of OPT, and how to get it; None if it has one."""
    if results.table("bounds").num_rows:
        return None
    if not any(_can_be_bounded(results, system) for system in results.spec.systems):
        return (
            "OPT: no bound of systems that hold blocks which were never accessed (lines, extents)"
        )
    if results.spec.in_bytes:
        return (
            "OPT: no bound of objects with sizes; `mcsim compare --policies pfoo` has a bound of "
            "one shared cache"
        )
    if results.spec.starts_filled:
        return "OPT: not computed, because the caches start filled and OPT would start empty"
    accesses = sum(entry.get("accesses", 0) for entry in results.environment.get("traces", []))
    why = " (`opt: false`)" if results.spec.opt is False else f" for {accesses:,} accesses"
    return f"OPT: not computed{why}; {how_to_get_opt(accesses)}"


def _can_be_bounded(results: Results, system: SystemSpec) -> bool:
    recorded = results.environment.get("data_paths", {}).get(system.title, {})
    is_placed = FIXED.get(system.name) == PLACED or recorded.get("writes") == PLACED.writes
    has_lines = system.params.get("line", 1) > 1 or system.name in RULES
    return not is_placed and not has_lines
