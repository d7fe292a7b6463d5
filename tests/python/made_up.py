"""Result tables for tests that make their results up: rows, and whole runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mcsim.config import ExperimentSpec
from mcsim.reproduce.catalogue import Figure, Found
from mcsim.reproduce.kept import Finding
from mcsim.reproduce.published import Note
from mcsim.reproduce.reproduction import Outcome
from mcsim.reproduce.verdicts import Row
from mcsim.results.results import Results
from mcsim.results.schemas import SCHEMAS
from mcsim.results.writer import RunWriter

HOUR = 3600 * 10**9
BEGIN = 7 * HOUR
SYSTEMS: list[Any] = [
    "lru",
    {"name": "lru", "label": "lru-legacy", "legacy": True},
    "static",
    "multicache",
    "multicache-joint",
    "single-tier",
]


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


def spec_of(
    vms: Sequence[str], capacities: Sequence[int], systems: Sequence[Any], interval: str
) -> Any:
    latencies = [(30, 30), (25_000, 200_000)]
    return ExperimentSpec.model_validate(
        {
            "name": "tiny",
            "workload": {"vms": list(vms)},
            "tiers": [
                {
                    "device": device,
                    "capacity": blocks,
                    "read": f"{read}ns",
                    "write": f"{write}ns",
                    "price": 2.0,
                }
                for device, blocks, (read, write) in zip(
                    ("dram", "flash"), capacities, latencies, strict=True
                )
            ],
            "backend": {
                "device": "hdd",
                "read": "6500us",
                "write": "6500us",
                "price": 0.075,
            },
            "systems": list(systems),
            "interval": interval,
        }
    )


def written(
    out: Path,
    run_id: str,
    spec: ExperimentSpec | Mapping[str, Any],
    metrics: Sequence[dict[str, Any]],
    vms: Sequence[dict[str, Any]],
    *,
    environment: Mapping[str, Any] = {"synthetic": True},
    took: Mapping[str, float] = {"replay_seconds": 0.5, "decide_seconds": 0.25},
    **tables: pa.Table,
) -> Results:
    """Write a run of these rows; what other tables are not given are empty."""
    spec = ExperimentSpec.model_validate(spec)
    draft = RunWriter(out / run_id, "build")
    tables = {
        "metrics": table("metrics", metrics),
        "vms": table("vms", vms),
        **{
            name: SCHEMAS[name].empty_table() for name in ("curves", "reuse_intensity", "decisions")
        },
        **tables,
    }
    for name, of in tables.items():
        draft.write_table(name, of)
    draft.write_spec(spec)
    draft.write_json("environment", environment)
    systems = {system.title: dict(took) for system in spec.systems}
    draft.write_json("timings", {"stages": {}, "systems": systems})
    return draft.finish()


def run(
    out: Path,
    *,
    run_id: str = "tiny-0123456789ab",
    vms: Sequence[str] = ("web_0", "web_1", "web_2", "web_3"),
    capacities: Sequence[int] = (1000, 10_000),
    systems: Sequence[Any] = SYSTEMS,
    description: str = "",
    intervals: int = 12,
    interval: str = "1h",
    synthetic: bool = True,
    factor: float = 1.0,
) -> Results:
    """Write a run of made-up counts that keep the laws: hits + misses = accesses."""
    spec = spec_of(vms, capacities, systems, interval)
    spec = spec.model_copy(update={"description": description})
    length = spec.interval.length
    random = np.random.default_rng(1)
    hours = np.arange(intervals)
    accesses = np.stack(
        [
            (1000 * (v + 1) * (1.2 + np.sin(hours / 4 + v))).astype(np.int64)
            for v in range(len(vms))
        ],
        axis=1,
    )
    accesses[-1, 0] = 0
    metrics: list[dict[str, Any]] = []
    by_vm: list[dict[str, Any]] = []
    for s, system in enumerate(spec.systems):
        space = [sum(capacities)] if system.name == "single-tier" else list(capacities)
        for k in range(intervals):
            split = random.dirichlet(np.resize([5, 3, 2, 4, 2, 2], len(vms)) + s, len(space))
            fill = min(1.0, (k + 1) / 6)
            for v, vm in enumerate(vms):
                total = int(accesses[k, v])
                tier_hits = []
                for t, blocks in enumerate(space):
                    share = min(0.9, (0.06 + 0.05 * s / (t + 1)) * factor) * (v != 2)
                    hits = int(share * total * (1 + 0.3 * np.sin(k / 5)))
                    tier_hits.append(hits)
                    held = int(split[t, v] * blocks * fill)
                    moved = {"fills": total - hits, "demotions": 3, "evictions": 2}
                    levels = {"occupancy": held, "target": held}
                    row = of_tier(system.title, k, vm, t, hits, **moved, **levels)
                    metrics.append(row)
                misses = total - sum(tier_hits)
                by_vm.append(of_vm(system.title, k, vm, BEGIN + k * length, total, misses))
    windows = np.arange(0, intervals * length, length // 12)
    intensity = {
        "vm": np.repeat(list(vms), len(windows)),
        "window_end_ns": np.tile(BEGIN + windows, len(vms)),
        "reuse_intensity": random.beta(0.5, 4, len(windows) * len(vms)),
        "accesses": np.full(len(windows) * len(vms), 10),
    }
    return written(
        out,
        run_id,
        spec,
        metrics,
        by_vm,
        environment={"synthetic": synthetic, "mcsim": "1.2.3", "host": "my-laptop"},
        curves=pa.concat_tables([_curve(v, vm) for v, vm in enumerate(vms)]),
        reuse_intensity=pa.table(intensity),
    )


def _curve(v: int, vm: str) -> pa.Table:
    capacity = np.unique(np.concatenate([[0], np.geomspace(1, 40_000, 60).astype(np.int64)]))
    reach = (0.55, 0.05, 0.5, 0.75)[v % 4]
    knee = (4000, 900, 30_000, 300)[v % 4]
    sharp = 12 if v == 2 else 1
    ratio = reach / (1 + (knee / np.maximum(capacity, 1e-9)) ** sharp)
    accesses = 100_000 * (v + 1)
    return pa.table(
        {
            "vm": [vm] * len(capacity),
            "scope": ["trace"] * len(capacity),
            "capacity": capacity,
            "hits": (ratio * accesses).astype(np.int64),
            "accesses": np.full(len(capacity), accesses),
        }
    )


def outcome(
    name: str, title: str, found: Found, rows: Sequence[Row] = (), notes: Sequence[Note] = ()
) -> Outcome:
    """Return a figure of a document with a made-up finding."""
    figure = Figure(name, title, 1, 1, "synthetic", lambda context: found)
    return Outcome(figure, Finding(found, [], 0, rows), notes)
