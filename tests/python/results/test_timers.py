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
    assert "timer" not in alone.decisions().column_names
