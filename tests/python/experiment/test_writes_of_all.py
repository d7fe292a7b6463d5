"""The write mode of all systems: equal to that of each, and refused by some systems.

Trusts: runs whose systems state their own mode; hits counted by a replay.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from complaints import complaint
from small import small_experiment

import mcsim
from mcsim.base.errors import ConfigError
from mcsim.experiment.experiment import Experiment
from mcsim.results.data_paths import data_paths
from mcsim.results.schemas import SCHEMAS

FOLLOWERS = (
    *("lru", "single-tier", "static", "hierarchy", "multicache", "vcacheshare", "centaur"),
    *("hindsight", "clairvoyant"),
)
# In the last one, a third of the VMs has another mode.
MODES = ("through", "back", "around", "back, cyclic=around")


def spec(*systems: Any, **more: Any) -> dict[str, Any]:
    return small_experiment(
        *systems, tiers={"dram": 300, "flash": 900}, ops="all", interval="30min", **more
    )


class Equal:
    """Divides nothing, and states no write mode."""

    def allocate(self, seen: Any) -> None:
        return None


class Stubborn(Equal):
    data_path: ClassVar = {"writes": "around"}


class Classed(Equal):
    host = "classed"


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_of_all_systems_is_that_of_each(tmp_path: Path, mode: str) -> None:
    each = [{"name": name, "writes": mode} for name in FOLLOWERS]
    one = mcsim.run(spec(*FOLLOWERS, writes=mode), out=tmp_path / "all", figures=False)
    other = mcsim.run(spec(*each), out=tmp_path / "each", figures=False)
    for name in SCHEMAS:
        assert one.to_arrow(name).equals(other.to_arrow(name)), name
    assert one.run_id == other.run_id
    assert {path.writes for path in data_paths(one).values()} == {mode}


def test_lru_writes_as_a_hierarchy_of_lru_does(tmp_path: Path) -> None:
    # A limit of dirty blocks that none reaches takes another path through the core.
    same = {"name": "hierarchy", "label": "same", "dirty_limit": 0.999}
    for mode in MODES:
        results = mcsim.run(spec("lru", same, writes=mode), out=tmp_path, figures=False)
        for table in ("metrics", "vms"):
            of_each = results.to_arrow(table).to_pandas().groupby("system")
            lru, other = (
                of_each.get_group(title).drop(columns="system").reset_index(drop=True)
                for title in ("lru", "same")
            )
            assert lru.equals(other), (mode, table)


@pytest.mark.parametrize("mode", MODES)
def test_hindsight_hits_what_it_predicts(tmp_path: Path, mode: str) -> None:
    results = mcsim.run(spec("lru", "hindsight", writes=mode), out=tmp_path, figures=False)
    decisions = results.to_arrow("decisions").to_pylist()
    (predicted,) = {row["objective"] for row in decisions if row["system"] == "hindsight"}
    rows = results.to_arrow("metrics").to_pylist()
    assert sum(row["hits"] for row in rows if row["system"] == "hindsight") == predicted


def test_a_system_may_state_its_own(tmp_path: Path) -> None:
    own = {"name": "static", "writes": "through"}
    chosen = {"name": "eci-cache", "writes": "back"}
    given = spec("lru", own, chosen, "hystor", Equal, Stubborn, writes="back")
    results = mcsim.run(given, out=tmp_path, figures=False)
    modes = {title: path.writes for title, path in data_paths(results).items()}
    equal, stubborn = (f"{__name__}:{of.__name__}" for of in (Equal, Stubborn))
    assert modes.pop("eci-cache") in ("back", "around or back")
    assert modes == {
        "lru": "back",
        "static": "through",
        "hystor": "in place",
        next(title for title in modes if title.endswith(equal.split(":")[1])): "back",
        next(title for title in modes if title.endswith(stubborn.split(":")[1])): "around",
    }


def test_classes_follow(tmp_path: Path) -> None:
    # Static parts of equal size, as `static` has.
    results = mcsim.run(
        spec("static", {"name": Equal, "label": "mine"}, writes="back"), out=tmp_path, figures=False
    )
    rows = results.to_arrow("vms").to_pylist()
    counts = [
        [(row["write_backs"], row["writes_served"]) for row in rows if row["system"] == title]
        for title in ("static", "mine")
    ]
    assert counts[0] == counts[1]
    assert any(count for count, _ in counts[0])
    other = Experiment.load(spec({"name": Equal, "label": "mine"}, writes="through"))
    assert other.run_id([]) != Experiment.load(spec({"name": Equal, "label": "mine"})).run_id([])


@pytest.mark.parametrize(
    ("system", "mode", "message"),
    [
        ("dss", "back", "dss writes through, never back: leave out the `writes` of all systems"),
        ("eci-cache", "back", "eci-cache chooses the write mode of each VM itself: give it"),
        ({"name": "lru", "legacy": True}, "back", "the authors' baseline (legacy) writes through"),
        ({"name": Classed, "label": "c"}, "back", "a classed host writes through, never back"),
        ("lru", "bakc", "spec: writes: unknown choice 'bakc' (one of through, back, around)"),
        ("lru", ["through", "back"], "an exclusive chain has one copy of a block"),
        ("static", ["through", "back", "back"], "spec: writes: 3 entries for 2 tiers"),
    ],
)
def test_systems_that_cannot_follow_are_refused(system: Any, mode: Any, message: str) -> None:
    found = complaint(Experiment.load, spec(system, writes=mode))
    assert message in found


def test_systems_that_write_through_alone_follow_that() -> None:
    systems = ("dss", {"name": "lru", "legacy": True}, {"name": Classed, "label": "c"})
    assert len(Experiment.load(spec(*systems, writes="through")).spec.systems) == 3


def test_a_mode_that_changes_nothing_is_noticed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="mcsim")
    reads = spec("lru", writes="back") | {"ops": "reads"}
    for given, why in (
        (reads, "reads alone are replayed"),
        (spec({"name": "lru", "writes": "through"}, writes="back"), "every system states its own"),
    ):
        caplog.clear()
        mcsim.run(given, out=tmp_path, figures=False)
        assert f"writes: it changes nothing: {why}" in caplog.text
    caplog.clear()
    mcsim.run(spec("lru", writes="back"), out=tmp_path, figures=False)
    assert "changes nothing" not in caplog.text


def test_an_override_sets_the_mode_of_all() -> None:
    loaded = Experiment.load(spec("lru", "static"), ["writes=around"])
    assert [system.params["writes"] for system in loaded.spec.systems] == ["around", "around"]
    with pytest.raises(ConfigError, match="--set writes=bakc: writes: unknown choice"):
        Experiment.load(spec("lru"), ["writes=bakc"])
