"""Trusts: arithmetic. The largest number of VMs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mcsim as mc

MOST = 65_536


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two requests to one block of each VM."""
    path = tmp_path_factory.mktemp("many") / "many.arrow"
    vm = np.repeat(np.arange(MOST), 2)
    made = mc.Trace.from_arrays(
        np.arange(2 * MOST) * 1_000, 0, 4096, vm=vm, vms=[f"v{i}" for i in range(MOST)]
    )
    made.save(path)
    return path


def test_the_last_vm_has_its_requests(trace: Path) -> None:
    found = mc.Trace.open(trace).info(4096)
    assert len(found.vms) == MOST
    assert {(vm.requests, vm.unique_blocks) for vm in found.vms} == {(2, 1)}


def test_every_vm_hits_its_block(trace: Path) -> None:
    spec = {
        "name": "many",
        "ops": "all",
        "interval": "1h",
        "workload": {"vms": [{"name": "{vm}", "trace": str(trace), "vms": "all"}]},
        "tiers": [{"device": "dram", "capacity": MOST}],
        "opt": False,
        "systems": ["lru"],
    }
    found = mc.run(spec, figures=False, out=trace.parent)
    assert found.vms().to_arrow()["misses"].to_pylist() == [1] * MOST
