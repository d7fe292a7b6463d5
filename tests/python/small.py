"""Experiments that are run in a moment: where the repository's are, and how tests write theirs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mcsim.references.blocks import vms_of
from mcsim.references.workload import Workload
from mcsim.traces.trace import Trace

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"
TINY = EXPERIMENTS / "workloads" / "tiny.yaml"
"""A profile: some hours of three VMs, `friendly`, `cyclic` and `scanner`."""


def tiers_of(**blocks: int | str) -> list[dict[str, Any]]:
    """Return tiers by their devices, the fastest first."""
    return [{"device": device, "capacity": size} for device, size in blocks.items()]


def small_experiment(*systems: Any, tiers: Mapping[str, int | str], **more: Any) -> dict[str, Any]:
    """Return an experiment on `TINY`, if no other workload is given; tiers are blocks by device."""
    return {
        "name": "tiny",
        "workload": {"profile": str(TINY)},
        "tiers": tiers_of(**tiers),
        "systems": list(systems),
    } | more


def small_workload(seed: int = 1, requests: int = 20_000, length_ns: int = 10**12) -> Workload:
    """Draw requests of three VMs, which read and write."""
    random = np.random.default_rng(seed)
    trace = Trace.from_arrays(
        np.sort(random.integers(0, length_ns, requests)),
        4096 * random.integers(0, 3_000, requests).astype(np.uint64),
        random.integers(1, 20_000, requests).astype(np.uint32),
        op=random.integers(0, 2, requests).astype(np.uint8),
        vm=random.integers(0, 3, requests).astype(np.uint16),
        vms=["a", "b", "c"],
        source="made up",
    )
    return Workload(vms_of([trace]), synthetic=True)
