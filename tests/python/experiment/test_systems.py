"""Trusts: naive twins of each system through the allocator interface, decision by decision;
sequences worked by hand and printed in publications; laws."""

from __future__ import annotations

from typing import Any

import naive_systems as naive
import numpy as np
import pytest

from mcsim._core import engine, locality
from mcsim.base.errors import ConfigError
from mcsim.experiment.allocator import answering

INTERVAL = 400
TWINS = {
    "vcacheshare": naive.VCacheShareTwin,
    "ri-shares": naive.RiSharesTwin,
    "centaur": naive.CentaurTwin,
    "eci-cache": naive.EciTwin,
    "slo": naive.SloTwin,
    "maxperf": naive.MaxperfTwin,
    "exclusive": naive.ExclusiveTwin,
}
MS = 1e6


def machine(*capacities: int, **vm_backend_ms: float) -> engine.Machine:
    """Tiers of 1 µs, 100 µs, ... before 10 ms."""
    tiers = [
        (engine.Device(f"tier {k}", 1e3 * 100**k, 2e3 * 100**k, 1.0), blocks)
        for k, blocks in enumerate(capacities)
    ]
    backend = engine.Device("disk", 10 * MS, 12 * MS, 0.1)
    return engine.Machine(tiers, backend, {vm: ms * MS for vm, ms in vm_backend_ms.items()})


def accesses(*vms: list[tuple[int, str, int]], departs: int | None = None) -> engine.Accesses:
    """A trace of (time, R or W, block) by VM; the first may depart."""
    builder = engine.AccessBuilder(ops="all")
    for v, rows in enumerate(vms):
        builder.begin_vm(f"vm{v}")
        time, ops, blocks = zip(*rows, strict=True) if rows else ((), (), ())
        builder.add(
            np.array(time, dtype=np.int64),
            np.zeros(len(rows), np.uint16),
            np.array([op == "W" for op in ops], dtype=np.uint8),
            np.array(blocks, dtype=np.uint64) * np.uint64(4096),
            np.full(len(rows), 4096, np.uint32),
        )
        if v == 0 and departs is not None:
            builder.depart(departs)
    return builder.finish()


