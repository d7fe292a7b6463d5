# Trusts: findings made up here, counted as they are asked for; capacities worked by hand; and the
# claims of the catalogue itself, which hold of a sample but for those that its notes tell of.
from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import commands
import pyarrow as pa
import pytest
from commands import files_of_at_most
from plotted import plotted_texts, unmeasured, unplotted
from small import EXPERIMENTS

import mcsim
from mcsim.base import package
from mcsim.base.errors import ConfigError, HostError
from mcsim.base.progress import Reporter
from mcsim.experiment import sources
from mcsim.figures.declared import Plot
from mcsim.figures.looks import looks_of
from mcsim.reproduce import catalogue, reproduction
from mcsim.reproduce import context as context_module
from mcsim.reproduce.catalogue import (
    DOCUMENTS,
    Check,
    Figure,
    Found,
    chosen,
    document_of,
    figures_of,
    system_of,
)
from mcsim.reproduce.context import Context
from mcsim.reproduce.documents.multicache import figures as multicache
from mcsim.reproduce.documents.multicache.servers import _inventory, _servers
from mcsim.reproduce.kept import cause_of
from mcsim.reproduce.published import read_notes, read_published
from mcsim.reproduce.render import in_html
from mcsim.reproduce.verdicts import Verdict
from mcsim.sweeps.plan import read_grid


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    return commands.call(capsys, "reproduce", *arguments)


