"""The JSON schema of experiments. Trusts: jsonschema; the registries of the core."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML
from small import EXPERIMENTS, small_experiment

import mcsim as mc
from mcsim.cli.schema import experiment_schema
from mcsim.experiment.catalogue import catalogue

FILE = EXPERIMENTS / "schema.json"
LINE = "# yaml-language-server: $schema="


@cache
def schema() -> dict[str, Any]:
    return experiment_schema()


def faults(experiment: Any) -> list[str]:
    validator = Draft202012Validator(schema())
    return [error.message for error in validator.iter_errors(experiment)]


def files() -> list[Path]:
    every = sorted(EXPERIMENTS.rglob("*.yaml"))
    return [path for path in every if path.read_text(encoding="utf-8").startswith(LINE)]


def test_the_schema_is_one_and_is_that_of_the_file() -> None:
    Draft202012Validator.check_schema(schema())
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    written = json.loads(FILE.read_text(encoding="utf-8"))
    assert written == schema(), "run `mcsim schema > experiments/schema.json`"


def test_every_experiment_names_the_schema() -> None:
    for path in EXPERIMENTS.rglob("*.yaml"):
        nodes = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        is_experiment = {"tiers", "extends"} & set(nodes) if isinstance(nodes, dict) else False
        assert (path in files()) == bool(is_experiment), path
    assert len(files()) > 20


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(EXPERIMENTS)))
def test_experiments_keep_to_it(path: Path) -> None:
    line = path.read_text(encoding="utf-8").splitlines()[0]
    assert (path.parent / line.removeprefix(LINE)).resolve() == FILE
    assert not faults(YAML(typ="safe").load(path.read_text(encoding="utf-8")))


def entries(kind: str) -> dict[str, Any]:
    found = schema()["$defs"][kind]["anyOf"]
    return {
        e["properties"]["name"]["const"] if "properties" in e else e.get("const"): e for e in found
    }


def test_every_component_has_a_typed_entry() -> None:
    every = catalogue()
    for kind in ("system", "optimizer"):
        typed = entries(kind)
        for entry in every[f"{kind}s"]:
            properties = typed[entry["name"]]["properties"]
            for param in entry["params"]:
                of = properties[param["name"]]
                assert of["description"] == param["help"]
                assert "default" in of
                assert {"type", "enum", "anyOf"} & set(of)
    assert set(mc.policy_names()) <= set(entries("policy"))
    assert set(mc.device_names()) <= set(entries("device"))


def test_what_is_written_by_tier_may_be_a_list(tmp_path: Path) -> None:
    tiers = {"dram": 20, "flash": 80}
    given = [
        small_experiment(
            {"name": "hierarchy", "chain": "inclusive", "policy": policy, "writes": writes},
            tiers=tiers,
            ops="all",
        )
        for policy, writes in (
            (["lru", "arc(step=integer)"], ["through", "back"]),
            ("lru / arc(step=integer)", "through / back"),
        )
    ]
    for experiment in given:
        assert not faults(experiment)
    of_lists, of_text = (mc.run(each, out=tmp_path, figures=False).run_id for each in given)
    assert of_lists == of_text


@pytest.mark.parametrize(
    "system",
    [
        "lruu",
        {"name": "lru", "legcy": True},
        {"name": "lru", "legacy": "yes"},
        {"name": "multicache", "grid": 1},
        {"name": "multicache", "grid": 2.5},
        {"name": "hierarchy", "chain": "exclusiv"},
        {"name": "multicache", "optimizer": {"name": "annealing", "iterations": "many"}},
        {"policy": "lru"},
    ],
)
def test_wrong_components_are_faults(system: Any) -> None:
    assert not faults(small_experiment("lru", "mine:Own", tiers={"dram": 5}))
    assert faults(small_experiment(system, tiers={"dram": 5}))


def test_other_faults() -> None:
    good = small_experiment("lru", tiers={"dram": 5})
    for wrong in (
        {"capcity": 5},
        {"tiers": [{"device": "dram", "capacity_blocks": 5}]},
        {"ops": "none"},
        {"interval": None},
        {"sweep": {"seed": 7}},
        {"search": {"objectve": "latency"}},
    ):
        assert faults(good | wrong), wrong
    assert not faults({"name": "x", "extends": "other.yaml"})
    assert faults({"name": "x"})
