# Trusts: the list of systems, and what no system can hit more than.
from __future__ import annotations

from pathlib import Path

from ruamel.yaml import YAML
from small import EXPERIMENTS

import mcsim
from mcsim._core import engine
from mcsim.config import ExperimentSpec
from mcsim.results.yardsticks import yardsticks

FILE = EXPERIMENTS / "all-systems.yaml"


def test_no_system_is_missing() -> None:
    spec = ExperimentSpec.model_validate(YAML(typ="safe").load(FILE))
    listed = {entry["name"] for entry in engine.describe_systems()}
    assert {system.name for system in spec.systems} == listed


def test_all_of_them_run_and_none_hits_more_than_is_possible(tmp_path: Path) -> None:
    short = ["workload.window.end=3h"]
    results = mcsim.run(FILE, overrides=short, out=tmp_path, figures=False)
    rows = yardsticks(results).to_pylist()
    assert [row["system"] for row in rows] == [system.title for system in results.spec.systems]
    for row in rows:
        assert row["share_of_opt"] is None or 0 < row["share_of_opt"] <= 1, row["system"]
        assert row["over_hindsight"] is not None
    placed = {row["system"] for row in rows if row["share_of_opt"] is None}
    assert placed <= {"hystor", "vfrm", "edt", "dm-cache", "zfs-arc"}
