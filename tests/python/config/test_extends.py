# Trusts: the same experiment in one file.
"""`extends`: shared parts, lines of mistakes, and the base of relative paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from complaints import complaint

from mcsim.base.errors import ConfigError
from mcsim.experiment.experiment import Experiment, source_of

BASE = """\
name: base
interval: 2h
workload:
  profile: profiles/one.yaml
  align: start
  vms: [a, {name: b, mapping: how.yaml}]
plugins: [mine.so]
tiers:
  - {device: dram, capacity: 100}
systems: [lru]
"""
OWN = """\
extends: shared/base.yaml
name: own
workload: {align: clock}
tiers:
  - {device: flash, capacity: 7}
  - {device: hdd, capacity: 70}
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_maps_are_merged_and_all_else_is_the_files_own(tmp_path: Path) -> None:
    write(tmp_path, "shared/base.yaml", BASE.replace("plugins: [mine.so]\n", ""))
    spec = Experiment.load(write(tmp_path, "own.yaml", OWN)).spec
    assert (spec.name, str(spec.interval)) == ("own", "2h")
    assert spec.workload.align == "clock"
    assert [vm.name for vm in spec.workload.vms] == ["a", "b"]
    assert [tier.device for tier in spec.tiers] == ["flash", "hdd"]
    assert [system.name for system in spec.systems] == ["lru"]


def test_paths_mean_files_beside_the_file_that_they_stand_in(tmp_path: Path) -> None:
    write(tmp_path, "shared/base.yaml", BASE + "sweep:\n  workload: [{profile: two.yaml}]\n")
    write(tmp_path, "shared/a", "a trace in the folder")
    source, _ = source_of(write(tmp_path, "own.yaml", OWN), ())
    workload = source.root["workload"]
    assert workload["profile"] == "shared/profiles/one.yaml"
    # `a` is a file there; `b` is a name to look up.
    assert workload["vms"] == [
        {"name": "a", "trace": "shared/a"},
        {"name": "b", "mapping": "shared/how.yaml"},
    ]
    assert source.root["plugins"] == ["shared/mine.so"]
    assert source.root["sweep"]["workload"] == [{"profile": "shared/two.yaml"}]
    assert "extends" not in source.root


def test_what_is_extended_may_extend_in_turn(tmp_path: Path) -> None:
    write(tmp_path, "shared/base.yaml", "extends: ../first.yaml\nseed: 9\n")
    write(tmp_path, "first.yaml", BASE.replace("plugins: [mine.so]\n", "").replace("2h", "3h"))
    spec = Experiment.load(write(tmp_path, "own.yaml", OWN)).spec
    assert (str(spec.interval), spec.seed) == ("3h", 9)
    assert spec.workload.profile == "profiles/one.yaml"


def test_a_mistake_is_blamed_on_the_line_of_its_file(tmp_path: Path) -> None:
    base = write(tmp_path, "shared/base.yaml", BASE.replace("2h", "soon"))
    own = write(tmp_path, "own.yaml", OWN + "seed: x\n")
    told = complaint(Experiment.load, own).splitlines()
    assert sorted(line.partition(": ")[0] for line in told) == [f"{own}:7", f"{base}:2"]
    with pytest.raises(ConfigError, match="--set interval=later: interval: expected a length"):
        Experiment.load(own, ["interval=later", "seed=1"])


def test_circles_and_files_that_are_not_there(tmp_path: Path) -> None:
    own = write(tmp_path, "own.yaml", OWN)
    assert complaint(Experiment.load, own) == f"{own}:1: extends: no file 'shared/base.yaml'"
    nul = write(tmp_path, "nul.yaml", 'extends: "a\\0b"\n')
    assert f"{nul}:1: extends: no file can have the name" in complaint(Experiment.load, nul)
    base = write(tmp_path, "shared/base.yaml", BASE + "extends: ../own.yaml\n")
    assert complaint(Experiment.load, own) == (
        f"{base}:11: extends: a circle: own.yaml extends base.yaml extends own.yaml"
    )
    write(tmp_path, "self.yaml", "extends: self.yaml\n")
    with pytest.raises(ConfigError, match=r"a circle: self\.yaml extends self\.yaml"):
        Experiment.load(tmp_path / "self.yaml")
    with pytest.raises(ConfigError, match="extends: expected the path of an experiment, got 7"):
        Experiment.load(write(tmp_path, "seven.yaml", "extends: 7\n"))
