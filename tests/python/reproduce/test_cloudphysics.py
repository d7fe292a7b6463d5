# Trusts: distances counted by hand, replays, all orders of a few references, and the laws of LRU.
from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import code_of
from plotted import unmeasured, unplotted
from small import EXPERIMENTS

from mcsim.cli.main import main
from mcsim.config.profile import read_profile
from mcsim.policies.simulation import simulate
from mcsim.reproduce.catalogue import Check, Found
from mcsim.reproduce.context import QUICK_SHARE, Context
from mcsim.reproduce.documents.cloudphysics.curves import find_example
from mcsim.reproduce.documents.cloudphysics.customers import (
    Customer,
    customers,
    customers_trace,
    shared_by,
)
from mcsim.reproduce.documents.cloudphysics.figures import FIGURES
from mcsim.reproduce.documents.cloudphysics.sharing import SHARES, mixes
from mcsim.reproduce.published import read_notes, read_published
from mcsim.reproduce.reproduction import Reproduction, reproduce

FOLDER = EXPERIMENTS / "reproduce" / "cloudphysics"


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    out = tmp_path_factory.mktemp("cloudphysics")
    return reproduce("cloudphysics", quick=True, trace_dirs=[], out=out)


@pytest.fixture(scope="module")
def found(quick: Reproduction) -> dict[str, Found]:
    return {o.figure.name.partition("/")[2]: o.finding.found for o in quick.outcomes}


def test_mattsons_example() -> None:
    # D W C Y Z A X before; then C: Y Z A X. A: X C B. D: W C Y Z A X B. A: D. B: A D. C: B A D.
    found = find_example(Context())
    assert found.values == {"distances": "4 ∞ 3 7 1 2 3"}
    assert found.checks[0].holds


def test_every_shape_holds_in_a_sample(quick: Reproduction) -> None:
    assert quick.failures == []
    assert unmeasured(quick) == []
    assert len(quick.outcomes) == len(FIGURES)
    for outcome in quick.outcomes:
        assert not (outcome.finding.found.recorded and "synthetic" in outcome.ran)
        assert outcome.finding.found.checks


def test_parts_conserve_what_there_is(found: dict[str, Found]) -> None:
    rows = found["partition"].tables["mixes"].to_pylist()
    assert {row["size"] for row in rows} == set(SHARES)
    for row in rows:
        assert sum(row["parts"]) == row["blocks"]
        assert row["parts_misses"] <= row["equal_misses"] + len(row["parts"])
        assert row["size_gain"] == row["effective_blocks"] / row["blocks"] - 1
        assert (row["size_gain"] > 0) == (row["parts_misses"] < row["shared_misses"])


def test_what_is_predicted_is_replayed(found: dict[str, Found]) -> None:
    for figure in ("partition", "sizing", "whatif", "gallery"):
        replayed = [check for check in found[figure].checks if "replay" in check.claim]
        assert replayed
        assert all(check.holds for check in replayed)


def test_what_is_shown_is_drawn(quick: Reproduction) -> None:
    for outcome in quick.outcomes:
        stems = {path.stem for path in outcome.finding.drawn if path.suffix == ".png"}
        for plot in outcome.finding.found.plots:
            title = re.sub("[^a-z0-9]+", "-", plot.title.lower()).strip("-")
            assert any(stem.startswith(title) for stem in stems), plot.title
    for outcome in quick.outcomes:
        for path in outcome.finding.drawn:
            assert path.stat().st_size > 5000


def test_numbers_and_notes_are_of_figures_that_there_are(found: dict[str, Found]) -> None:
    for entry in read_published(FOLDER):
        assert entry.figure in found
        assert entry.item in found[entry.figure].values or "t04" in entry.text
    items = {(entry.figure, entry.item) for entry in read_published(FOLDER)}
    for note in read_notes(FOLDER):
        claims = {(note.figure, check.claim) for check in found[note.figure].checks}
        assert (note.figure, note.about) in items | claims


def test_the_fleet_has_the_footprints_of_the_hundred_and_six() -> None:
    disks = read_profile(EXPERIMENTS / "workloads" / "cloud106.yaml").vms
    assert len(disks) == 24
    found = customers(Context())
    assert [one.name for one in found] == list(disks)
    assert not any(one.recorded for one in found)
    gigabytes = np.array([one.unique * 64 * 16384 / 1e9 for one in found])
    # The quantiles, but for blocks that are never touched, or touched beyond them.
    assert 15.7 * 0.75 < np.quantile(gigabytes, 0.25) < 15.7 * 1.25
    assert 34 * 0.75 < np.median(gigabytes) < 34 * 1.25
    assert gigabytes.max() < 200 * 1.25


def test_a_shape_that_fails_is_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["reproduce", "cloudphysics/example", "--check", "--results", str(tmp_path), "-q"]
    main(asked)
    fails = Found(checks=[Check("pigs fly", False, "none does")], ran=["nothing"])
    wrong = replace(FIGURES[0], find=lambda _: fails)
    module = importlib.import_module("mcsim.reproduce.documents.cloudphysics.figures")
    monkeypatch.setattr(module, "FIGURES", (wrong,))
    assert code_of(*asked, "--force") == 1
    assert (
        "mcsim: cloudphysics/example: pigs fly: none does: does not hold" in capsys.readouterr().err
    )


def some(name: str, ids: list[int]) -> Customer:
    keys = np.array(ids, np.uint32)
    return Customer(name, keys, int(keys.max()) + 1, 4096, "own", recorded=False)


def test_customers_share_in_proportion() -> None:
    of = shared_by([some("a", [0, 1, 0, 1]), some("b", [0, 0])])
    assert of.vms == ("a", "b")
    assert of.ids.tolist() == [0, 2, 1, 0, 2, 1]


def test_a_sample_has_a_share_of_the_blocks_and_all_their_references() -> None:
    one = some("one", [*np.random.default_rng(1).permutation(40_000), *range(40_000)])
    sampled = one.sampled(QUICK_SHARE)
    assert sampled.unique == pytest.approx(40_000 * QUICK_SHARE, rel=0.05)
    assert sorted(set(sampled.ids.tolist())) == list(range(sampled.unique))
    assert sampled.sampled(1 - 2**-32).ids.tolist() == sampled.ids.tolist()


def test_mixes_are_drawn_by_their_seed() -> None:
    several = [some(str(number), [0]) for number in range(12)]
    drawn = mixes(several, 27, 1)
    assert [[one.name for one in mix] for mix in mixes(several, 27, 1)] == [
        [one.name for one in mix] for mix in drawn
    ]
    assert {len(mix) for mix in drawn} == {3, 4, 5, 6}
    assert all(len({one.name for one in mix}) == len(mix) for mix in drawn)


def test_recorded_customers_are_taken_where_there_are_any(tmp_path: Path) -> None:
    keys = [k % 7 for k in range(50)]
    (tmp_path / "sprite.txt").write_text("".join(f"{key}\n" for key in keys))
    context = Context(trace_dirs=[tmp_path])
    (one,) = customers(context)
    assert (one.name, one.recorded, one.unique) == ("sprite", True, 7)
    assert simulate(one.ids, "lru", [7]).hits.tolist() == [43]
    assert customers_trace("sprite", context) is not None
    assert customers_trace("OLTP", context) is None
    assert [other.recorded for other in customers(context, ("own",))] == 24 * [False]


def test_what_is_a_series_is_plotted(quick: Reproduction) -> None:
    assert unplotted(quick) == {"cloudphysics/example", "cloudphysics/monitoring"}
