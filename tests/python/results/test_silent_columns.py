# Trusts: a run of one VM, in which what columns would say can be seen beforehand.
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import rendered
from mcsim.results.render import render_comparison, render_systems, says_nothing
from rich.console import RenderableType
from small import small_experiment

import mcsim
from mcsim.report.run_parts import run_tables
from mcsim.results.models import render_devices
from mcsim.results.results import Results
from mcsim.results.yardsticks import render_yardsticks, yardsticks


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


def shown(render: Callable[[Results], RenderableType], results: Results) -> str:
    return rendered(render(results))


def test_the_terminal_shows_no_column_of_nothing(alone: Results) -> None:
    possible = shown(render_yardsticks, alone)
    for absent in ("fair", "hindsight\n", "points", "moved", "infeasible", "decide"):
        assert absent not in possible.replace("hindsight ", "")
    assert "decide" not in shown(render_systems, alone)
    devices = shown(render_devices, alone)
    assert "saturated" not in devices
    assert "queueing: mean wait\n" in devices.replace("  ", "")
    assert yardsticks(alone)["fairness"].to_pylist() == [None]


def test_neither_does_the_page(alone: Results) -> None:
    heads = [head for table in run_tables(alone) for head in table.heads]
    for absent in (
        "fairness",
        "points over hindsight",
        "blocks moved an interval",
        "infeasible decisions",
        "decide",
        "saturated",
    ):
        assert absent not in heads
    assert "worst slowdown" in heads
    assert not any("saturated" in table.caption for table in run_tables(alone))


def test_tables_tell_devices_of_one_name_apart(tmp_path: Path) -> None:
    spec = small_experiment("remoca", tiers={"dram": 30})
    spec["tiers"] = 2 * spec["tiers"]
    results = mcsim.run(spec, out=tmp_path, figures=False)
    *_, whole, _, devices = run_tables(results)
    assert [row[1].text for row in devices.rows] == ["dram (1)", "dram (2)", "hdd"]
    assert {"dram (1) writes", "dram (2) writes"} <= set(whole.heads)
    for render in (render_devices, render_systems, render_comparison):
        assert "dram (1)" in shown(render, results), render
        assert "dram (2)" in shown(render, results), render


@pytest.mark.parametrize(
    ("name", "values", "silent"),
    [
        ("churn", [0.0, None], True),
        ("churn", [0.0, 1.0], False),
        ("decide_seconds", [0.004, 0.0], True),
        ("decide_seconds", [0.005, 0.0], False),
        ("over_hindsight", [0.0], True),
        ("over_hindsight", [0.0, 0.0], False),
        ("reads", [0, 0], False),
        ("reads", [None, None], True),
    ],
)
def test_what_says_nothing(name: str, values: list[Any], silent: bool) -> None:
    assert says_nothing(name, values) == silent
