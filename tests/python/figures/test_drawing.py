"""Figures drawn after the work.

Trusts: the names of the files that are there.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import made_up
import numpy as np
import pytest
from layout import check_layout
from small import small_experiment

import mcsim
from mcsim import figures
from mcsim.base.errors import MissingOutputError
from mcsim.figures.chart import Sheet
from mcsim.figures.locality import MOST_CURVES, curves
from mcsim.figures.style import Style
from mcsim.results.results import Results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made_up.run(tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return crowded(tmp_path_factory.mktemp("busy"))


@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize(
    "name",
    ["hit-ratio", "latency", "tier-shares", "occupancy", "curves", "hit-ratio-over-time"],
)
def test_many_systems_and_vms_with_long_names_do_not_overlap(
    name: str, style: Style, busy: Results
) -> None:
    check_layout(figures.plot(name, busy, style), 8 if style == "paper" else 7)


def crowded(folder: Path) -> Results:
    systems = [
        {"name": "lru", "label": f"a system with a long title, number {i} " + "x" * 40}
        for i in range(13)
    ]
    vms = {f"{'virtual-machine-' * 5}{i:02}": LITTLE for i in range(21)}
    profile = folder / "crowded.yaml"
    profile.write_text(json.dumps({"name": "crowded", "vms": vms}))
    experiment = {
        "name": "crowded",
        "workload": {"profile": str(profile)},
        "tiers": [{"device": "dram", "capacity": 50}],
        "systems": systems,
    }
    return mcsim.run(experiment, out=folder / "results", figures=False)


LITTLE = {
    "components": {"all": {"zipf": {"blocks": 50, "alpha": 0.8}}},
    "phases": [{"duration": "1h", "requests": 50, "reads": "all"}],
}


def test_a_figure_that_fails_leaves_the_others_and_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(results: Results, systems: object) -> Sheet:
        raise ZeroDivisionError("of this test")

    broken = replace(figures.FIGURES["curves"], of_run=fail)
    monkeypatch.setattr(figures, "FIGURES", {**figures.FIGURES, "curves": broken})
    experiment = small_experiment("lru", tiers={"dram": 50})
    with pytest.raises(MissingOutputError, match=r"curves \(Hit.*of this test; the results are in"):
        mcsim.run(experiment, out=tmp_path, threads=1, figures=True)
    (run,) = tmp_path.glob("tiny-*")
    results = Results.open(run)
    results.check()
    assert (run / "figures" / "hit-ratio.png").is_file()
    assert "figures" not in results.timings["stages"]


def test_titles_of_parts_do_not_end_a_line_within_a_part(results: Results) -> None:
    panels = figures.plot("tier-split", results, "paper").axes
    lines = [line for panel in panels for line in panel.get_title(loc="left").splitlines()]
    assert lines
    for line in lines:
        assert line.endswith((",", ")")), line


def test_a_legend_of_markers_has_columns_side_by_side(tmp_path: Path) -> None:
    titles = [
        "lru",
        "static",
        "history",
        "as printed",
        "as coded",
        "joint",
        "single",
        "lirs",
        "arc",
    ]
    systems = [{"name": "lru", "label": title} for title in titles]
    run = mcsim.run(small_experiment(*systems, tiers={"dram": 50}), out=tmp_path, figures=False)
    (legend,) = figures.plot("hit-ratio", run, "paper").legends
    assert legend._ncols >= 3
    stars = [one for one in legend.legend_handles if one.get_marker() == "*"]
    others = [one for one in legend.legend_handles if one.get_marker() == "o"]
    assert all(one.get_markersize() > 5 for one in stars)
    assert all(one.get_markersize() < 4 for one in others)


def test_of_many_curves_the_busiest_are_drawn() -> None:
    named = [(f"vm{i}", mcsim.hit_ratio_curve(np.arange(i + 1) % 5)) for i in range(60)]
    sheet = curves([*named, ("all", mcsim.hit_ratio_curve(np.arange(3)))], log=True, together="all")
    drawn = {series.look.label for series in sheet.charts[0].series}
    assert drawn == {"all"} | {f"vm{i}" for i in range(60 - MOST_CURVES + 1, 60)}
    assert sheet.notes[0] == "40 of 61 curves: those with the most accesses."
