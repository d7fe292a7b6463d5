"""Trusts: the list of published parameters; the help of all others names the gap."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from mcsim._core import engine

# Published parameters, inputs of users, and switches of the authors' code.
SETTLED = {
    "multicache": {
        "weight", "ri_mode", "block_key", "whole_seconds", "distance_scope", "unique_counter",
        "distance_limit", "split_grid", "percent_utility", "total_size_weight", "rescale",
        "drifting_timer",
    },
    "ri-shares": {"interval", "intensity"},
    "centaur": {"objective", "baseline"},
    "cloudcache": {"migrate_keep", "on_demand"},
    "karma": {"alpha"},
    "baa": {"fast_iops", "slow_iops"},
    "remoca": {"fails_at", "returns_at"},
    "vfrm": {"counts"},
}  # fmt: skip
NO_PUBLICATION = re.compile("no publication|Joint formulation|Mattson")
SAYS = re.compile(r"\b(source|publi|paper|authors|cite)")
OTHER_WORDS = re.compile("leaves? it open|left open|does not say|not known|unspecified|silent")

SYSTEMS = {system["name"]: system for system in engine.describe_systems()}
DATA_PATH = {param["name"] for param in SYSTEMS["hierarchy"]["params"]}


def own(system: Mapping[str, Any]) -> dict[str, str]:
    """Help of parameters that are neither by VM nor of the data path."""
    return {
        param["name"]: param["help"]
        for param in system["params"]
        if param["name"] not in DATA_PATH and param["kind"] != "per-vm"
    }


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_parameter_tells_whose_its_value_is(name: str) -> None:
    system = SYSTEMS[name]
    told = own(system)
    assert not [param for param, text in told.items() if OTHER_WORDS.search(text)]
    if NO_PUBLICATION.match(system["reference"]):
        return
    silent = {param for param, text in told.items() if not SAYS.search(text)}
    assert silent == SETTLED.get(name, set())
