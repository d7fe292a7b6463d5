"""Misses of a run by cause.

Trusts: a list kept by recency, of all VMs and of each alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small import small_experiment

import mcsim as mc
from mcsim.results.misses import MISSES, miss_classes
from mcsim.traces.trace import Trace


def misses(blocks: list[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """Return the misses of one LRU cache."""
    held: list[tuple[int, int]] = []
    missed = []
    for block in blocks:
        if block in held:
            held.remove(block)
        else:
            missed.append(block)
        held.insert(0, block)
        del held[size:]
    return missed


@pytest.fixture
def blocks() -> list[tuple[int, int]]:
    random = np.random.default_rng(3)
    vms = random.integers(0, 3, 600)
    return list(zip(vms.tolist(), random.geometric(0.05 * (1 + vms)).tolist(), strict=True))


def traced(blocks: list[tuple[int, int]], folder: Path) -> str:
    vm, block = np.array(blocks).T
    path = folder / "mixed.arrow"
    times = np.arange(len(blocks)) * 10**9
    names = ["a", "b", "c"]
    Trace.from_arrays(times, block * 4096, 4096, vm=vm, vms=names, source="mixed").save(path)
    return str(path)


def test_classes_add_up_to_the_misses(blocks: list[tuple[int, int]], tmp_path: Path) -> None:
    path = traced(blocks, tmp_path)
    workload = {"vms": [{"name": name, "trace": path} for name in "abc"]}
    results = mc.run(
        small_experiment("lru", "static", tiers={"dram": 8, "flash": 12}, workload=workload),
        out=tmp_path,
        figures=False,
    )
    found = miss_classes(results)
    assert found.schema.equals(MISSES)
    rows = {(row["system"], row["vm"]): row for row in found.to_pylist()}
    shared = misses(blocks, 20)
    for vm, name in enumerate("abc"):
        own = [block for block in blocks if block[0] == vm]
        first, alone = len(set(own)), len(misses(own, 20))
        # Parts of 3 + 4 blocks, and 2 + 4 of the last.
        parts = {"lru": sum(of == vm for of, _ in shared), "static": len(misses(own, 7 - vm // 2))}
        for system, missed in parts.items():
            assert rows[system, name] == {
                "system": system,
                "vm": name,
                "accesses": len(own),
                "compulsory": first,
                "capacity": alone - first,
                "interference": missed - alone,
            }
    total = rows["lru", None]
    assert total["compulsory"] == len(set(blocks))
    assert sum(total[name] for name in MISSES.names[3:]) == len(shared)


def test_other_accesses_than_those_of_the_curves_have_no_classes(
    blocks: list[tuple[int, int]], tmp_path: Path
) -> None:
    workload = {"vms": [{"name": name, "trace": traced(blocks, tmp_path)} for name in "abc"]}
    experiment = small_experiment(
        "lru", tiers={"dram": 20}, workload=workload, interval="1min", warm_up="2min"
    )
    results = mc.run(experiment, out=tmp_path, figures=False)
    (row,) = miss_classes(results).to_pylist()
    assert (row["vm"], row["accesses"]) == (None, 0)
