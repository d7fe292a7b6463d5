"""Distance of each system from upper bounds, its fairness and its churn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mcsim.base.result_columns import schema_of_table
from mcsim.results.results import Results
from mcsim.results.schemas import all_counts_of, interval_counts, of_system, repeats_of
from mcsim.results.tables import Totals, devices_of, totals

YARDSTICKS = schema_of_table("yardsticks")


def yardsticks(results: Results) -> pa.Table:
    """Compare each system with upper bounds: a table of schema `YARDSTICKS`."""
    possible = dict(zip(*results.table("bounds").to_pydict().values(), strict=True))
    decisions = results.measured("decisions")
    timings: Mapping[str, Mapping[str, float]] = results.timings["systems"]
    rows: list[dict[str, Any]] = []
    hindsight, foresight = None, results.foresight
    alone = waits_alone(results)
    for of in totals(results):
        accesses, hits = int(of.accesses.sum()), int(of.hits.sum())
        # OPT has the tiers alone, without a staging area.
        ratio = (hits + int(of.staged_hits.sum())) / accesses if accesses else 0.0
        title = of.system.title
        if hindsight is None and of.system.name == "hindsight":
            hindsight = ratio
        by_vm = slowdowns(results, of, alone)
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
    return sum(values) ** 2 / (len(values) * squares) if squares else None


def slowdowns(
    results: Results, of: Totals, alone: Mapping[str, tuple[int, int]] | None = None
) -> dict[str, float] | None:
    """Return the factor by which each VM waited longer than with all tiers of its own.

    Every access counts as a read from the device with its block, because the time of a write does
    not depend on the cache. A VM alone has the hits of its curve, under an exclusive LRU of these
    tiers. A factor below 1 means that the system serves the VM better than that.

    Parameters
    ----------
    alone : mapping, optional
        Result of `waits_alone`, to share it between several systems.

    Returns
    -------
    dict of str to float, or None
        Factor of each VM that has accesses. None if the curves of the run have other accesses:
        other blocks, or also those of a warm-up; or of objects.
    """
    if results.kind == "objects":
        return None
    alone = waits_alone(results) if alone is None else alone
    used = devices_of(results.spec, of.hits.shape[1])
    reads_ns = np.array([device.waits[0] for device in used], dtype=object)
    factors = {}
    extra = of.remote_reads.sum(axis=1).astype(object) * results.spec.link_ns + of.staged_ns
    served = np.column_stack([of.hits, of.misses]).astype(object)
    for vm, total, waited in zip(
        of.vms, of.accesses.tolist(), map(int, np.dot(served, reads_ns) + extra), strict=True
    ):
        if not total:
            continue
        accesses, alone_ns = alone.get(vm, (-1, 0))
        if accesses != total:
            return None
        factors[vm] = waited / alone_ns if alone_ns else 1.0
    return factors


def waits_alone(results: Results) -> dict[str, tuple[int, int]]:
    """Return each VM's accesses, and their total time in ns as reads with all tiers to itself.

    A VM is omitted if its curve lacks the ends of the tiers.
    """
    spec = results.spec
    ends = np.cumsum([tier.capacity for tier in spec.tiers]).tolist()
    waits = {}
    for vm, (accesses, hits) in hits_alone(results, ends).items():
        if hits.keys() >= set(ends):
            before, sum_ns = 0, 0
            for end, tier in zip(ends, spec.tiers, strict=True):
                sum_ns += (hits[end] - before) * tier.waits[0]
                before = hits[end]
            sum_ns += (accesses - before) * spec.backend.waits[0]
            waits[vm] = accesses, int(sum_ns)
    return waits


def hits_alone(
    results: Results, capacities: Sequence[int] | None = None
) -> dict[str, tuple[int, dict[int, int]]]:
    """Return the accesses of each VM and its hits in a cache of its own by capacity."""
    curves = results.table("curves")
    curves = curves.filter(pc.equal(curves["scope"], "trace"))
    if capacities is not None:
        curves = curves.filter(pc.is_in(curves["capacity"], pa.array(capacities)))
    columns = (curves[name].to_pylist() for name in ("vm", "accesses", "capacity", "hits"))
    found: dict[str, tuple[int, dict[int, int]]] = {}
    for vm, accesses, capacity, hits in zip(*columns, strict=True):
        found.setdefault(vm, (accesses, {}))[1][capacity] = hits
    return found


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
