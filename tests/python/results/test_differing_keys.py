"""The column with the keys in which runs of one experiment differ.

Trusts: the general parser of YAML; overrides that the runs were made with.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from small import EXPERIMENTS, small_experiment

import mcsim
from mcsim.experiment.experiment import Experiment
from mcsim.results import list_runs
from mcsim.results.files import yaml_of
from mcsim.results.listing import differing_keys, read_flat


def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, below in value.items():
            yield from flat(below, f"{prefix}{key}.")
    elif isinstance(value, list) and value:
        for index, below in enumerate(value):
            yield from flat(below, f"{prefix}{index}.")
    else:
        yield prefix[:-1], value


@pytest.mark.parametrize("name", ["tiny", "paths", "web", "guests", "migration", "all-systems"])
def test_values_are_those_of_the_general_parser(name: str) -> None:
    text = yaml_of(Experiment.load(EXPERIMENTS / f"{name}.yaml").spec.expanded()).decode()
    ours = read_flat(text)
    theirs = dict(flat(YAML(typ="safe", pure=True).load(text)))
    assert set(ours) <= set(theirs)
    for key, value in theirs.items():
        if value is None:
            assert key not in ours
        elif isinstance(value, str):
            # The rest of a long text is on another line.
            assert value == ours[key] or (value.startswith(ours[key]) and len(ours[key]) > 40), key
        else:
            plain = YAML(typ="safe", pure=True).load(ours[key])
            assert plain == value, key


def differing(out: Path) -> dict[str, str | None]:
    rows = list_runs(out).to_pylist()
    return dict(zip((row["run"] for row in rows), differing_keys(rows), strict=True))


def made(out: Path, *overrides: str, **more: Any) -> str:
    spec = small_experiment("lru", tiers={"dram": 200}, interval="30min", **more)
    return mcsim.run(spec, overrides=overrides, out=out, figures=False).run_id


def test_runs_of_one_name_are_differing_keys(tmp_path: Path) -> None:
    first = made(tmp_path)
    assert differing(tmp_path) == {first: None}
    larger = made(tmp_path, "tiers.0.capacity=300")
    assert differing(tmp_path) == {
        first: "tiers.0.capacity=200",
        larger: "tiers.0.capacity=300",
    }
    back = made(tmp_path, "tiers.0.capacity=300", "ops=all", "systems.0.writes=back")
    other = made(tmp_path, name="other", description="of another experiment")
    assert differing(tmp_path) == {
        first: "ops=reads, tiers.0.capacity=200, systems.lru.writes=through",
        larger: "ops=reads, tiers.0.capacity=300, systems.lru.writes=through",
        back: "ops=all, tiers.0.capacity=300, systems.lru.writes=back",
        other: None,
    }


def test_systems_and_requests_that_differ(tmp_path: Path) -> None:
    alone = made(tmp_path)
    both = made(tmp_path, "systems=[lru, static]")
    assert differing(tmp_path) == {alone: "", both: "systems=+static"}
    shutil.rmtree(tmp_path / both)
    seeded = made(tmp_path, "seed=4")
    assert differing(tmp_path) == {alone: "seed=null", seeded: "seed=4"}


def test_damaged_runs_are_left_out(tmp_path: Path) -> None:
    first, second = made(tmp_path), made(tmp_path, "seed=2")
    (tmp_path / second / "spec.yaml").write_bytes(b"\xff")
    assert differing(tmp_path) == {first: None, second: None}
    (tmp_path / second / "spec.yaml").unlink()
    assert differing(tmp_path) == {first: None, second: None}
    (tmp_path / first / "environment.json").write_text("{}")
    assert differing(tmp_path) == {first: None, second: None}


def test_devices_that_differ_hide_their_values(tmp_path: Path) -> None:
    """Also of tiers that a run lacks."""
    one = made(tmp_path)
    other = made(tmp_path, "tiers.0={device: flash, capacity: 200}")
    two = made(tmp_path, "tiers=[{device: dram, capacity: 9}, {device: flash, capacity: 200}]")
    assert differing(tmp_path) == {
        one: "tiers.0.device=dram, tiers.0.capacity=200",
        other: "tiers.0.device=flash, tiers.0.capacity=200",
        two: "tiers.0.device=dram, tiers.0.capacity=9, tiers.1.device=flash, tiers.1.capacity=200",
    }
