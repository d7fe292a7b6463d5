"""Parts of decisions other than targets, from systems to the columns of a run.

Trusts: blocks that came into tiers and left them for the backend, as hosts count them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small import small_experiment

import mcsim
from mcsim.results.results import Results
from mcsim.results.yardsticks import churn, yardsticks

PLACED = [
    {"name": "vfrm", "extent": 16},
    {"name": "hystor", "extent": 16, "write_area": 0.25},
    {"name": "edt", "extent": 16, "rate": 0.5},
]


def ran(folder: Path, *systems: Any) -> Results:
    spec = small_experiment(
        *systems, tiers={"dram": 400, "flash": 1600}, name="decided", ops="all", interval="30min"
    )
    return mcsim.run(spec, out=folder, figures=False)


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return ran(tmp_path_factory.mktemp("placed"), "karma", *PLACED)


@pytest.mark.parametrize("name", ["vfrm", "edt"])
def test_what_moved_came_into_a_tier_or_left_for_the_backend(placed: Results, name: str) -> None:
    decisions = placed.to_pandas("decisions").query("system == @name").set_index("interval")
    metrics = placed.to_pandas("metrics").query("system == @name")
    columns = ["fills", "promotions", "demotions", "evictions"]
    moved = metrics.groupby("interval")[columns].sum().sum(axis=1)
    assert decisions["moved"].sum() > 0
    # The interval is closed before what is decided at its end.
    assert moved.loc[decisions.index].tolist() == decisions["moved"].tolist()


def test_what_passes_through_the_area_of_writes_did_not_move(placed: Results) -> None:
    decisions = placed.to_pandas("decisions").query("system == 'hystor'")
    metrics = placed.to_pandas("metrics").query("system == 'hystor'")
    came = metrics[["fills", "promotions", "demotions", "evictions"]].sum().sum()
    assert 0 < decisions["moved"].sum() < came
    assert (decisions["moved"] % 16 == 0).all()


def test_a_rate_bounds_what_moves(placed: Results) -> None:
    moved = placed.to_pandas("decisions").query("system == 'edt'")["moved"]
    assert moved.max() <= 0.5 * 1800


def test_blocks_moved_an_interval_are_those_of_extents(placed: Results) -> None:
    decisions = placed.to_pandas("decisions")
    intervals = placed.table("vms")["interval"][-1].as_py() + 1
    rows = {row["system"]: row for row in yardsticks(placed).to_pylist()}
    for system in ("vfrm", "hystor", "edt"):
        moved = decisions[decisions["system"] == system]["moved"].sum()
        assert churn(placed, system) == rows[system]["churn"] == moved / intervals > 0
    # Systems that grant space have no such column.
    assert decisions[decisions["system"] == "karma"]["moved"].isna().all()
    assert rows["karma"]["churn"] > 0


def test_baa_has_the_throughput_of_every_vm(tmp_path: Path) -> None:
    decisions = ran(tmp_path, "baa", "lru").to_pandas("decisions")
    assert len(decisions) > 3
    assert [len(of) for of in decisions["throughputs"]] == [3] * len(decisions)
    sums = [sum(of) for of in decisions["throughputs"]]
    assert sums == pytest.approx(decisions["objective"].tolist())


def test_thin_provisioning_notes_whose_policy_is_at_fault(tmp_path: Path) -> None:
    thresholds = {
        "request_thresholds": dict.fromkeys(("friendly", "cyclic", "scanner"), 1e9),
        "miss_thresholds": {"friendly": 2.0, "cyclic": 0.0, "scanner": 0.5},
    }
    results = ran(tmp_path, {"name": "thin", "period": "30min"} | thresholds, "karma")
    decisions = results.to_pandas("decisions")
    notes = decisions[decisions["system"] == "thin"]["note"]
    assert set(notes) == {"replacement policy problem: cyclic, scanner"}
    assert decisions[decisions["system"] == "karma"]["note"].isna().all()
    assert "note" not in ran(tmp_path, "karma").decisions().to_arrow().column_names
