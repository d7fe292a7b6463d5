"""Systems with foresight are marked as yardsticks in all outputs.

Trusts: the meters that the systems of this test read.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import made_up
import pyarrow as pa
import pytest
from commands import rendered
from small import small_experiment

import mcsim
from mcsim._core import engine
from mcsim.cli.main import main
from mcsim.experiment.allocator import Decision, Observation
from mcsim.figures.looks import best_first
from mcsim.report.make import charts_of, compared, occupancy_charts, report
from mcsim.report.run_parts import run_tables
from mcsim.report.tables import Table
from mcsim.results import packs
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError, baseline
from mcsim.results.views import overview, result_table


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
    held = results.yardsticks()
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


@pytest.mark.parametrize("name", ["overview", "comparison", "yardsticks"])
def test_tables_say_who_is_a_yardstick(results: Results, name: str) -> None:
    assert NOTE in rendered(getattr(results, name)())


def test_pages_say_who_is_a_yardstick(results: Results, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    report(results, html=page)
    text = page.read_text(encoding="utf-8")
    assert text.count(f"{NOTE[:1].upper()}{NOTE[1:]}.") == 3
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
        sweep={"tiers.0.capacity": [300, 500]},
    )

    def marks(out: Path) -> set[tuple[str, str | None]]:
        table = mcsim.sweep(spec, out=out).to_arrow()
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


YARDSTICKS = {"seer", "mine", "hindsight"}
REALISABLE = {"lru", "plain"}
TABLES = ["overview", "comparison", "systems", "yardsticks", "requests", "devices"]


@pytest.mark.parametrize("name", TABLES)
def test_tables_list_yardsticks_below_the_others(results: Results, name: str) -> None:
    table = overview(results) if name == "overview" else result_table(results, name)
    shown = table.formatted()
    system = list(shown.headings).index("system")
    vm = list(shown.headings).index("VM") if "VM" in shown.headings else None
    by_vm: dict[str, list[str]] = {}
    for row, style in zip(shown.rows, shown.styles, strict=True):
        by_vm.setdefault("" if vm is None else row[vm], []).append(row[system])
        assert (style == "yardstick") == (row[system] in YARDSTICKS)
    assert (len(by_vm) > 1) == (name == "comparison")
    for titles in by_vm.values():
        order = list(dict.fromkeys(titles))
        assert set(order[:2]) == REALISABLE
        assert set(order[2:]) == YARDSTICKS


def test_no_yardstick_is_set_in_bold(results: Results) -> None:
    shown = results.comparison().formatted()
    rows = zip(shown.rows, shown.styles, strict=True)
    # Both hit the same: the first is bold, and only in the rows of all VMs.
    assert [(row[0], row[1]) for row, style in rows if style == "best"] == [("all", "lru")]
    table = run_tables(results)[0]
    titles = [
        row[list(table.heads).index("system")].text
        for row, style in zip(table.rows, table.styles, strict=True)
        if style == "best"
    ]
    assert titles == ["lru"]


def test_pages_list_yardsticks_below_the_others(results: Results) -> None:
    for table in run_tables(results):
        titles = [row[list(table.heads).index("system")].text for row in table.rows]
        assert set(titles) == YARDSTICKS | REALISABLE
        last = [title in YARDSTICKS for title in titles]
        assert "VM" in table.heads or last == sorted(last)
    (joined,) = [
        of for of in compared([results]) if isinstance(of, Table) and of.title[:3] == "All"
    ]
    assert [row[1].text for row in joined.rows][-1] == "hindsight"
    shown = results._repr_html_()
    assert shown.index(">plain<") < shown.index(">seer<")
    assert NOTE in shown


def made(tmp_path: Path, *systems: str) -> Results:
    """Write a run in which each system hits more than the one before."""
    spec = made_up.spec_of(["a"], (10, 20), systems, "1h")
    metrics, vms = [], []
    for hits, system in enumerate(systems, 1):
        vms.append(made_up.of_vm(system, 0, "a", 0, 10, 10 - hits))
        metrics += [made_up.of_tier(system, 0, "a", tier, hits * (1 - tier)) for tier in (0, 1)]
    curve = {"vm": "a", "scope": "trace", "capacity": 10, "hits": 2, "accesses": 10}
    curves = pa.Table.from_pylist([curve])
    return made_up.written(tmp_path, "made-0", spec, metrics, vms, curves=curves)


def test_a_yardstick_never_wins(tmp_path: Path) -> None:
    said = " ".join(
        chart.caption for chart in charts_of(made(tmp_path, "lru", "static", "hindsight"))
    )
    assert "static hits most (20.00 %), lru least (10.00 %)" in said
    assert "static waits least" in said
    assert "hindsight" not in said


def test_a_yardstick_is_neither_the_baseline_nor_what_a_run_is_about(tmp_path: Path) -> None:
    results = made(tmp_path, "clairvoyant", "static", "karma", "hindsight")
    assert (baseline(results).title, best_first(results)[0].title) == ("static", "karma")
    titles = [chart.title for chart in occupancy_charts(results)]
    assert titles == [
        f"Occupancy of {tier} under {label}"
        for label in ("karma", "static")
        for tier in ("dram", "flash")
    ]


def test_of_yardsticks_alone_there_is_no_baseline(tmp_path: Path) -> None:
    results = made(tmp_path, "clairvoyant", "hindsight")
    with pytest.raises(CannotDrawError, match="needs a system that is no yardstick"):
        baseline(results)
    assert not list(occupancy_charts(results))
    assert not [chart for chart in charts_of(results) if "most" in chart.caption]
