"""Trusts: replays of the policies that the table of libraries names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from library_hits import HITS, TRACES, WITHIN, points, simulated, table
from small import ROOT, small_experiment

import mcsim as mc
from mcsim._core import policies as core
from mcsim.base.errors import ConfigError
from mcsim.cli.main import cli
from mcsim.experiment.code import Code, Permission
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.runner import draws_random_numbers
from mcsim.policies.specs import parse_policies


def some_keys() -> np.ndarray:
    """Return keys of which the low ones come more often."""
    return (2000 * np.random.default_rng(1).random(20_000) ** 3).astype(np.int64)


def test_a_name_is_the_policy_and_results_have_its_version() -> None:
    keys = some_keys()
    named = [entry for entry in core.describe_libraries() if entry["policy"]]
    assert len(named) > 15
    rows = mc.simulate(keys, [entry["name"] for entry in named], [100])
    expected = mc.simulate(keys, [entry["policy"] for entry in named], [100])
    assert rows.hits.tolist() == expected.hits.tolist()
    assert rows.policy.tolist() == [f"{of['name']}(version={of['version']})" for of in named]
    assert mc.library_versions() == {
        entry["name"]: entry["version"] for entry in core.describe_libraries()
    }
    assert not set(mc.library_versions()) & {*mc.policy_names(), *mc.wrapper_names()}
    assert "moka" not in [spec.name for spec in parse_policies("all")]


def test_a_library_without_a_policy_says_why() -> None:
    with pytest.raises(ConfigError, match=r"ristretto: no policy has the hits of 2\.4\.2:"):
        mc.simulate([1, 2, 3], "ristretto", [1])
    with pytest.raises(ConfigError, match=r"moka: version: expected 0\.12\.16, got '1'"):
        mc.simulate([1, 2, 3], "moka(version=1)", [1])
    assert "Policy: none" in mc.describe("stretto")


def test_they_are_listed_and_described() -> None:
    listed = CliRunner().invoke(cli, ["list", "libraries"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in mc.library_versions())
    text = mc.describe("golang-lru-2q")
    assert "golang-lru-2q (library)" in text
    assert "Policy: 2q(variant=golang-lru)" in text
    assert "version = 2.0.7" in text


def test_they_are_policies_of_tiers_and_wrappers(tmp_path: Path) -> None:
    def hits(policy: str) -> list[int]:
        system = {"name": "hierarchy", "policy": policy}
        results = mc.run(
            small_experiment(system, tiers={"dram": 20, "flash": 80}),
            out=tmp_path / policy,
            figures=False,
        )
        return [int(hits) for hits in results.table("metrics")["hits"].to_pylist()]

    assert hits("golang-lru-2q") == hits("2q(variant=golang-lru)")
    assert hits("moka") == hits("tinylfu(start=0.5)")
    assert sum(hits("guava")) > 0
    keys = some_keys()
    rows = mc.simulate(keys, ["shards(policy=quick-lru)", "shards(policy=generations)"], [100])
    assert rows.hits[0] == rows.hits[1] > 0


def test_the_seed_counts_where_their_policies_draw() -> None:
    code = Code(Path(), Permission.of(False))

    def draws(policy: str) -> bool:
        system = {"name": "hierarchy", "policy": policy}
        experiment = Experiment.load(small_experiment(system, tiers={"dram": 9}))
        return draws_random_numbers(experiment.spec.systems[0], code)

    assert draws("guava")
    assert not draws("golang-lru-2q")


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("library", HITS)
def test_policies_hit_as_libraries_did(library: str, trace: str) -> None:
    place = TRACES.index(trace)
    hits, counted = simulated(library, trace), HITS[library][place]
    if library not in WITHIN:
        assert tuple(hits) == counted
        return
    assert points(hits, counted, trace) <= WITHIN[library][place]


def test_the_guide_has_the_differences() -> None:
    guide = (ROOT / "docs" / "how-to" / "libraries.md").read_text(encoding="utf-8")
    assert table() in guide
