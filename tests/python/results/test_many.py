# Trusts: pandas, which adds up rows by their names, wherever they stand.
"""Tables of many VMs and intervals, compared with sums by name."""

from __future__ import annotations

import numpy as np
import pytest
from small import EXPERIMENTS, small_experiment

import mcsim
from mcsim.results import tables
from mcsim.results.demands import loads
from mcsim.results.results import Results

MIX = EXPERIMENTS / "workloads" / "mix.yaml"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    spec = small_experiment(
        "lru",
        "static",
        "single-tier",
        tiers={"dram": 500, "flash": 4000},
        name="many",
        ops="all",
        interval="2min",
        workload={"profile": str(MIX), "window": {"end": "2h"}},
        backend="hdd",
    )
    return mcsim.run(spec, out=tmp_path_factory.mktemp("many"), figures=False)


def test_counts_of_every_vm_are_its_own(results: Results) -> None:
    hits = results.to_pandas("metrics").groupby(["system", "vm", "tier"])["hits"].sum()
    accesses = results.to_pandas("vms").groupby(["system", "vm"])["accesses"].sum()
    rows = [row for row in tables.comparison(results).to_pylist() if row["vm"] is not None]
    assert len(rows) == 3 * 16
    for row in rows:
        of = row["system"], row["vm"]
        assert row["accesses"] == accesses[of], of
        assert row["tier_hits"] == hits[of].tolist(), of


def test_one_stack_hits_the_same_in_one_tier_or_two(results: Results) -> None:
    rows = {(row["system"], row["vm"]): row for row in tables.comparison(results).to_pylist()}
    for (system, vm), row in rows.items():
        if system == "lru":
            assert row["hits"] == rows["single-tier", vm]["hits"], vm


def test_loads_of_devices_are_those_of_their_intervals(results: Results) -> None:
    metrics = results.to_pandas("metrics")
    for system in ("lru", "static"):
        own = metrics[metrics["system"] == system].groupby(["interval", "tier"])
        written = own[["fills", "promotions", "demotions", "updates"]].sum().sum(axis=1)
        assert len(written) == 60 * 2
        for load in loads(results, system):
            if load.tier is not None:
                expected = written.xs(load.tier, level="tier").to_numpy()
                np.testing.assert_array_equal(load.writes, expected)
