# Trusts: the files of experiments/, and runs of their full paths.
"""Experiments and profiles that mcsim has, given by name in any folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import call, lines
from small import EXPERIMENTS, TINY

import mcsim
from mcsim.base import package
from mcsim.base.errors import ConfigError, HostError
from mcsim.config.extends import extended
from mcsim.config.load import Source
from mcsim.experiment.experiment import Experiment
from mcsim.traces.synth import synth_trace

ONE_SYSTEM = ["systems=[lru]"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_name_and_the_path_give_the_same_run() -> None:
    named = mcsim.run("tiny", overrides=ONE_SYSTEM, figures=False)
    of_path = mcsim.run(EXPERIMENTS / "tiny.yaml", overrides=ONE_SYSTEM, figures=False, out="path")
    assert named.run_id == of_path.run_id
    assert named.comparison().to_arrow().equals(of_path.comparison().to_arrow())


def test_all_experiments_have_names_and_load() -> None:
    names = mcsim.experiment_names()
    assert names == sorted(path.stem for path in EXPERIMENTS.glob("*.yaml"))
    assert {"tiny", "web", "web-sizes", "all-systems"} <= set(names)
    assert Experiment.load("web").spec.name == "web"


def test_a_local_file_wins(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()  # a folder is no experiment
    assert Experiment.load("tiny").spec.seed is None
    own = (EXPERIMENTS / "tiny.yaml").read_text() + "seed: 7\n"
    (tmp_path / "tiny.yaml").write_text(own.replace("workloads/tiny.yaml", "tiny"))
    assert Experiment.load("tiny").spec.seed == 7
    (tmp_path / "web").write_text(own.replace("name: tiny", "name: mine"))
    assert Experiment.load("web").spec.name == "mine"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "tinny",
            "no file and no experiment of mcsim is called 'tinny' (did you mean 'tiny'?); "
            "see mcsim list",
        ),
        ("zzzz", "no file and no experiment of mcsim is called 'zzzz'; see mcsim list"),
        ("a/tiny.yaml", "a/tiny.yaml: No such file or directory (did you mean 'tiny'?)"),
        ("zzzz.yaml", "zzzz.yaml: No such file or directory"),
    ],
)
@pytest.mark.parametrize("command", ["run", "sweep", "search", "sweep status"])
def test_a_wrong_name_has_a_suggestion(
    capsys: pytest.CaptureFixture[str], command: str, given: str, message: str
) -> None:
    code, _, err = call(capsys, *command.split(), given)
    assert (code, err) == (2, f"mcsim: {message}\n")


def test_profiles_have_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert synth_trace("tiny").metadata.digest == synth_trace(TINY).metadata.digest
    code, printed, _ = lines(capsys, "trace", "synth", "tiny", "tiny.csv", "-q")
    assert (code, printed[-1]) == (0, "tiny.csv")
    code, _, err = call(capsys, "trace", "synth", "tine", "tine.csv")
    assert (code, "no profile of mcsim is called 'tine' (did you mean 'tiny'?)" in err) == (2, True)
    experiment = {
        "name": "mine",
        "workload": {"profile": "tiny"},
        "tiers": [{"device": "dram", "capacity": 100}],
        "systems": ["lru"],
    }
    assert mcsim.run(experiment, figures=False).overview().to_arrow().num_rows
    experiment["workload"] = {"profile": "tine"}
    with pytest.raises(ConfigError, match=r"no file 'tine' \(did you mean 'tiny'\?\)"):
        mcsim.run(experiment, figures=False)
    shutil.copy(TINY, tmp_path / "tine.yaml")
    assert mcsim.run(experiment, figures=False).run_id


def test_a_named_experiment_can_be_extended(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("extends: tiny\nname: mine\nsystems: [lru]\n")
    results = mcsim.run("mine.yaml", figures=False)
    assert results.overview().to_arrow().num_rows == 1
    (tmp_path / "base").mkdir()
    base = (EXPERIMENTS / "tiny.yaml").read_text().replace("workloads/tiny.yaml", "tiny")
    (tmp_path / "base" / "own.yaml").write_text(base)
    (tmp_path / "two.yaml").write_text("extends: base/own.yaml\nname: two\n")
    source = extended(Source.read("two.yaml"))
    assert (tmp_path / source.root["workload"]["profile"]).samefile(TINY)
    (tmp_path / "wrong.yaml").write_text("extends: tinny\nname: two\n")
    with pytest.raises(ConfigError, match=r"wrong.yaml:1: extends: no file 'tinny' \(did you mean"):
        Experiment.load("wrong.yaml")


def test_sweeps_searches_and_misses_take_names(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(
        capsys, "sweep", "web-sizes", "--set", "workload.window.end=1h", "--dry-run"
    )
    assert (code, out.split(":")[0]) == (0, "web-sizes")
    code, out, _ = call(capsys, "search", "tiny", "--sizes", "100 / 400", "--policies", "lru")
    assert code == 0
    assert "\ntiny: the lowest latency" in out
    assert "mcsim run tiny --set" in out
    code, out, _ = call(capsys, "search", EXPERIMENTS / "tiny.yaml", "--sizes", "1 / 4", "-q")
    assert "mcsim run tiny --set" in out
    assert call(capsys, "trace", "misses", "tiny", "m.csv", "--system", "static")[0] == 0
    code, _, err = call(capsys, "trace", "misses", "none", "m.csv")
    assert (code, "a trace needs --size" in err) == (2, True)
    Path("tiny.yaml").write_bytes((EXPERIMENTS / "tiny.yaml").read_bytes())
    code, out, _ = call(capsys, "search", EXPERIMENTS / "tiny.yaml", "--sizes", "1 / 4", "-q")
    assert f"mcsim run {EXPERIMENTS}/tiny.yaml --set" in out


def test_names_are_listed_and_described(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "list", "--json")
    listed = {(entry["kind"], entry["name"]) for entry in json.loads(out)}
    assert code == 0
    assert {("experiments", "web"), ("profiles", "thin3")} <= listed
    text = mcsim.describe("web-sizes")
    assert f"File: {EXPERIMENTS}/web-sizes.yaml" in text
    assert "Command: mcsim sweep web-sizes" in text
    assert "Command: mcsim run tiny\n" in mcsim.describe("tiny")
    assert "Command: mcsim trace synth tiny " in mcsim.describe("tiny")


def test_without_experiments_there_are_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise HostError("none")

    monkeypatch.setattr(package, "experiments_folder", missing)
    assert mcsim.experiment_names() == []
    with pytest.raises(ConfigError, match="no experiment of mcsim is called 'tiny'; see"):
        Experiment.load("tiny")


def test_code_of_an_experiment_by_name_is_in_the_working_folder(tmp_path: Path) -> None:
    text = "import mcsim\n\nclass Old(mcsim.PriorityPolicy):\n"
    text += "    def priority(self, accesses, last, inserted, now):\n        return last\n"
    (tmp_path / "own_of_tiny.py").write_text(text)
    policies = "{name: hierarchy, policy: 'own_of_tiny:Old / lru'}, {name: hierarchy, label: lru}"
    systems = [f"systems=[{policies}]"]
    with pytest.raises(ConfigError, match="--allow-code"):
        mcsim.run("tiny", overrides=systems, figures=False)
    run = mcsim.run("tiny", overrides=systems, figures=False, allow_code=True)
    hits = run.overview().hit_ratio
    assert hits[0] == hits[1]
    swept = mcsim.sweep("tiny", {"seed": [1, 2]}, overrides=systems, allow_code=True)
    assert swept.finished() == [True, True]
    with pytest.raises(ConfigError, match="not in the experiment's folder"):
        mcsim.run(EXPERIMENTS / "tiny.yaml", overrides=systems, allow_code=True)


def test_overrides_are_a_list() -> None:
    with pytest.raises(ConfigError, match="overrides: expected a list of text such as seed=2"):
        mcsim.run("tiny", overrides="seed=2")


def test_a_sweep_without_axes_names_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--set 'sweep.seed=3 seeds'" in call(capsys, "sweep", "tiny")[2]


def test_an_unknown_command_of_a_group_lists_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "no such command 'dif' (did you mean 'diff'?)" in call(capsys, "results", "dif")[2]
    assert "no such command 'zzz' (one of diff, gc, " in call(capsys, "results", "zzz")[2]
