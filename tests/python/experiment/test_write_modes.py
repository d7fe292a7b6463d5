"""Modes of writing by tier, from YAML and from decisions: what is counted, recorded and refused.

Trusts: sums that follow from the meaning of a mode, and equivalent notations of modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc
import pytest
from complaints import complaint
from small import TINY, small_experiment

import mcsim
from mcsim.experiment.experiment import Experiment


def spec(name: str, *systems: dict[str, Any]) -> dict[str, Any]:
    return small_experiment(
        *systems, tiers={"dram": 300, "flash": 900}, name=name, ops="all", interval="30min"
    )


def sums(results: mcsim.Results, table: str, column: str, tier: int | None = None) -> list[int]:
    """Sum a column by system, in their order."""
    rows = results.to_arrow(table)
    if tier is not None:
        rows = rows.filter(pc.equal(rows["tier"], tier))
    by_system: dict[str, int] = {}
    for system, value in zip(rows["system"].to_pylist(), rows[column].to_pylist(), strict=True):
        by_system[system] = by_system.get(system, 0) + value
    return list(by_system.values())


class Decides:
    """Decides the same modes at the first interval that ends."""

    data_path: ClassVar = {"chain": "victim", "writes": "back"}

    def __init__(self, modes: Any = None) -> None:
        self.modes = modes

    def allocate(self, seen: mcsim.Observation) -> mcsim.Decision:
        modes = self.modes
        if modes == "array":
            modes = np.array([["through"] * len(seen.vms), ["back"] * len(seen.vms)])
        elif modes == "lists":
            modes = [("through",) * len(seen.vms), ["back"] * len(seen.vms)]
        elif modes == "by VM":
            modes = ["through"] * len(seen.vms)
        return mcsim.Decision(write_modes=modes)


def test_vms_wait_for_the_first_tier_that_writes_back(tmp_path: Path) -> None:
    modes = [
        "through",
        "back",
        "through / back",
        "around / back",
        "back / through",
        "back / around",
    ]
    systems = [
        {"name": "hierarchy", "label": mode, "chain": "victim", "writes": mode} for mode in modes
    ]
    results = mcsim.run(spec("waits", *systems), out=tmp_path, figures=False)
    writes = sums(results, "vms", "writes")[0]
    of_memory = sums(results, "metrics", "writes_served", 0)
    of_flash = sums(results, "metrics", "writes_served", 1)
    assert of_memory == [0, writes, 0, 0, writes, writes]
    assert of_flash == [0, 0, writes, writes, 0, 0]
    assert sums(results, "vms", "writes_served") == [writes, 0, 0, 0, 0, 0]
    backend = sums(results, "vms", "backend_writes")
    assert backend[1:] == sums(results, "vms", "write_backs")[1:]
    # Memory writes back through the flash; dirty blocks of the flash stay longer.
    assert backend[0] == writes > backend[4] > max(backend[1:4])
    # Both are hit alike: copies are where they are when all is written through.
    hits = sums(results, "metrics", "hits")
    assert hits[4] == hits[1]


def test_decisions_by_tier_are_what_yaml_says_and_are_recorded(tmp_path: Path) -> None:
    systems = [
        {"name": Decides, "label": label, "modes": label or None}
        for label in ("array", "lists", "by VM")
    ]
    yaml = {"name": "static", "label": "yaml", "chain": "victim", "writes": "through / back"}
    results = mcsim.run(spec("decides", *systems, yaml), out=tmp_path, figures=False)
    rows = results.decisions().to_arrow().to_pylist()
    said = {row["system"]: row["write_modes"] for row in rows}
    vms = len(said["by VM"])
    assert said["array"] == said["lists"] == ["through / back"] * vms
    assert said["by VM"] == ["through"] * vms
    dirty = results.to_arrow("vms")
    last = dirty["interval"].to_numpy().max()
    dirty = dirty.filter(pc.equal(dirty["interval"], last))
    held = {
        system: dirty.filter(pc.equal(dirty["system"], system))["dirty"].to_pylist()
        for system in said
    }
    assert held["array"] == held["lists"] != held["by VM"]
    assert sum(held["by VM"]) == 0 < sum(held["array"])
    none = mcsim.run(spec("none", {"name": Decides}), out=tmp_path, figures=False)
    assert "write_modes" not in none.decisions().to_arrow().column_names


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (
            "{name: hierarchy, writes: through / back}",
            "systems[0]: hierarchy: writes: an exclusive chain has one copy of a block, which "
            "cannot be written through in one tier and back in another; victim, inclusive and "
            "independent chains have several",
        ),
        (
            "{name: static, chain: inclusive, writes: 'back, friendly=back / around'}",
            "it cannot be written around below one that is written back; the order is around, "
            "through, back",
        ),
        (
            "{name: hierarchy, chain: victim, writes: back / back / back}",
            "writes: 3 entries for 2 tiers",
        ),
        (
            "{name: hierarchy, chain: victim, writes: back / forth}",
            "writes: unknown choice 'forth' (one of through, back, around)",
        ),
        (
            "{name: 'by_tier:ByTier', chain: exclusive}",
            "systems[0]: ByTier.actions: decisions change write_modes_by_tier; the host can change "
            "targets, write_modes, admits",
        ),
    ],
)
def test_what_a_chain_cannot_do_is_refused_with_file_and_line(
    tmp_path: Path, system: str, message: str
) -> None:
    (tmp_path / "by_tier.py").write_text(
        "class ByTier:\n"
        "    actions = ['write_modes_by_tier']\n"
        "    def __init__(self, chain):\n"
        "        self.data_path = {'chain': chain}\n"
        "    def allocate(self, seen):\n"
        "        return None\n"
    )
    file = tmp_path / "mine.yaml"
    file.write_text(
        f"name: mine\nops: all\ninterval: 10min\nworkload: {{profile: {TINY}}}\n"
        "tiers: [{device: dram, capacity: 40}, {device: flash, capacity: 90}]\n"
        f"systems:\n  - {system}\n"
    )
    said = complaint(Experiment.load, file, allow_code=True)
    assert "mine.yaml:7: " in said
    assert message in said
    if "ByTier" in system:
        file.write_text(file.read_text().replace("exclusive", "independent"))
        Experiment.load(file, allow_code=True)


class Says(Decides):
    """Returns a given decision, and declares its actions."""

    def __init__(self, modes: Any, actions: Sequence[str] | None = None) -> None:
        super().__init__()
        self.said = modes
        if actions is not None:
            self.actions = actions

    def allocate(self, seen: mcsim.Observation) -> mcsim.Decision:
        return mcsim.Decision(write_modes=self.said)


@pytest.mark.parametrize(
    ("modes", "actions", "message"),
    [
        ([["back"], ["back"]], None, "allocate() of interval 0: 1 write mode for "),
        ([["back"]], None, "allocate() of interval 0: write modes of 1 tier, and there are 2"),
        (
            [["back", 1], ["back"]],
            None,
            "expected names of write modes, got [['back', 1], ['back']]",
        ),
        ([], None, "expected names of write modes, got []"),
        (
            [["back"], ["back"]],
            ["targets", "write_modes"],
            "write_modes_by_tier decided, and `actions` has targets, write_modes",
        ),
    ],
)
def test_wrong_modes_are_named(
    tmp_path: Path, modes: Any, actions: Sequence[str] | None, message: str
) -> None:
    allocator = type(
        "Says", (Says,), {"__init__": lambda self: Says.__init__(self, modes, actions)}
    )
    assert message in complaint(
        mcsim.run, spec("wrong", {"name": allocator}), out=tmp_path, figures=False
    )
