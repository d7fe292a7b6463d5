# Trusts: the file that a mistake was written into, and where in it.
from __future__ import annotations

from pathlib import Path
from typing import Any

import complaints
import numpy as np
import pytest
from hosts import add_vm
from small import TINY, small_experiment

import mcsim
from mcsim._core import engine
from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.prepared import Prepared, opt_hits
from mcsim.experiment.stages import own_view
from mcsim.references.opened import open_workload


def written(folder: Path, system: str, interval: str = "30min") -> Path:
    path = folder / "mine.yaml"
    path.write_text(
        f"name: mine\ninterval: {interval}\nworkload: {{profile: {TINY}}}\n"
        "tiers:\n  - {device: dram, capacity: 400}\n"
        f"systems:\n  - lru\n  - {system}\n",
        encoding="utf-8",
    )
    return path


def complaint(path: Path) -> str:
    """Message for a file; the run must leave no files."""
    out = path.parent / "results"
    said = complaints.complaint(mcsim.run, path, out=out, figures=False)
    assert not out.exists() or not list(out.iterdir())
    return said.removeprefix(f"{path.parent}/")


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("{name: slo, latency_ms: {nope: 3}}", "systems[1].latency_ms: no VM 'nope'"),
        (
            "{name: static, shares: {frendly: 3}}",
            "systems[1].shares: no VM 'frendly' (did you mean 'friendly'?)",
        ),
        (
            "{name: vcacheshare, limits: {frendly: 3}}",
            "systems[1].limits: no VM 'frendly' (did you mean 'friendly'?)",
        ),
    ],
)
def test_vms_that_only_the_profile_names_are_looked_for_at_once(
    tmp_path: Path, system: str, expected: str
) -> None:
    assert complaint(written(tmp_path, system)) == f"mine.yaml:8: {expected}"


def test_the_core_too_knows_the_vms_of_a_profile(tmp_path: Path) -> None:
    said = complaint(written(tmp_path, '{name: hierarchy, writes: "through, nobody=back"}'))
    assert said.startswith("mine.yaml:8: systems[1]")
    assert "writes: no VM 'nobody'" in said


def test_what_a_system_refuses_to_begin_with_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def allocate(self, seen):\n        return seen.capacities\n",
        encoding="utf-8",
    )
    path = written(tmp_path, '"mine:Mine"')
    out = tmp_path / "results"
    told = complaints.complaint(mcsim.run, path, out=out, figures=False, allow_code=True)
    said = told.removeprefix(f"{tmp_path}/")
    assert said.startswith("mine.yaml:8: systems[1]: mine:Mine: allocate() of interval 0: expected")


def test_windows_are_whole_periods_in_the_words_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "{name: cloudcache, window: 17min}")
    assert complaint(path) == (
        "mine.yaml:8: systems[1]: meter 'distinct': window: expected a whole number of periods of "
        "'1h', got '17min'"
    )


def test_a_window_that_only_the_trace_makes_too_short_has_its_system(tmp_path: Path) -> None:
    said = complaint(written(tmp_path, "{name: vcacheshare, ri_window: 1ns}"))
    assert said.startswith("mine.yaml:8: systems[1]: meter 'intensity': window: '1ns' cuts")


@pytest.mark.parametrize(
    ("parameter", "given"), [("policy", "lru / arc"), ("writes", "back / through")]
)
def test_one_tier_has_one_of_each(tmp_path: Path, parameter: str, given: str) -> None:
    said = complaint(written(tmp_path, f"{{name: hierarchy, {parameter}: {given}}}"))
    assert said.endswith(f"{parameter}: 2 entries for 1 tier")


def huge(tmp_path: Path, system: str) -> Path:
    """The first tier is as large as any, the second is larger than everything."""
    path = written(tmp_path, system)
    second = "400}\n  - {device: flash, capacity: 4_000_000_000_000_000}\n"
    path.write_text(path.read_text(encoding="utf-8").replace("400}\n", second), encoding="utf-8")
    return path