Stub = Callable[..., Figure]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Make figures of Multi-Cache up; there are no others."""
    made: list[Figure] = []
    monkeypatch.setattr(multicache, "FIGURES", made)
    monkeypatch.setattr(catalogue, "DOCUMENTS", ("multicache",))

    def add(name: str, find: Callable[[Context], Found], seconds: float = 1) -> Figure:
        figure = Figure(f"multicache/{name}", name.upper(), seconds, seconds, "synthetic", find)
        made.append(figure)
        return figure

    return add


def counting(asked: list[str], name: str, **found: Any) -> Callable[[Context], Found]:
    def find(context: Context) -> Found:
        asked.append(name)
        return Found(**found)

    return find


RISES = Check("it rises", True, "1 < 2")
FALLS = Check("it falls", False, "1 < 2")


def test_names_are_of_documents_and_figures() -> None:
    assert [figure.name for figure in chosen(["multicache/fig7", "multicache/fig1"])] == [
        "multicache/fig1",
        "multicache/fig7",
    ]
    assert chosen(["multicache"]) == list(figures_of("multicache"))
    assert len(chosen([])) == sum(len(figures_of(document)) for document in DOCUMENTS)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("multicache/fig41", "no document or figure 'multicache/fig41' (did you mean 'multicache/"),
        ("multicach", "no document or figure 'multicach' (did you mean 'multicache'?); there are "),
        ("multicache/", "see mcsim reproduce --list"),
    ],
)
def test_an_unknown_name_is_told_the_nearest(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = call(capsys, name)
    assert code == 2
    assert said in err


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_printed_is_of_figures_that_there_are(document: str) -> None:
    names = {figure.name.partition("/")[2] for figure in figures_of(document)}
    folder = Context().folder(document)
    published, notes = read_published(folder), read_notes(folder)
    assert {entry.figure for entry in published} <= names
    assert {note.figure for note in notes} <= names
    assert len({(entry.figure, entry.item) for entry in published}) == len(published)


def test_the_list_says_what_is_needed_and_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "multicache/fig14", "multicache/table1", "--list")
    assert code == 0
    assert "multicache/fig14" in out
    assert "Hit ratio by capacity  [web_0 to web_3, prn_0, prn_1 of the MSR Cambridge" in out
    assert "2 figures, at most " in out
    title = "Multi-Cache: Dynamic, Efficient Partitioning for Multi-tier Caches in Consolidated VM"
    assert f"Shaohua Duan, Wei Zhang, Timothy Wood: {title}" in out
    assert "https://doi.org/10.1109/IC2E.2016.10\n" in out


def test_what_was_found_is_not_found_again(tmp_path: Path, stub: Stub) -> None:
    asked: list[str] = []
    table = pa.table({"size": [1, 2], "hits": [0.5, 0.75]})
    found = {"values": {"hits": 3.5}, "checks": [RISES], "tables": {"curve": table}, "ran": ["x"]}
    stub("fig1", counting(asked, "fig1", **found))
    first = mcsim.reproduce("multicache", out=tmp_path)
    again = mcsim.reproduce("multicache", out=tmp_path)
    assert asked == ["fig1"]
    assert again.to_arrow() == first.to_arrow()
    assert again.tables == {"multicache/fig1/curve": table}
    mcsim.reproduce("multicache", out=tmp_path, quick=True)
    mcsim.reproduce("multicache", out=tmp_path, seed=2)
    mcsim.reproduce("multicache", out=tmp_path, seed=2, force=True)
    assert asked == ["fig1"] * 4


def test_a_finding_that_was_kept_has_the_same_page(tmp_path: Path, stub: Stub) -> None:
    asked: list[str] = []
    curve = pa.table({"vm": ["a", "b"], "size": [1, 2], "hits": [0.5, 0.25]})
    plot = Plot(
        "Hits", "They fall.", "curve", "size", "hits", by=["vm"], marks=[(1, "one")],
        looks=looks_of(["b"]),
    )  # fmt: skip
    stub("fig1", counting(asked, "fig1", tables={"curve": curve}, plots=[plot]))
    found, opened = (in_html(mcsim.reproduce(out=tmp_path), "mcsim reproduce") for _ in range(2))
    assert asked == ["fig1"]
    assert found == opened
    assert "They fall. From left to right: b (0.25), a (0.5)." in found


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("curve.parquet", r"(?s).*", "PAR1"),
        ("found.json", r"(?s).*", "[]"),
        ("found.json", r"\}\s*$", ""),
        ("found.json", r'"plots": \[\]', '"plots": [3]'),
        ("found.json", r'"recorded": false', '"recorded": true'),
        ("found.json", r'"checks": \[', '"checks": [5, '),
        ("found.json", r"(?s).*", "[" * 100_000),
    ],
)
def test_a_finding_that_was_damaged_is_found_again(
    tmp_path: Path, stub: Stub, file: str, old: str, new: str
) -> None:
    asked: list[str] = []
    stub("fig1", counting(asked, "fig1", tables={"curve": pa.table({"size": [1]})}))
    mcsim.reproduce(out=tmp_path)
    kept = tmp_path / "reproduce" / "multicache" / "fig1" / file
    damaged, times = re.subn(old, new, kept.read_text("latin-1"), count=1)
    assert times == 1
    kept.write_text(damaged, "latin-1")
    mcsim.reproduce(out=tmp_path)
    assert asked == ["fig1", "fig1"]


def test_traces_that_come_to_be_there_are_looked_at(tmp_path: Path, stub: Stub) -> None:
    asked: list[str] = []
    stub("fig1", counting(asked, "fig1"))
    traces = tmp_path / "traces"
    traces.mkdir()
    mcsim.reproduce(out=tmp_path / "out", trace_dirs=[traces])
    (traces / "web_0.csv").write_text("128166372003061629,web,0,Read,0,4096,1\n", encoding="utf-8")
    mcsim.reproduce(out=tmp_path / "out", trace_dirs=[traces])
    assert asked == ["fig1", "fig1"]


@pytest.mark.parametrize(
    ("document", "file"),
    [
        ("multicache", "reproduce/multicache/web.yaml"),
        ("multicache", "workloads/web.yaml"),
        ("multicache", "reproduce/multicache/terminal.yaml"),
        ("cloudphysics", "reproduce/cloudphysics/promises.yaml"),
        ("cloudphysics", "workloads/promises.yaml"),
        ("multicache", "shared/base.yaml"),
        ("multicache", "shared/deeper.yaml"),
    ],
)
def test_a_finding_comes_from_each_experiment_at_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: str, file: str
) -> None:
    tree = tmp_path / "experiments"
    shutil.copytree(EXPERIMENTS, tree)
    monkeypatch.setattr(context_module, "experiments_folder", lambda: tree)
    # An experiment that extends a file of another folder, which extends one more.
    (tree / "shared").mkdir()
    (tree / "shared" / "base.yaml").write_text("extends: deeper.yaml\nops: all\n")
    (tree / "shared" / "deeper.yaml").write_text("interval: 1h\n")
    own = tree / "reproduce" / "multicache" / "split.yaml"
    own.write_text(f"extends: ../../shared/base.yaml\n{own.read_text('utf-8')}", "utf-8")
    figure = next(iter(figures_of(document)))
    before = cause_of(figure, Context())
    assert cause_of(figure, Context()) == before
    edited = tree / file
    edited.write_text(f"{edited.read_text('utf-8')}\n# edited\n", "utf-8")
    assert cause_of(figure, Context()) != before


def test_a_finding_comes_from_the_modules_that_it_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "experiments"
    shutil.copytree(EXPERIMENTS, tree)
    monkeypatch.setattr(context_module, "experiments_folder", lambda: tree)
    package = tmp_path / "mcsim"
    shutil.copytree(sources.PACKAGE, package, ignore=shutil.ignore_patterns("_core", "__pycache__"))
    monkeypatch.setattr(sources, "PACKAGE", package)
    figures = {of.name: of for of in figures_of("multicache")}
    thesis = {of.name: of for of in figures_of("thesis")}

    def changed_by(figure: Figure, file: Path) -> bool:
        before, content = cause_of(figure, Context()), file.read_bytes()
        file.write_bytes(content + b"\n# edited\n")
        after = cause_of(figure, Context())
        file.write_bytes(content)
        return after != before

    document = tree / "reproduce" / "multicache"
    assert changed_by(figures["multicache/fig10"], document / "gains.py")
    assert changed_by(figures["multicache/fig10"], document / "web.py")  # gains imports it
    assert not changed_by(figures["multicache/fig4"], document / "gains.py")
    assert not changed_by(figures["multicache/fig4"], document / "figures.py")
    assert changed_by(figures["multicache/table1"], document / "figures.py")
    for used in ("reproduce/kept.py", "figures/declared.py", "base/errors.py", "sweeps/sweep.py"):
        assert changed_by(figures["multicache/fig4"], package / used), used
    for used in ("optimizers/highs.py", "experiment/alone.py"):  # late
        assert changed_by(figures["multicache/fig4"], package / used), used
    for unused in ("cli/trace.py", "searches/advice.py", "report/page.py", "__init__.py"):
        assert not changed_by(figures["multicache/fig4"], package / unused), unused
    fig5, fig6 = thesis["thesis/fig5"], thesis["thesis/fig6"]  # of one function
    same = replace(fig5, find=fig6.find)
    assert cause_of(same, Context()) != cause_of(fig5, Context())


def test_a_finding_does_not_depend_on_where_experiments_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = next(iter(figures_of("multicache")))
    causes = set()
    for name in ("here", "there"):
        shutil.copytree(EXPERIMENTS, tmp_path / name)
        monkeypatch.setattr(context_module, "experiments_folder", lambda name=name: tmp_path / name)
        causes.add(cause_of(figure, Context()))
    assert len(causes) == 1


def test_an_interruption_loses_nothing(tmp_path: Path, stub: Stub) -> None:
    asked: list[str] = []

    def interrupted(context: Context) -> Found:
        asked.append("fig2")
        if asked.count("fig2") == 1:
            raise KeyboardInterrupt
        return Found(checks=[RISES])

    stub("fig1", counting(asked, "fig1", checks=[RISES]))
    stub("fig2", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mcsim.reproduce(out=tmp_path)
    outcomes = mcsim.reproduce(out=tmp_path).outcomes
    assert asked == ["fig1", "fig2", "fig2"]
    assert [outcome.rows[-1].verdict for outcome in outcomes] == [Verdict.HOLDS] * 2


def test_a_full_disk_loses_nothing(tmp_path: Path, stub: Stub) -> None:
    asked: list[str] = []
    stub("fig1", counting(asked, "fig1"))
    rows = pa.table({"size": list(range(100_000))})
    stub("fig2", counting(asked, "fig2", tables={"curve": rows}))
    with files_of_at_most(10_000), pytest.raises(HostError, match=r"curve\.parquet: cannot be wri"):
        mcsim.reproduce(out=tmp_path)
    assert mcsim.reproduce(out=tmp_path).tables["multicache/fig2/curve"] == rows
    assert asked == ["fig1", "fig2", "fig2"]


def test_a_check_fails_where_a_claim_does(
    tmp_path: Path, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub("rises", counting([], "rises", checks=[RISES], recorded=True, ran=["run-1"]))
    out = ("--results", str(tmp_path), "-q")
    assert call(capsys, "--check", *out)[0] == 0
    stub("falls", counting([], "falls", checks=[FALLS], ran=["run-2"]))
    code, shown, err = call(capsys, "--check", *out)
    assert code == 1
    assert err == "mcsim: multicache/falls: it falls: 1 < 2: does not hold\n"
    assert "recorded: run-1" in shown
    assert "synthetic: run-2" in shown
    assert "2 figures; numbers and claims: 1 holds, 1 does not hold" in shown
    assert call(capsys, *out)[0] == 0


def test_tables_go_to_documents(
    tmp_path: Path, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    check = Check("a | b", None, "the trace is private")
    stub("fig1", counting([], "fig1", values={"hits": 41.9}, checks=[RISES, check], ran=["x"]))
    markdown, page = tmp_path / "all.md", tmp_path / "all.html"
    files = ("--markdown", str(markdown), "--html", str(page))
    assert call(capsys, "multicache", "--quick", "--results", str(tmp_path), *files)[0] == 0
    lines = markdown.read_text(encoding="utf-8").splitlines()
    assert "Made by `mcsim reproduce multicache --quick`; do not edit." in lines
    assert "### multicache/fig1: FIG1" in lines
    about = document_of("multicache")
    assert f"{about.citation}. <{about.link}>" in lines
    assert about.citation in page.read_text(encoding="utf-8")
    built = "equal; by construction: workloads/two-curves.yaml goes through this point"
    number = f"| hit ratio of a cache of 200,000 blocks | about 42 % | 41.9 % | {built} |"
    assert number in lines
    assert "| a \\| b |  |  | cannot be checked because the trace is private |" in lines
    assert built in page.read_text(encoding="utf-8")


def test_a_finding_carries_its_verdicts(tmp_path: Path, stub: Stub) -> None:
    stub("fig1", counting([], "fig1", values={"hits": 21.0}, checks=[FALLS]))
    made = mcsim.reproduce(out=tmp_path)
    kept = json.loads((tmp_path / "reproduce/multicache/fig1/found.json").read_text("utf-8"))
    assert [(row["verdict"], row["ratio"], row["by_construction"]) for row in kept["rows"]] == [
        ("same direction", 0.5, True),
        ("does not hold", None, False),
    ]
    columns = made.to_arrow().select(["verdict", "ratio", "by_construction"]).to_pylist()
    assert [tuple(row.values()) for row in columns] == [
        ("same direction", 0.5, True),
        ("does not hold", None, False),
    ]


def test_progress_says_how_long_the_rest_takes(tmp_path: Path, stub: Stub) -> None:
    told: list[str] = []

    class Told(Reporter):
        def note(self, text: str) -> None:
            told.append(text)

    stub("fig1", counting([], "fig1"), seconds=30)
    stub("fig2", counting([], "fig2"), seconds=560)
    reproduction.reproduce(out=tmp_path, reporter=Told())
    first, second = told
    assert first.startswith("1/2 multicache/fig1")
    # It took no time instead of 30 s, which counts as 10 s of 40.
    assert first.endswith("2 min left")
    assert second.startswith("2/2 multicache/fig2")
    reproduction.reproduce(out=tmp_path, reporter=Told())
    assert "found before" in told[2]


def test_a_quick_run_has_a_sixteenth_of_the_blocks_in_a_sixteenth_of_the_space() -> None:
    quick = Context(quick=True, seed=3)
    assert quick.overrides("multicache/web.yaml", ["interval=2h"]) == [
        "interval=2h",
        "seed=3",
        "workload.sample=0.0625",
        "tiers.0.capacity=15625",
        "tiers.1.capacity=156250",
    ]
    shares = quick.overrides("multicache/web.yaml", ["tiers.0.capacity=10%"])
    assert shares[-2] == "tiers.0.capacity=10%"
    assert Context().overrides("multicache/web.yaml") == []


def test_a_quick_sweep_is_scaled_along_its_axes() -> None:
    quick = Context(quick=True)
    grid, _ = read_grid(quick.folder("multicache/sizes.yaml"))
    axes = quick._axes(grid)
    assert axes is not None
    assert axes["zip"]["tiers.0.capacity"][:2] == [1562, 4688]
    assert axes["zip"]["tiers.1.capacity"][-1] == 375_000
    assert Context()._axes(grid) is None


def test_servers_that_were_recorded_in_part_are_listed(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    read, write = (f"128166372003061629,{{}},0,{op},0,8192,1\n" for op in ("Read", "Write"))
    (traces / "wdev_0.csv").write_text(read.format("wdev") * 2, encoding="utf-8")
    (traces / "wdev_1.csv").write_text(write.format("wdev"), encoding="utf-8")
    context = Context(trace_dirs=[traces])
    rows = {
        row["volume"]: row
        for server in _servers(context)
        if server.name == "wdev"
        for row in _inventory(server, context)
    }
    columns = ("source", "read_requests", "blocks_read", "distinct_blocks")
    assert [rows["wdev_0"][name] for name in columns] == ["recorded", 2, 4, 2]
    assert [rows["wdev_1"][name] for name in columns] == ["recorded", 0, 0, 0]
    assert [rows["wdev_2"][name] for name in columns] == [None] * 4


def test_an_installation_without_experiments_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(package, "__file__", str(tmp_path / "a" / "b" / "c" / "package.py"))
    monkeypatch.setattr(package, "_core", SimpleNamespace(__file__=str(tmp_path / "_core.so")))
    with pytest.raises(HostError, match="mcsim was installed without its experiments"):
        package.experiments_folder()
    (tmp_path / "experiments" / "reproduce").mkdir(parents=True)
    assert package.experiments_folder() == tmp_path / "experiments"


def test_a_system_that_a_run_lacks_is_named(tmp_path: Path) -> None:
    tiny = EXPERIMENTS / "tiny.yaml"
    results = mcsim.run(tiny, overrides=["systems=[lru]"], figures=False, out=tmp_path)
    with pytest.raises(ConfigError, match="no system 'arc'; there are lru"):
        system_of(results, "arc")


@pytest.mark.slow
def test_shapes_of_multicache_hold_of_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its generated traces take 5 GB; this cache goes with the folder of the test.
    monkeypatch.setenv("MCSIM_CACHE_DIR", str(tmp_path / "cache"))
    made = mcsim.reproduce("multicache", quick=True, out=tmp_path)
    failing = [o for o in made.outcomes if any(row.verdict.is_failure for row in o.rows)]
    assert {outcome.figure.name for outcome in failing} <= {
        f"multicache/fig{number}" for number in (6, 8, 9, 11, 12, 13, 14)
    }
    # Nothing fails that is not accounted for, and every number is measured.
    assert all(outcome.notes for outcome in failing)
    assert unmeasured(made) == []
    # All variants of Multi-Cache are in each figure that compares systems.
    for number in (2, 6, 9, 10, 11, 12, 13, 14):
        outcome = next(o for o in made.outcomes if o.figure.name == f"multicache/fig{number}")
        for variant in ("with history", "as printed", "as coded"):
            assert any(row.item.endswith(f": {variant}") for row in outcome.rows)
            assert f"Multi-Cache {variant}" in plotted_texts(outcome.finding.found)
    for outcome in made.outcomes:
        assert bool(outcome.finding.drawn) == bool(outcome.finding.found.plots)
    for outcome in made.outcomes:
        assert all(path.stat().st_size > 10_000 for path in outcome.finding.drawn)
    assert unplotted(made) == {f"multicache/{name}" for name in ("table1", "servers", "text")}
