"""Figures of the Multi-Cache paper that show whole servers: their table, figures 6 and 14."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from ruamel.yaml import YAML

from mcsim.figures.declared import Plot
from mcsim.figures.looks import system_looks
from mcsim.reproduce.catalogue import Check, Found, said
from mcsim.reproduce.context import QUICK_SHARE, Context
from mcsim.results.results import Results
from mcsim.results.series import vms_of
from mcsim.results.tables import ALL, rows_of
from mcsim.traces.trace import Trace

from .web import (
    GLOBAL,
    GLOBAL_CODED,
    MULTICACHES,
    by_variant,
    claims,
    web,
)

__all__ = ["find_hit_ratio_by_size", "find_hit_ratio_by_volume", "find_servers"]

_STOOD_IN_FOR = ("web", "prn")
"""Servers with generated weeks, unless recorded traces are found."""

_SMALL = 1.5
"""Million blocks; up to there the paper sees no difference."""

_SEEDS, _QUICK_SEEDS = 5, 2
"""Seeds of the stand-in for the spread of figure 14."""


@dataclass(frozen=True)
class _Server:
    name: str
    function: str
    volumes: tuple[str, ...]


def _servers(context: Context) -> list[_Server]:
    listed = YAML(typ="safe").load(context.folder("multicache/servers.yaml"))
    return [
        _Server(name, of["function"], tuple(f"{name}_{i}" for i in range(of["volumes"])))
        for name, of in listed.items()
    ]


def find_servers(context: Context) -> Found:
    """The table of servers: what of it is there, and how much that is."""
    rows = [row for server in _servers(context) for row in _inventory(server, context)]
    recorded = [row["volume"] for row in rows if row["source"] == "recorded"]
    synthetic = [row["volume"] for row in rows if row["source"] == "synthetic"]
    by_server = [(server, len(list(of))) for server, of in groupby(row["server"] for row in rows)]
    sizes = [row for row in rows if row["source"] is not None]
    checks = [
        Check(
            "every volume is recorded",
            True if len(recorded) == len(rows) else None,
            f"{len(recorded)} of {len(rows)} are ({', '.join(recorded) or 'none'}): trace set 388 "
            "of the SNIA IOTTA repository has all, --trace-dir says where they are; generated "
            f"instead: {', '.join(synthetic) or 'none'}",
        ),
        Check(
            "no volume has more distinct blocks than it reads",
            all(row["distinct_blocks"] <= row["blocks_read"] for row in sizes),
            f"{len(sizes)} volumes looked at",
        ),
    ]
    return Found(
        values={"servers": len(by_server), "volumes": len(rows)},
        checks=checks,
        tables={"volumes": pa.Table.from_pylist(rows)},
        ran=["an inventory of traces"],
        recorded=len(recorded) == len(rows),
    )


def _inventory(server: _Server, context: Context) -> Iterator[dict[str, Any]]:
    """Yield a row for every volume: requests and blocks read, distinct blocks, where from."""
    stood_in = _run_of(server, context) if server.name in _STOOD_IN_FOR else None
    made = {} if stood_in is None else {t["vm"]: t for t in stood_in.environment["traces"]}
    for volume in server.volumes:
        counts: dict[str, Any] = {"requests": None, "accesses": None, "unique_blocks": None}
        source = None
        if (path := context.trace(volume)) is not None:
            source, counts = "recorded", _counts(Trace.open(path))
        elif volume in made:
            source, counts = "synthetic", made[volume]
        yield {
            "server": server.name,
            "function": server.function,
            "volume": volume,
            "source": source,
            "sample": QUICK_SHARE if context.quick and source == "synthetic" else 1.0,
            "read_requests": counts["requests"],
            "blocks_read": counts["accesses"],
            "distinct_blocks": counts["unique_blocks"],
        }


def _counts(trace: Trace) -> dict[str, Any]:
    """Count requests and blocks read of a trace, which may have none."""
    reads = trace.metadata.counts
    unique = trace.blocks("reads").unique if reads.reads else 0
    return {"requests": reads.reads, "accesses": reads.read_blocks, "unique_blocks": unique}


def _run_of(server: _Server, context: Context) -> Results | None:
    """Run a server that was recorded whole, or that can be stood in for."""
    there = all(context.trace(volume) is not None for volume in server.volumes)
    if server.name == "web":
        return web(context)
    if not there and server.name not in _STOOD_IN_FOR:
        return None
    vms = ", ".join(f"{{name: {volume}, format: msr}}" for volume in server.volumes)
    return context.run("multicache/server.yaml", [f"workload.vms=[{vms}]"])


def find_hit_ratio_by_volume(context: Context) -> Found:
    """Figure 6: hit ratio of every volume, one server at a time; and the abstract's latency."""
    runs = [run for server in _servers(context) if (run := _run_of(server, context)) is not None]
    best = by_variant(
        lambda title: min(_latencies(runs, title).items(), key=lambda entry: entry[1])
    )

    def none_loses(title: str) -> tuple[bool, str]:
        volume, points = _worst(runs, title)
        return points >= -0.5, f"the worst is {volume} with {points:+.2f} points"

    return Found(
        values={
            "total": by_variant(lambda title: _gain(runs, title, GLOBAL)),
            "total over coded": by_variant(lambda title: _gain(runs, title, GLOBAL_CODED)),
            "each once": by_variant(lambda title: _gain_of_means(runs, title)),
            "latency": {variant: percent for variant, (_, percent) in best.items()},
        },
        checks=claims(
            "no volume hits less than under Global LRU by more than half a point", none_loses
        ),
        tables={"volumes": _volume_table(runs), "best latency": _latency_table(runs)},
        plots=_volume_plots(runs),
        runs=runs,
        ran=[
            *(run.run_id for run in runs),
            *(f"{volume} gains most {variant}" for variant, (volume, _) in best.items()),
        ],
    )


