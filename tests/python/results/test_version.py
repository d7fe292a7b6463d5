"""Runs of different versions of results stay apart.

Oracle: the version is set by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_up
import pyarrow as pa
import pytest
from commands import call, printed
from small import small_experiment

import mcsim
from mcsim import _core, figures
from mcsim.base.errors import ConfigError
from mcsim.experiment import environment
from mcsim.experiment.experiment import Experiment
from mcsim.results import version
from mcsim.results.results import Results
from mcsim.sweeps import plan
from mcsim.sweeps.swept import Sweep


def set_version(patch: pytest.MonkeyPatch, number: int) -> None:
    for module in (version, environment, plan):
        patch.setattr(module, "RESULTS_VERSION", number)


def stored(out: Path, run_id: str, blocks: int, **told: Any) -> Results:
    """Write a run with more values in its environment."""
    spec = made_up.spec_of(["a"], (10, blocks), ["lru"], "1h")
    metrics = [made_up.of_tier("lru", 0, "a", tier, 1) for tier in (0, 1)]
    vms = [made_up.of_vm("lru", 0, "a", 0, 4, 2)]
    about = {"synthetic": False, "mcsim": "0.1.0", "build": "b", "code": {}, "traces": []}
    curve = {"vm": "a", "scope": "trace", "capacity": 10, "hits": 2, "accesses": 4}
    curves = pa.Table.from_pylist([curve])
    return made_up.written(out, run_id, spec, metrics, vms, environment=about | told, curves=curves)


def test_the_run_id_has_the_version_of_results_and_not_of_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    experiment = Experiment.load(small_experiment("lru", tiers={"dram": 10}))
    first = experiment.run_id([])
    monkeypatch.setattr(_core, "__version__", "9.9.9")
    assert experiment.run_id([]) == first
    set_version(monkeypatch, version.RESULTS_VERSION + 1)
    assert experiment.run_id([]) != first


def test_runs_of_different_versions_are_not_shown_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = stored(tmp_path, "old-0123456789ab", 100)
    new = stored(tmp_path, "new-0123456789ab", 200, results_version=1)
    other = stored(tmp_path, "oth-0123456789ab", 300, results_version=1)
    assert [run.version for run in (old, new)] == [0, 1]
    refused = "different versions of results .*: old-0123456789ab has 0, new-0123456789ab has 1"
    for show in (
        lambda *runs: figures.plot("hit-ratio-by-capacity", runs),
        lambda *runs: mcsim.report(*runs),
    ):
        show(new, other)
        with pytest.raises(ConfigError, match=refused):
            show(old, new)
    code, _, err = call(capsys, "results", "plot", old.path, new.path, "-o", tmp_path / "drawn")
    assert code == 2
    assert "different versions of results" in err
    # A run of before can be shown and compared.
    for run in (old, new):
        assert run.answer.splitlines()[0] == printed(capsys, "results", "show", run.path)[0]
    code, out, _ = call(capsys, "results", "diff", old.path, new.path)
    assert code == 1
    assert ["results_version", "0", "1"] in [line.split() for line in out.splitlines()]


def test_a_sweep_has_cells_of_one_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = small_experiment("lru", tiers={"dram": 10}, sweep={"tiers.0.capacity": [10, 20]})

    def run_ids(of: Sweep) -> set[str]:
        assert of.finished() == [True, True]
        assert {of.results(cell).version for cell in (0, 1)} == {version.RESULTS_VERSION}
        return set(of.to_arrow()["run_id"].to_pylist())

    first = mcsim.sweep(spec, out=tmp_path)
    before = run_ids(first)
    set_version(monkeypatch, version.RESULTS_VERSION + 1)
    again = mcsim.sweep(spec, out=tmp_path)
    assert again.path != first.path
    assert not run_ids(again) & before
    # The sweep of before is unchanged.
    assert set(Sweep.open(first.path).to_arrow()["run_id"].to_pylist()) == before
    assert Sweep.open(first.path).results(0).version == version.RESULTS_VERSION - 1
