# Trusts: NumPy over the rows of the Parquet files, matplotlib's own record of what it
# plots (lines, patches, texts), and the metadata as read from the files' bytes.
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from mcsim import figures
from mcsim.config import ExperimentSpec
from mcsim.errors import ConfigError
from mcsim.results import SCHEMAS, Draft, Results

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


def spec_of(vms: Sequence[str], capacities: Sequence[int], systems: Sequence[Any]) -> Any:
    latencies = [(30, 30), (25_000, 200_000)]
    return ExperimentSpec.model_validate(
        {
            "name": "tiny",
            "workload": {"vms": list(vms)},
            "tiers": [
                {
                    "device": device,
                    "capacity_blocks": blocks,
                    "read": f"{read}ns",
                    "write": f"{write}ns",
                    "dollars_per_gb": 2.0,
                }
                for device, blocks, (read, write) in zip(
                    ("dram", "flash"), capacities, latencies, strict=True
                )
            ],
            "backend": {"device": "hdd", "read": "6500us", "write": "6500us"},
            "systems": list(systems),
        }
    )


def make_results(
    out: Path,
    *,
    run_id: str = "tiny-0123456789ab",
    vms: Sequence[str] = ("web_0", "web_1", "web_2", "web_3"),
    capacities: Sequence[int] = (1000, 10_000),
    systems: Sequence[Any] = SYSTEMS,
    intervals: int = 48,
    synthetic: bool = True,
    factor: float = 1.0,
) -> Results:
    """Write a run of made-up counts that keep the laws: hits + misses = accesses."""
    spec = spec_of(vms, capacities, systems)
    random = np.random.default_rng(1)
    draft = Draft.begin(out, run_id, "build")
    hours = np.arange(intervals)
    accesses = np.stack(
        [
            (1000 * (v + 1) * (1.2 + np.sin(hours / 4 + v))).astype(np.int64)
            for v in range(len(vms))
        ],
        axis=1,
    )
    accesses[5, 0] = 0
    metrics: dict[str, list[Any]] = {name: [] for name in SCHEMAS["metrics"].names}
    by_vm: dict[str, list[Any]] = {name: [] for name in SCHEMAS["vms"].names}
    for s, system in enumerate(spec.systems):
        space = [sum(capacities)] if system.name == "single-tier" else list(capacities)
        for k in range(intervals):
            split = random.dirichlet(np.array([5, 3, 2, 4, 2, 2][: len(vms)]) + s, len(space))
            fill = min(1.0, (k + 1) / 6)
            for v, vm in enumerate(vms):
                total = int(accesses[k, v])
                tier_hits = []
                for t, blocks in enumerate(space):
                    share = min(0.9, (0.06 + 0.05 * s / (t + 1)) * factor) * (v != 2)
                    hits = int(share * total * (1 + 0.3 * np.sin(k / 5)))
                    tier_hits.append(hits)
                    held = int(split[t, v] * blocks * fill)
                    row = (system.title, k, vm, t, hits, total - hits, 0, 3, 2, held, held)
                    for name, value in zip(SCHEMAS["metrics"].names, row, strict=True):
                        metrics[name].append(value)
                row = (system.title, k, vm, BEGIN + k * HOUR, total, total - sum(tier_hits))
                for name, value in zip(SCHEMAS["vms"].names, row, strict=True):
                    by_vm[name].append(value)
    draft.write_table("metrics", pa.table(metrics))
    draft.write_table("vms", pa.table(by_vm))
    draft.write_table("curves", pa.concat_tables([_curve(v, vm) for v, vm in enumerate(vms)]))
    windows = np.arange(0, intervals * HOUR, HOUR // 12)
    draft.write_table(
        "reuse_intensity",
        pa.table(
            {
                "vm": np.repeat(list(vms), len(windows)),
                "window_end_ns": np.tile(BEGIN + windows, len(vms)),
                "reuse_intensity": random.beta(0.5, 4, len(windows) * len(vms)),
                "accesses": np.full(len(windows) * len(vms), 10),
            }
        ),
    )
    draft.write_table("decisions", SCHEMAS["decisions"].empty_table())
    draft.write_spec(spec)
    draft.write_json("environment", {"synthetic": synthetic})
    draft.write_json("timings", {"stages": {}, "systems": {}})
    return draft.finish()


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