def test_tiers_too_unlike_to_be_solved_together_are_told(tmp_path: Path) -> None:
    assert complaint(huge(tmp_path, "{name: multicache-joint, label: joint}")) == (
        "mine.yaml:9: systems[1]: multicache-joint: grid: units of 20 blocks, by the smallest "
        "tier, make 200000000000020 units of all tiers; at most 2097152 can be solved: use a "
        "smaller grid or tiers of more similar sizes"
    )


@pytest.mark.parametrize("params", ["legacy: true", "rescale: true", "idle: keep"])
def test_a_tier_larger_than_everything_is_divided(tmp_path: Path, params: str) -> None:
    path = huge(tmp_path, f"{{name: multicache, {params}}}")
    results = mcsim.run(path, out=tmp_path / "results", figures=False)
    metrics = results.to_pandas("metrics").query("system == 'multicache' and tier == 1")
    targets = metrics.groupby("interval")["target"]
    assert (metrics["target"] >= 0).all()
    assert (targets.sum() <= 4 * 10**15).all()
    assert (targets.sum() > 3.9 * 10**15).all()


@pytest.mark.parametrize("interval", ["1ms", "10ms"])
def test_intervals_that_are_too_many_are_told_before_anything_is_interned(
    tmp_path: Path, interval: str
) -> None:
    said = complaint(written(tmp_path, "static", interval))
    assert said.startswith(f"mine.yaml:2: interval: '{interval}' cuts the workload into 1")
    assert said.endswith(" intervals; at most 1,048,576 can be kept")


def test_the_engine_keeps_as_many_intervals_as_are_let_through(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,offset\n0,0\n1048575,4096\n", encoding="utf-8")
    vm: dict[str, Any] = {"name": "a", "trace": "a.csv", "format": "csv"}
    vm["options"] = {"time": "time", "offset": "offset", "time_unit": "s"}
    given = small_experiment("lru", tiers={"dram": 4}, name="long", workload={"vms": [vm]})
    for interval, fits in (("1s", True), ("999999us", False)):
        experiment = Experiment.load(given | {"interval": interval})
        workload = open_workload(experiment.spec, experiment.source, [tmp_path], Reporter())
        accesses = workload.intern(dict(own_view(experiment.spec, Prepared(workload, Reporter()))))
        length = experiment.spec.interval.length
        if fits:
            experiment.check_workload(workload)
            assert len(engine.aligned_cuts(accesses, length)) == (1 << 20) + 1
            continue
        with pytest.raises(ConfigError, match="cuts the workload into 1,048,577 intervals"):
            experiment.check_workload(workload)
        with pytest.raises(ConfigError, match="into 1048577 pieces"):
            engine.aligned_cuts(accesses, length)


@pytest.mark.parametrize("blocks", [4 * 10**15, 2**63 - 1, 2**64])
def test_space_for_more_than_there_is_bounds_as_space_for_all(blocks: int) -> None:
    builder = engine.AccessBuilder()
    add_vm(builder, "a", np.arange(5), 0, [1, 2, 1, 3, 2])
    assert opt_hits(builder.finish(), blocks) == 2


@pytest.mark.parametrize(
    ("vm", "shown"),
    [
        ('{name: "a\\nb", trace: cyclic}', "a\\x0ab"),
        ('{trace: cyclic, vms: {x: "a\\tb"}}', "a\\x09b"),
    ],
)
def test_a_vm_whose_name_breaks_lines_is_refused_where_it_is_named(
    tmp_path: Path, vm: str, shown: str
) -> None:
    path = written(tmp_path, "static")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f"{TINY}}}", f"{TINY}, vms: [\n    {vm}]}}"), encoding="utf-8")
    assert complaint(path) == (
        "mine.yaml:4: workload.vms[0]: the name of a VM must be text in UTF-8, without control "
        f"characters, got '{shown}'"
    )


def test_a_table_that_there_is_not_is_told_from_one_that_is_gone(tmp_path: Path) -> None:
    results = mcsim.run(written(tmp_path, "static"), out=tmp_path / "results", figures=False)
    for read in (results.to_pandas, results.to_polars, results.to_arrow, results.table):
        told = complaints.complaint(read, "metric")
        assert told.startswith("no table 'metric' (did you mean 'metrics'?); there are ")
        assert "metrics, vms" in told