def _volume_plots(runs: Sequence[Results]) -> list[Plot]:
    every = {system.title: system for run in runs for system in run.spec.systems}
    looks = system_looks(list(every.values()))
    return [
        Plot(
            "Hit ratio by volume",
            "What each volume hits, one server at a time, under every system.",
            "volumes", "volume", "hit_ratio", "", "Hit ratio (%)", "bars",
            by=["system"], y_times=100, looks=looks,
        ),
        Plot(
            "Mean latency by volume, against Global LRU",
            "By how much accesses wait longer than under Global LRU; below 0 they wait less.",
            "best latency", "volume", "latency_percent", "", "Latency (% more)", "bars",
            by=["system"], looks=looks,
        ),
    ]  # fmt: skip


def _totals(runs: Sequence[Results], title: str, tier: int | None = None) -> float:
    """Return the hit ratio of all volumes of all runs, or that of one tier."""
    rows = [rows_of(run)[title, ALL] for run in runs]
    hits = sum(row["hits"] if tier is None else row["tier_hits"][tier] for row in rows)
    ratio: float = hits / sum(row["accesses"] for row in rows)
    return ratio


def _gain(runs: Sequence[Results], title: str, base: str, tier: int | None = None) -> float:
    """Return by how much more percent a system hits than another."""
    return 100 * (_totals(runs, title, tier) / _totals(runs, base, tier) - 1)


def _gain_of_means(runs: Sequence[Results], title: str) -> float:
    """Return by how much more percent volumes hit in the mean, each counted once."""
    ours, theirs = (
        sum(rows_of(run)[system, vm]["hit_ratio"] for run in runs for vm in vms_of(run))
        for system in (title, GLOBAL)
    )
    gain: float = 100 * (ours / theirs - 1)
    return gain


def _worst(runs: Sequence[Results], title: str) -> tuple[str, float]:
    """Return the volume that loses most against Global LRU, and how many points."""
    points = {
        vm: 100 * (rows[title, vm]["hit_ratio"] - rows[GLOBAL, vm]["hit_ratio"])
        for run in runs
        for rows in [rows_of(run)]
        for vm in vms_of(run)
    }
    return min(points.items(), key=lambda entry: entry[1])


def _latencies(runs: Sequence[Results], title: str) -> dict[str, float]:
    """Return by how many percent the mean latency of each volume is above Global LRU's."""
    return {
        vm: 100 * (rows[title, vm]["mean_latency_ns"] / rows[GLOBAL, vm]["mean_latency_ns"] - 1)
        for run in runs
        for rows in [rows_of(run)]
        for vm in vms_of(run)
    }


def _volume_table(runs: Sequence[Results]) -> pa.Table:
    rows = [
        {
            "volume": vm,
            "system": system.title,
            "hit_ratio": rows_of(run)[system.title, vm]["hit_ratio"],
        }
        for run in runs
        for vm in vms_of(run)
        for system in run.spec.systems
    ]
    return pa.Table.from_pylist(rows)


def _latency_table(runs: Sequence[Results]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"volume": vm, "system": title, "latency_percent": percent}
            for title in MULTICACHES
            for vm, percent in _latencies(runs, title).items()
        ]
    )


