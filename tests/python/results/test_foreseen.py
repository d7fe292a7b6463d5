"""Whoever knows what is to come is marked as a yardstick, wherever results are shown.

Trusts: what the systems of this test ask for.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from rich.console import Console, RenderableType
from small import small_experiment

import mcsim
from mcsim._core import engine
from mcsim.cli.main import main
from mcsim.experiment.allocator import Decision, Observation
from mcsim.report.make import report
from mcsim.results import packs
from mcsim.results.render import render_comparison, render_systems
from mcsim.results.results import Results
from mcsim.results.yardsticks import render_yardsticks, yardsticks


class Oracle:
    """Looks at what is to come, and leaves all as it is."""

    timers: ClassVar = {"sizes": {"every": "30min", "at_start": True}}
    meters: ClassVar = {"next": {"meter": "curve", "foresight": "next"}}

    def allocate(self, seen: Observation) -> Decision:
        return Decision(seen.current)


class Plain:
    """Does not."""

    def allocate(self, seen: Observation) -> None:
        pass


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    spec = small_experiment(
        "lru",
        {"name": "clairvoyant", "label": "seer"},
        {"name": Oracle, "label": "mine"},
        {"name": Plain, "label": "plain"},
        "hindsight",
        tiers={"dram": 400},
        interval="30min",
    )
    return mcsim.run(spec, out=tmp_path_factory.mktemp("out"), figures=False)


NOTE = (
    "yardsticks, which know what is to come: seer (the next interval), mine (the next interval), "
    "hindsight (the whole trace)"
)


def test_results_mark_whoever_looks_ahead(results: Results) -> None:
    known = {"seer": "next", "mine": "next", "hindsight": "whole"}
    assert results.foresight == known
    assert results.environment["foresight"] == known
    held = yardsticks(results).to_pylist()
    assert {row["system"]: row["foresight"] for row in held} == {
        "lru": None,
        "plain": None,
        **known,
    }
    log = (results.path / "log.txt").read_text(encoding="utf-8")
    for title, what in known.items():
        text = {"next": "the next interval", "whole": "the whole trace"}[what]
        assert f"{title}: it knows {text} beforehand: a yardstick" in log
    assert "plain: it knows" not in log


@pytest.mark.parametrize("render", [render_comparison, render_systems, render_yardsticks])
def test_tables_say_who_is_a_yardstick(
    results: Results, render: Callable[[Results], RenderableType]
) -> None:
    out = io.StringIO()
    Console(file=out, width=200).print(render(results))
    assert NOTE in " ".join(out.getvalue().split())


def test_pages_say_who_is_a_yardstick(results: Results, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    report(results, html=page)
    text = page.read_text(encoding="utf-8")
    assert text.count(f"{NOTE[:1].upper()}{NOTE[1:]}.") == 2
    assert "a system of the user&#39;s; a yardstick that knows the next interval beforehand" in text


def test_results_of_before_are_marked_by_the_names_of_their_systems(results: Results) -> None:
    old = Results(results.path)
    vars(old)["environment"] = {
        name: value for name, value in results.environment.items() if name != "foresight"
    }
    assert old.foresight == {"seer": "next", "hindsight": "whole"}


def test_tables_of_sweeps_mark_yardsticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = small_experiment(
        "lru",
        "clairvoyant",
        "hindsight",
        tiers={"dram": 400},
        name="sizes",
        interval="1h",
        sweep={"tiers.0.capacity_blocks": [300, 500]},
    )

    def marks(out: Path) -> set[tuple[str, str | None]]:
        table = mcsim.sweep(spec, out=out).table()
        assert len(table) == 2 * 3 * 4
        return set(zip(*(table[name].to_pylist() for name in ("system", "foresight")), strict=True))

    known = {("lru", None), ("clairvoyant", "next"), ("hindsight", "whole")}
    assert marks(tmp_path / "now") == known
    with monkeypatch.context() as patch:
        before = packs.SUMMARY.remove(packs.SUMMARY.get_field_index("foresight"))
        patch.setattr(packs, "SUMMARY", before)
        mcsim.sweep(spec, out=tmp_path / "before")
    assert marks(tmp_path / "before") == {(system, None) for system, _ in known}


def test_describe_says_which_systems_are_yardsticks(capsys: pytest.CaptureFixture[str]) -> None:
    for entry in engine.describe_systems():
        name = entry["name"]
        main(["describe", name])
        said = capsys.readouterr().out
        known = {"hindsight": "the whole trace", "clairvoyant": "the next interval"}.get(name)
        mark = f"A yardstick: it knows {known} beforehand, and tables say so."
        assert (mark in said) == (known is not None), name
        assert ("yardstick: it knows" in said) == (known is not None), name