def random_accesses(seed: int, vms: int = 4, length: int = 4000) -> engine.Accesses:
    """Busy and idle phases, loops and skew, readers and writers."""
    rng = np.random.default_rng(seed)
    rows = []
    for v in range(vms):
        time = np.sort(rng.choice(length, size=length // (v + 1), replace=False))
        idle = rng.integers(0, length - 600)
        time = time[(time < idle) | (time >= idle + 600)] if v else time
        footprint, writes = int(rng.integers(5, 60)), rng.choice([0.0, 0.3, 0.8])
        skewed = (footprint * rng.random(len(time)) ** rng.choice([1, 2, 4])).astype(int)
        blocks = np.arange(len(time)) % footprint if rng.random() < 0.3 else skewed
        ops = np.where(rng.random(len(time)) < writes, "W", "R")
        rows.append(list(zip(time.tolist(), ops.tolist(), blocks.tolist(), strict=True)))
    departs = int(rng.integers(length // 2, length)) if seed % 2 else None
    if departs is not None:
        rows[0] = [row for row in rows[0] if row[0] < departs]
    return accesses(*rows, departs=departs)


def run(trace: engine.Accesses, system: engine.System) -> engine.RunResult:
    measured = locality.characterise(trace, system.meters)
    return engine.run(trace, system, measured, engine.aligned_cuts(trace, INTERVAL))


def decided(
    trace: engine.Accesses, name: str, on: engine.Machine, interval: int = INTERVAL, **params: Any
) -> list[dict[str, Any]]:
    system = engine.System(name, {"interval": interval, **params}, on)
    return run(trace, system).decisions


CASES = [
    ("vcacheshare", {"ri_window": 100, "window": 1200}),
    ("vcacheshare", {"ri_window": 100, "window": 0, "alpha_mode": "linear", "alpha": 0.7}),
    (
        "vcacheshare",
        {
            "ri_window": 150,
            "window": 800,
            "intensity": "share",
            "reservations": {"vm0": 7.0, "vm2": 3.0},
            "limits": {"vm1": 11.0},
            "priorities": {"vm1": 3.0},
        },
    ),
    ("ri-shares", {}),
    ("ri-shares", {"intensity": "per-second"}),
    ("centaur", {}),
    ("centaur", {"weight": "rate", "priorities": {"vm2": 5.0}, "distance_scope": "cumulative"}),
    ("centaur", {"latency_ms": {"vm0": 4.0, "vm1": 6.0}, "iops": {"vm2": 150.0, "vm3": 1e6}}),
    ("centaur", {"latency_ms": {"vm0": 2.0, "vm1": 3.0, "vm2": 3.0, "vm3": 2.0}}),
    ("centaur", {"objective": "least-size", "miss_tolerance": 0.1}),
    ("centaur", {"objective": "least-size", "miss_tolerance": 1.0, "iops": {"vm1": 800.0}}),
    ("centaur", {"objective": "least-size", "priorities": {"vm0": 2.0}}),
    ("centaur", {"objective": "latency-shares", "shares": {"vm1": 2.0}}),
    ("centaur", {"baseline": "eci"}),
    ("eci-cache", {"min_blocks": 2}),
    ("eci-cache", {"theta": 0.2, "quantile": 0.9, "hysteresis": 2, "min_blocks": 0}),
    ("eci-cache", {"drop_writes": False, "write_share_of": "accesses", "theta": 0.3}),
    ("slo", {"latency_ms": {"vm0": 4.0, "vm3": 2.0}}),
    ("slo", {"latency_ms": {"vm0": 3.0, "vm1": 5.0}, "correction": 0.5}),
    ("slo", {"iops": {"vm1": 200.0}, "outstanding": {"vm1": 2.0}, "weight": "rate"}),
    ("maxperf", {"latency_ms": {"vm0": 4.0, "vm1": 5.0}}),
    ("maxperf", {"latency_ms": {"vm0": 4.0, "vm1": 5.0}, "curve": "neville", "steps": 20}),
    ("maxperf", {"iops": {"vm2": 1e5}, "priorities": {"vm3": 9.0}}),
    ("exclusive", {}),
    ("exclusive", {"delta": 0.0, "distance_scope": "warm", "priorities": {"vm1": 2.0}}),
]


@pytest.mark.parametrize("capacities", [(30,), (90,), (12, 50)])
@pytest.mark.parametrize(("name", "params"), CASES)
def test_every_decision_is_the_twins(
    name: str, params: dict[str, Any], capacities: tuple[int, ...]
) -> None:
    own = {"vm1": 3.0, "vm2": 30.0}
    infeasible = 0
    for seed in range(4):
        trace = random_accesses(seed)
        # A few steps can be tried out by brute force.
        few = seed == 0 and name not in ("ri-shares", "maxperf")
        given = params | ({"grid": 4} if few else {})
        ours = decided(trace, name, machine(*capacities, **own), **given)
        twin = TWINS[name](INTERVAL, **given)
        on = machine(*capacities, **own)
        theirs = run(trace, engine.System.from_python(answering(twin, "twin", INTERVAL), on))
        assert len(ours) == len(theirs.decisions) > 4
        for mine, other in zip(ours, theirs.decisions, strict=True):
            assert mine["request"] == other["request"]
            assert mine["targets"].tolist() == other["targets"].tolist()
            assert mine["write_modes"] == other["write_modes"]
            assert bool(mine["infeasible"]) == bool(other["infeasible"])
            infeasible += bool(mine["infeasible"])
    if params.get("iops", {}).get("vm3") or params.get("iops", {}).get("vm2") == 1e5:
        assert infeasible > 0
