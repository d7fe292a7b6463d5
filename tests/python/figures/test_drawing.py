"""Figures drawn after the work, by several processes.

Trusts: the names of the files that are there.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import made_up
import pytest
from commands import python
from small import small_experiment

import mcsim
from mcsim import figures
from mcsim.base import units
from mcsim.base.errors import ConfigError, HostError, MissingOutputError, mistakes_in
from mcsim.figures.style import Sheet
from mcsim.figures.workers import mapped
from mcsim.results.results import Results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made_up.run(tmp_path_factory.mktemp("one"))


def test_many_systems_and_vms_with_long_names_are_drawn(tmp_path: Path) -> None:
    run = crowded(tmp_path)
    skipped: list[str] = []
    names = ["hit-ratio", "latency", "tier-shares", "occupancy", "curves"]
    drawn = figures.draw(run, names, on_skip=skipped.append)
    assert [path.name for path in drawn] == [f"{name}.png" for name in names]
    assert skipped == []


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
    def fail(results: Results) -> Sheet:
        raise ZeroDivisionError("of this test")

    broken = replace(figures.FIGURES["curves"], of_run=fail)
    monkeypatch.setattr(figures, "FIGURES", {**figures.FIGURES, "curves": broken})
    experiment = small_experiment("lru", tiers={"dram": 50})
    with pytest.raises(MissingOutputError, match=r"curves \(Hit.*of this test; the results are in"):
        mcsim.run(experiment, out=tmp_path, threads=1)
    (run,) = tmp_path.glob("tiny-*")
    results = Results.open(run)
    results.check()
    assert (run / "figures" / "hit-ratio.png").is_file()
    assert "figures" not in results.timings["stages"]


def test_processes_import_no_script_of_the_user(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nfrom mcsim.figures.workers import mapped\n"
        "with Path(sys.argv[1]).open('a') as file: file.write('x')\n"
        "with mapped(len, ['a', 'bc', ''], 2) as found: print(list(found))\n"
    )
    done = python(script, tmp_path / "begun")
    assert (done.returncode, done.stdout) == (0, "[1, 2, 0]\n"), done.stderr
    assert (tmp_path / "begun").read_text() == "x"


def test_errors_of_processes_come_out() -> None:
    with (
        pytest.raises(ConfigError, match="expected a whole number"),
        mapped(parse_in_other_process, ["1", "x"], 2) as found,
    ):
        list(found)
    with (
        pytest.raises(HostError, match="a process that draws died"),
        mapped(exit_, [1, 2], 2) as found,
    ):
        list(found)


def parse_in_other_process(text: str) -> int:
    with mistakes_in("this test"):
        return units.parse_count(text)


def exit_(code: int) -> None:
    os._exit(code)
