# Trusts: the lengths of two timers, of which the longer is the shorter several times over.
from __future__ import annotations

from pathlib import Path
from typing import Any

from small import small_experiment

import mcsim


class Twice:
    """Decides the same at two timers."""

    timers = {"often": "30min", "rarely": "1h"}  # noqa: RUF012

    def allocate(self, seen: mcsim.Observation) -> Any:
        return seen.current


def test_decisions_say_which_of_several_timers_rang(tmp_path: Path) -> None:
    spec = small_experiment(
        {"name": Twice, "label": "twice"}, "multicache", tiers={"dram": 400}, name="timers"
    )
    decisions = mcsim.run(spec, out=tmp_path, figures=False).to_pandas("decisions")
    twice = decisions[decisions["system"] == "twice"]
    assert twice["timer"].value_counts().to_dict() == {"often": 7, "rarely": 3}
    # Others of the run have one.
    assert decisions[decisions["system"] == "multicache"]["timer"].isna().all()
    alone = mcsim.run(spec | {"systems": ["multicache"]}, out=tmp_path, figures=False)
    assert "timer" not in alone.decisions().to_arrow().column_names


class Modes:
    """Decides write modes, at one timer."""

    def allocate(self, seen: mcsim.Observation) -> Any:
        return mcsim.Decision(write_modes=["through"] * len(seen.vms))


def test_optional_columns_of_decisions_have_one_order_whatever_system_is_first(
    tmp_path: Path,
) -> None:
    timers = {"name": Twice, "label": "timers"}
    modes = {"name": Modes, "label": "modes"}
    for systems in ([timers, modes], [modes, timers]):
        spec = small_experiment(*systems, tiers={"dram": 400}, name="order")
        decisions = mcsim.run(spec, out=tmp_path, figures=False).table("decisions")
        assert decisions.column_names[-2:] == ["write_modes", "timer"]
