# Trusts: a run of one VM with columns known in advance.
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import rendered
from small import small_experiment

import mcsim
from mcsim.report.run_parts import run_tables
from mcsim.results.results import Results
from mcsim.results.views import result_table
from mcsim.tables.result_columns import column_of


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """One VM under `hindsight`: nothing to be fair to, nothing moved, nothing saturated."""
    folder = tmp_path_factory.mktemp("alone")
    trace = mcsim.Trace.from_arrays(
        np.arange(400) * 60 * 10**9, np.arange(400) % 50 * 4096, 4096, vms=["a"]
    )
    trace.save(folder / "a.arrow")
    spec = small_experiment(
        "hindsight",
        tiers={"dram": 30},
        name="alone",
        workload={"vms": [{"name": "a", "trace": "a.arrow"}]},
    )
    return mcsim.run(spec, trace_dirs=[folder], out=folder, figures=False)


def test_the_terminal_shows_no_column_of_nothing(alone: Results) -> None:
    possible = rendered(alone.yardsticks())
    for absent in ("fair", "hindsight\n", "points", "moved", "infeasible", "decide"):
        assert absent not in possible.replace("hindsight ", "")
    assert "points" not in rendered(alone.overview())
    assert "decide" not in rendered(alone.systems())
    devices = rendered(alone.devices())
    assert "saturated" not in devices
    assert devices.endswith("queueing: mean wait at the mean load")
    assert alone.yardsticks().values("fairness") == [None]


def test_neither_does_the_page(alone: Results) -> None:
    heads = [head for table in run_tables(alone) for head in table.heads]
    for absent in (
        "fairness",
        "points over hindsight",
        "moved",
        "infeasible",
        "decide",
        "saturated",
    ):
        assert absent not in heads
    assert "worst VM" in heads
    assert not any("saturated" in table.caption for table in run_tables(alone))


def test_tables_tell_devices_of_one_name_apart(tmp_path: Path) -> None:
    spec = small_experiment("remoca", tiers={"dram": 30})
    spec["tiers"] = 2 * spec["tiers"]
    results = mcsim.run(spec, out=tmp_path, figures=False)
    *_, whole, _, devices = run_tables(results)
    place = list(devices.heads).index("device")
    assert [row[place].text for row in devices.rows] == ["dram (1)", "dram (2)", "hdd"]
    assert {"dram (1) writes", "dram (2) writes"} <= set(whole.heads)
    for name in ("devices", "systems", "comparison"):
        assert "dram (1)" in rendered(result_table(results, name)), name
        assert "dram (2)" in rendered(result_table(results, name)), name


@pytest.mark.parametrize(
    ("table", "name", "values", "informative"),
    [
        ("yardsticks", "churn", [0.0, None], False),
        ("yardsticks", "churn", [0.0, 1.0], True),
        ("systems", "decide_seconds", [0.004, 0.0], False),
        ("systems", "decide_seconds", [0.006, 0.0], True),
        ("yardsticks", "over_hindsight", [0.0, 0.0], True),
        ("devices", "reads", [0, 0], True),
        ("devices", "reads", [None, None], False),
    ],
)
def test_informative_columns(table: str, name: str, values: list[Any], informative: bool) -> None:
    assert column_of(table, name).is_informative(values) == informative
