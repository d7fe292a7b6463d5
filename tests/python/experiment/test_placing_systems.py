"""Systems that place extents, count by count, on random requests.

Trusts: their rules in plain Python (naive_placing.py), which reads the trace itself; costs as
they are published.
"""

from __future__ import annotations

from typing import Any

import naive_placing as naive
import numpy as np
import pytest
from hosts import ran
from naive_replay import Request, Workload, differences, random_workload, replay

from mcsim._core import engine

EPOCH = 1_000
EXTENT = 4


def devices(draw: np.random.Generator) -> list[engine.Device]:
    """Two tiers and a disk, of any speeds and prices."""
    return [
        engine.Device("fast", float(draw.uniform(1, 9)), 9.0, float(draw.uniform(5, 20))),
        engine.Device("flash", float(draw.uniform(5, 40)), 40.0, float(draw.uniform(0.5, 4))),
        engine.Device("disk", float(draw.uniform(50, 900)), 900.0, 0.05),
    ]


def compare(
    name: str, workload: Workload, twin: Any, on: engine.Machine, seed: int, **params: Any
) -> None:
    """Every count of a run is the twin's."""
    options = {"epoch": EPOCH, "extent": EXTENT} | params
    accesses = workload.accesses(twin.block_bytes, line_blocks=EXTENT)
    result = ran(accesses, engine.System(name, options, on), EPOCH)
    counts, _ = replay(workload, twin, EPOCH, [EPOCH])
    assert not differences(workload, counts, result), f"seed {seed}, {params}"


CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("hystor", naive.Hystor, {}),
    ("hystor", naive.Hystor, {"saturation": 700.0}),
    ("hystor", naive.Hystor, {"write_area": 0.3}),
    ("hystor", naive.Hystor, {"write_area": 0.5, "high_water": 0.4, "saturation": 2_000.0}),
    ("hystor", naive.Hystor, {"write_area": 1.0, "high_water": 0.0}),
    ("hystor", naive.Hystor, {"write_area": 0.2, "rate": 8.1 * EXTENT * 1e9 / EPOCH}),
    ("vfrm", naive.Vfrm, {}),
    ("vfrm", naive.Vfrm, {"memory": 0.0}),
    ("vfrm", naive.Vfrm, {"memory": 1.0, "counts": "small-reads"}),
    ("vfrm", naive.Vfrm, {"memory": 0.9, "rate": 5.1 * EXTENT * 1e9 / EPOCH}),
    ("vfrm", naive.Vfrm, {"rate": 1.1 * EXTENT * 1e9 / EPOCH}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_extents_are_where_the_rule_has_them(case: int) -> None:
    name, rule, params = CASES[case]
    moved = 0
    for seed in range(6):
        draw = np.random.default_rng(50 + seed)
        workload = random_workload(seed, length=8 * EPOCH)
        *fast, disk = devices(draw)
        block_bytes = int(draw.choice([512, 4096]))
        capacities = [int(draw.integers(EXTENT, 120)), int(draw.integers(120))][: 1 + seed % 2]
        tiers = list(zip(fast, capacities, strict=False))
        twin = rule(tiers, EXTENT, block_bytes, epoch=EPOCH, **params)
        compare(name, workload, twin, engine.Machine(tiers, disk), seed, **params)
        moved += twin.moved
    assert moved > 6


@pytest.mark.parametrize("seed", range(12))
def test_extents_are_where_the_rule_of_edt_has_them(seed: int) -> None:
    draw = np.random.default_rng(seed)
    workload = random_workload(seed, length=8 * EPOCH, most_blocks=1 + 5 * (seed % 2))
    *fast, disk = devices(draw)
    sizes = draw.permutation([draw.integers(8, 120), draw.integers(0, 120)])
    tiers = [(d, int(n)) for d, n in zip(fast, sizes, strict=True)]
    of = {
        "memory": float(draw.choice([0.0, 0.5, 0.8])),
        "busy": float(draw.choice([0.2, 0.7, 1.0])),
        "drive_gb": float(draw.choice([1e-3, 1.0])),
    }
    twin = naive.Edt(tiers, EXTENT, disk, epoch=EPOCH, **of)
    compare("edt", workload, twin, engine.Machine(tiers, disk), seed, **of)


def test_costs_are_those_that_are_published() -> None:
    twin = naive.Hystor([(engine.Device("d", 1, 1, 1), 8)], 1, 512)
    costs = [twin.adds(Request(0, 0, False, 0, sectors), 1) for sectors in (1, 8, 64, 128, 999)]
    assert costs == [128, 16, 2, 1, 1]
