"""Trusts: the waits of accesses summed by hand from the counts of a run; the same run with
addresses staged alone; and the words of messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from complaints import complaint
from small import TINY, small_experiment

from mcsim.experiment.experiment import Experiment
from mcsim.experiment.runner import run
from mcsim.results import models
from mcsim.results.results import Results
from mcsim.results.series import series_of
from mcsim.results.tables import comparison
from mcsim.results.totals import totals
from mcsim.results.yardsticks import slowdowns, yardsticks

FLASH_READ_NS, FLASH_WRITE_NS, DISK_NS, MEMORY_NS = 25_000, 200_000, 6_500_000, 40
STAGED = ["staged_hits", "staged_requests", "staged_ns"]
ADDRESS = {"name": "cloudcache", "label": "address", "admission": "staged(n=3)"}
DATA = {
    "name": "cloudcache",
    "label": "data",
    "admission": f"staged(n=3, mode=data, read_ns={MEMORY_NS})",
}


def spec_of(*systems: dict[str, Any]) -> dict[str, Any]:
    return small_experiment(
        *({"period": "20min", **system} for system in systems),
        tiers={"flash": 1500},
        name="staging",
        ops="all",
        interval="20min",
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("results")
    return run(spec_of(ADDRESS, DATA), out=out, figures=False)


def rows_of(results: Results, table: str, system: str) -> pd.DataFrame:
    rows: pd.DataFrame = results.to_pandas(table)
    return rows[rows["system"] == system].reset_index(drop=True)


def test_flash_does_the_same_and_the_backend_less(results: Results) -> None:
    flash = [rows_of(results, "metrics", system) for system in ("address", "data")]
    # Requests that waited for the backend may wait for flash.
    columns = list(flash[0].columns.drop(["system", "read_requests"]))
    pd.testing.assert_frame_equal(flash[0][columns], flash[1][columns])
    address, data = (rows_of(results, "vms", system) for system in ("address", "data"))
    assert address[STAGED].isna().all(axis=None)
    staged = data["staged_hits"]
    assert staged.sum() > 0
    for name in ("misses", "backend_reads", "reads_served"):
        assert (data[name] + staged == address[name]).all()
    assert (data["backend_writes"] == address["backend_writes"]).all()
    assert (data["read_requests"] < address["read_requests"]).any()
    before, after = (
        of_flash["read_requests"] + of_vm["read_requests"]
        for of_flash, of_vm in zip(flash, (address, data), strict=True)
    )
    assert (before == after + data["staged_requests"]).all()


def test_tables_charge_memory(results: Results) -> None:
    table = comparison(results).to_pandas()
    for system in ("address", "data"):
        vms = rows_of(results, "vms", system).fillna(0).groupby("vm").sum(numeric_only=True)
        flash = rows_of(results, "metrics", system).groupby("vm").sum(numeric_only=True)
        waited = (
            flash["reads_served"] * FLASH_READ_NS
            + flash["writes_served"] * FLASH_WRITE_NS
            + (vms["reads_served"] + vms["writes_served"]) * DISK_NS
        )
        if system == "data":
            waited += vms["staged_hits"] * MEMORY_NS
        own = table[(table["system"] == system) & table["vm"].notna()].set_index("vm")
        expected = (waited / vms["accesses"])[own.index]
        assert own["mean_latency_ns"].tolist() == pytest.approx(expected.tolist(), rel=1e-12)
        assert (own["hits"] == (vms["accesses"] - vms["misses"])[own.index]).all()
    (slow, fast), (few, more) = (
        table[table["vm"].isna()][name].tolist() for name in ("mean_latency_ns", "hit_ratio")
    )
    assert fast < slow
    assert more > few
    # Each is compared with itself for one VM; `test_slowdowns.py` divides the means.
    for of in totals(results):
        assert set(slowdowns(results, of) or ()) == set(of.vms)
    assert yardsticks(results)["hit_ratio"].to_pylist() == [few, more]


def test_requests_wait_for_memory(results: Results) -> None:
    address, data = (row for row in models.requests(results).to_pylist() if row["vm"] is None)
    assert data["requests"] == address["requests"]
    assert data["read_hit_ratio"] > address["read_hit_ratio"]
    assert data["served_by_cache"] > address["served_by_cache"]
    (of,) = (of for of in totals(results) if of.system.title == "data")
    served = of.read_requests[:, 0].sum() * FLASH_READ_NS + of.read_requests[:, 1].sum() * DISK_NS
    served += of.write_requests[:, 0].sum() * FLASH_WRITE_NS
    served += of.write_requests[:, 1].sum() * DISK_NS
    served += of.staged_requests.sum() * MEMORY_NS
    assert data["mean_ns"] == pytest.approx(served / data["requests"], rel=1e-12)
    behind = [row for row in models.reads_behind_writes(results).to_pylist() if row["vm"] is None]
    assert behind[0]["reads"] == behind[1]["reads"]
    queueing = behind[1]["mean_ns"] - behind[1]["queueing_ns"]
    assert behind[0]["mean_ns"] - behind[0]["queueing_ns"] > queueing


def test_hits_over_time_are_those_of_the_run(results: Results) -> None:
    system = results.spec.systems[1]
    of = series_of(results, system)
    (row,) = (
        row for row in comparison(results, by_vm=False).to_pylist() if row["system"] == system.title
    )
    hits = np.nansum(of.hit_ratio * of.accesses)
    assert hits / of.accesses.sum() == pytest.approx(row["hit_ratio"], rel=1e-12)


def test_a_run_that_stages_no_data_has_no_columns_of_it(tmp_path: Path) -> None:
    addresses = run(spec_of(ADDRESS), out=tmp_path, figures=False)
    assert not set(STAGED) & set(addresses.table("vms").column_names)


def test_data_is_staged_before_the_backend_alone(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(
        f"name: two\nworkload: {{profile: '{TINY}'}}\n"
        "tiers:\n- {device: dram, capacity: 300}\n- {device: flash, capacity: 900}\n"
        "systems:\n- lru\n- {name: hierarchy, admission: staged(mode=data)}\n"
    )
    said = complaint(Experiment.load, path)
    assert "two.yaml:8" in said
    assert "admission: staged of tier 0 stages data: only the slowest tier may do so" in said
    Experiment.load(path, overrides=["systems.1.admission=none / staged(mode=data)"])


@pytest.mark.parametrize(
    ("filter_", "message"),
    [
        ("staged(mode=both)", "mode: unknown choice 'both' (one of address, data)"),
        ("staged(read_ns=-1)", "read_ns: -1 is outside [0, 1000000000]"),
    ],
)
def test_what_cannot_be_staged_is_refused(filter_: str, message: str) -> None:
    assert message in complaint(Experiment.load, spec_of({**DATA, "admission": filter_}))