def find_hit_ratio_by_size(context: Context) -> Found:
    """Figure 14: hit ratio of six volumes over the size of the caches."""
    every = context.sweep("multicache/sizes.yaml")
    sizes = _sizes(context, every)
    total = _total_by_size(every)
    largest = every[-1:]
    plots = [
        Plot(
            title, says, "sizes", "flash_million_blocks", column,
            "Flash (million blocks)", "Hit ratio (%)", by=["system"], y_times=100,
            looks=system_looks(every[0].spec.systems),
        )
        for title, column, says in (
            ("Hit ratio by capacity", "hit_ratio", "All volumes together, in both tiers."),
            ("Hit ratio of the fast tier", "fast_hit_ratio", "Of all accesses."),
            ("Hit ratio of the slow tier", "slow_hit_ratio", "Of all accesses."),
        )
    ]  # fmt: skip
    return Found(
        values={
            "total": by_variant(lambda title: _gain(largest, title, GLOBAL)),
            "total over coded": by_variant(lambda title: _gain(largest, title, GLOBAL_CODED)),
            "fast tier": by_variant(lambda title: _gain(largest, title, GLOBAL, 0)),
            "fast tier over coded": by_variant(
                lambda title: _gain(largest, title, GLOBAL_CODED, 0)
            ),
        },
        checks=[*_checks_by_size(sizes, total), *_checks_of_seeds(context)],
        tables={"sizes": _size_table(dict(zip(sizes, every, strict=True)))},
        plots=plots,
        runs=every,
    )


def _sizes(context: Context, every: Sequence[Results]) -> list[float]:
    """Return the capacities of the slow tier, in million blocks of the whole workload."""
    return [round(run.spec.tiers[1].capacity / context.scaled(1_000_000), 2) for run in every]


def _total_by_size(every: Sequence[Results]) -> dict[str, list[float]]:
    return {
        title: [100 * _totals([run], title) for run in every]
        for title in (GLOBAL, GLOBAL_CODED, *MULTICACHES)
    }


def _is_never_below(points: NDArray[np.float64]) -> bool:
    return bool(points.min() >= -1)


def _gains_when_large(points: NDArray[np.float64]) -> bool:
    return int(points.argmax()) >= len(points) // 2


def _checks_of_seeds(context: Context) -> list[Check]:
    """Check that claims on differences by size do not turn with the seed of the stand-in."""
    count = _QUICK_SEEDS if context.quick else _SEEDS
    samples = [replace(context, quick=True, seed=seed) for seed in range(1, count + 1)]
    swept = [sample.sweep("multicache/sizes.yaml") for sample in samples]
    sizes = _sizes(samples[0], swept[0])
    totals = [_total_by_size(every) for every in swept]

    def alike(title: str) -> tuple[bool, str]:
        points = np.array([np.subtract(total[title], total[GLOBAL]) for total in totals])
        verdicts = {(_is_never_below(of), _gains_when_large(of)) for of in points}
        spread = (
            f"{size:g} M {low:.2f} to {high:.2f}"
            for size, low, high in zip(sizes, points.min(0), points.max(0), strict=True)
        )
        return len(verdicts) == 1, ", ".join(spread) + " points"

    claim = (
        f"with {count} seeds and a sixteenth of the blocks, all say alike whether it is nowhere "
        "below by a point, and whether it gains most in the upper half"
    )
    return claims(claim, alike)


def _checks_by_size(sizes: Sequence[float], total: Mapping[str, Sequence[float]]) -> list[Check]:
    """Check hit ratios in percent, by system and size, against figure 14."""
    points = {title: np.subtract(total[title], total[GLOBAL]) for title in MULTICACHES}
    small = np.array(sizes) < _SMALL
    last = {title: of[-1] - of[-2] for title, of in total.items()}

    def by_size(title: str) -> str:
        named = zip((f"{size:g} M" for size in sizes), points[title], strict=True)
        return said(dict(named), 2) + " points"

    def nowhere_below(title: str) -> tuple[bool, str]:
        return _is_never_below(points[title]), by_size(title)

    def gains_in_upper_half(title: str) -> tuple[bool, str]:
        return _gains_when_large(points[title]), by_size(title)

    def alike_where_small(title: str) -> tuple[bool, str]:
        return bool((np.abs(points[title][small]) <= 1).all()), by_size(title)

    def levels_off(title: str) -> tuple[bool, str]:
        of = {each: last[each] for each in (GLOBAL, title)}
        return last[GLOBAL] < last[title], said(of, 2) + " points"

    return [
        *claims("nowhere below Global LRU by more than a point", nowhere_below),
        *claims("within a point of Global LRU below 1.5 million blocks", alike_where_small),
        *claims("gains more than Global LRU by the last step of sizes", levels_off),
        *claims("gains most in the upper half of the sizes", gains_in_upper_half),
    ]


def _size_table(runs: Mapping[float, Results]) -> pa.Table:
    rows = []
    for size, run in runs.items():
        for system in run.spec.systems:
            row = rows_of(run)[system.title, ALL]
            fast, slow = row["tier_hit_ratio"]
            rows.append(
                {
                    "flash_million_blocks": size,
                    "system": system.title,
                    "hit_ratio": row["hit_ratio"],
                    "fast_hit_ratio": fast,
                    "slow_hit_ratio": slow,
                }
            )
    return pa.Table.from_pylist(rows)
