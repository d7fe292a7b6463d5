# Trusts: the standard library's HTML parser for what a page holds, NumPy for what is thinned, and
# the tables of the run itself, formatted here.
from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import made_up
import numpy as np
import pyarrow as pa
import pytest
from commands import code_of, python
from hypothesis import given
from hypothesis import strategies as st

import mcsim as mc
from mcsim.base.errors import ConfigError
from mcsim.figures.chart import Chart, Series, thinned
from mcsim.figures.declared import Plot
from mcsim.figures.looks import looks_of
from mcsim.report.page import Page, Section, render
from mcsim.report.tables import Cell, Table, sentence, table_of
from mcsim.reproduce.catalogue import Found
from mcsim.reproduce.published import Note
from mcsim.reproduce.render import reproduction_page
from mcsim.reproduce.verdicts import Row, Verdict
from mcsim.results.results import Results
from mcsim.results.tables import comparison

VILLAIN = "<script>alert(1)</script>"
VILLAINS = (VILLAIN, "'\"><img src=x onerror=alert(1)>", "]]>&lt;\u2028!", "$$x^2$$ @y0 {0} \\")


class Parsed(HTMLParser):
    """Parser of a page: tags with attributes, texts, scripts."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append((tag, given))
        self._open.append(tag)
        if tag == "script":
            self.scripts.append((given.get("type", ""), ""))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            kind, text = self.scripts[-1]
            self.scripts[-1] = (kind, text + data)
        elif data.strip() and not (self._open and self._open[-1] == "style"):
            self.texts.append(data.strip())

    def of(self, tag: str) -> list[dict[str, str]]:
        return [given for name, given in self.tags if name == tag]

    @property
    def plots(self) -> list[Any]:
        return [json.loads(text) for kind, text in self.scripts if kind == "application/json"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made_up.run(tmp_path_factory.mktemp("one"), description="Which `system` hits most?")


@pytest.fixture(scope="module")
def page(results: Results) -> str:
    return mc.report(results)


def rows_of(page: str, title: str) -> list[list[str]]:
    """The cells of the table under a heading, row by row."""
    table = page[page.index(f"<h3>{title}</h3>") :]
    body = table[table.index("<tbody>") : table.index("</tbody>")]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr.*?</tr>", body)]


def test_a_page_says_what_the_run_asks_and_holds(page: str, results: Results) -> None:
    parsed = Parsed(page)
    for text in ("tiny (synthetic workload)", "Which system hits most?", results.run_id, "1.2.3"):
        assert text in parsed.texts
    assert (results.path / "spec.yaml").read_text("utf-8").strip() in parsed.texts
    timed = ("environment.json", "timings.json")
    sums = {digest for name, digest in results.sums.items() if name not in timed}
    assert sums <= set(parsed.texts)
    # Where it ran is in the results, not on the page.
    assert "my-laptop" not in page


def test_the_answer_is_followed_by_its_plot_and_one_table(page: str) -> None:
    answer = page[page.index("<h2>Answer") : page.index("<h2>Results")]
    assert answer.index("is best") < answer.index("<figure") < answer.rindex("<table")
    assert answer.count('<table class="sorts narrow">') == 1
    assert page.index("<h2>Results") < page.index("<h2>Systems") < page.index("<h2>Tables")


def test_a_page_has_the_command_that_makes_it(page: str, results: Results, tmp_path: Path) -> None:
    begin = '<code class="command">mcsim results page '
    assert f"{begin}{results.run_id}</code>" in page
    chosen = mc.report(results, systems=["lru", "static"])
    assert f"{begin}{results.run_id} --systems lru --systems static</code>" in chosen


def test_no_sentence_has_two_full_stops(page: str) -> None:
    assert [text for text in Parsed(page).texts if re.search(r"\.\.(?![.\w/])", text)] == []
    assert (sentence("done."), sentence("done")) == ("Done.", "Done.")


def test_a_system_has_one_name_on_a_page(page: str) -> None:
    assert "Multi-Cache (joint)" not in page
    assert "in plots" not in Parsed(page).texts


def test_the_tables_are_those_of_the_run(page: str, results: Results) -> None:
    wanted = [
        [
            row["vm"] or "all",
            row["system"],
            f"{row['accesses']:,}",
            f"{100 * row['hit_ratio']:.2f}",
        ]
        for row in comparison(results).to_pylist()
    ]
    tables = page[page.index("<h2>Tables") :]
    shown = [
        row[:4]
        for row in rows_of(
            tables, f"{results.title}: reads, 3.906 MiB + 39.06 MiB (1,000 + 10,000 blocks of 4KiB)"
        )
    ]
    assert sorted(shown) == sorted(wanted)
    # VM by VM, all together last.
    assert [row[0] for row in shown[-6:]] == ["all"] * 6


def test_every_plot_has_a_sentence_and_a_table(page: str, results: Results) -> None:
    figures = re.findall(r'<figure class="chart".*?</figure>', page, re.DOTALL)
    assert len(figures) == len(Parsed(page).plots) > 10
    for figure in figures:
        says = re.search(r'<p id="(chart-\d+)-caption">(.+?)</p>', figure)
        assert says is not None
        assert says[2].endswith(".")
        assert f'aria-describedby="{says[1]}-caption keys"' in figure
        assert "<details><summary>The same as a table</summary>" in figure
        assert figure.count("<tr>") > 1
    ratios = {
        row["system"]: row["hit_ratio"]
        for row in comparison(results).to_pylist()
        if row["vm"] is None
    }
    best = max(ratios, key=ratios.__getitem__)
    assert best == "multicache-joint"
    wanted = f"Over all VMs, multicache-joint hits most ({100 * ratios[best]:.2f} %)"
    assert wanted in page


def test_the_library_is_there_once_and_scripts_are_named_by_their_digests(page: str) -> None:
    own = [text for kind, text in Parsed(page).scripts if not kind]
    (packed,) = [text for kind, text in Parsed(page).scripts if kind == "application/gzip"]
    library = gzip.decompress(base64.b64decode(packed, validate=True))
    assert b"bokeh" in library.lower()
    assert page.count("Copyright (c) Anaconda") == 1
    assert len(own) == 1
    (policy,) = [
        given["content"]
        for given in Parsed(page).of("meta")
        if given.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ")
    digests = [hashlib.sha256(script).digest() for script in (library, own[0].encode())]
    named = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    assert f"script-src {named};" in policy


def test_a_page_asks_nobody_for_anything(page: str) -> None:
    addresses = [
        given[name]
        for _, given in Parsed(page).tags
        for name in ("src", "href", "data", "srcset", "action", "poster")
        if name in given
    ]
    assert addresses
    assert {address[0] for address in addresses} == {"#"}
    targets = {given["id"] for _, given in Parsed(page).tags if "id" in given}
    assert {address[1:] for address in addresses if address[0] == "#"} <= targets


def test_a_page_is_small(page: str) -> None:
    assert len(page.encode()) < 1_500_000


def test_a_page_of_many_vms_over_a_week_is_small(tmp_path: Path) -> None:
    results = made_up.run(
        tmp_path,
        vms=[f"vm_{v}" for v in range(16)],
        systems=[*made_up.SYSTEMS, "vcacheshare", "centaur"],
        intervals=168,
    )
    page = mc.report(results)
    assert len(Parsed(page).plots) == 42
    assert len(page.encode()) < 2_800_000


def test_the_same_run_gives_the_same_bytes(tmp_path: Path, page: str, results: Results) -> None:
    """Later in this process, and in another with other string hashes."""
    assert mc.report(results) == page
    file = tmp_path / "page.html"
    report = ("-m", "mcsim", "results", "page", results.path, "-o", file)
    done = python(*report, env={"PYTHONHASHSEED": "1"})
    assert done.returncode == 0, done.stderr
    assert file.read_text(encoding="utf-8") == page


def villainous(folder: Path) -> Results:
    systems = [{"name": "lru", "label": "</title><b>"}, {"name": "multicache", "label": VILLAIN}]
    return made_up.run(folder, vms=VILLAINS, systems=systems, description=f"Is {VILLAIN} a VM?")


def test_names_are_names_whatever_they_look_like(tmp_path: Path) -> None:
    results = villainous(tmp_path)
    for page in (mc.report(results), mc.report(results, results)):
        parsed = Parsed(page)
        assert not any(name.startswith("on") for _, given in parsed.tags for name in given)
        assert {tag for tag, _ in parsed.tags}.isdisjoint({"b", "iframe", "object"})
        kinds = [kind for kind, _ in parsed.scripts if kind != "application/json"]
        assert kinds == ["application/gzip", ""]
        for villain in VILLAINS:
            assert villain in parsed.texts
        # In the JSON of plots they are strings, and nothing in it is anything to HTML.
        assert any(VILLAIN in json.dumps(plot) for plot in parsed.plots)
        assert f"Is {VILLAIN} a VM?" in parsed.texts


def test_several_runs_stand_side_by_side(tmp_path: Path, results: Results) -> None:
    other = made_up.run(
        tmp_path, run_id="tiny-other", capacities=(500, 5000), factor=1.5, intervals=6
    )
    page = mc.report(results, other)
    different = {row[0]: row[1:] for row in rows_of(page, "Where they differ")}
    assert different == {
        "description": ["Which `system` hits most?", "–"],
        "tiers.0.capacity": ["1000", "500"],
        "tiers.1.capacity": ["10000", "5000"],
    }
    joined = rows_of(page, "All runs, all VMs")
    # The label of a run is what differs.
    labels = [
        "dram 3.906 MiB, flash 39.06 MiB",
        "dram 1.953 MiB, flash 19.53 MiB",
    ]
    assert [row[0] for row in joined] == [labels[0]] * 6 + [labels[1]] * 6
    assert f"<h2>{labels[1]}</h2>" in page
    assert f'"{labels[1]}"' in page
    wanted = [
        f"{100 * row['hit_ratio']:.2f}"
        for run in (results, other)
        for row in comparison(run, by_vm=False).to_pylist()
    ]
    assert [row[3] for row in joined] == wanted
    assert page.count("Copyright (c) Anaconda") == 1


def test_a_run_of_many_vms_and_systems_has_a_page(tmp_path: Path) -> None:
    systems = ["lru", *({"name": "static", "label": f"static-{i}"} for i in range(14))]
    results = made_up.run(tmp_path, vms=[f"vm{v}" for v in range(30)], systems=systems, intervals=3)
    parsed = Parsed(mc.report(results))
    assert "Hit ratio" in parsed.texts
    assert any("10 of 15 systems: the best nine and lru." in text for text in parsed.texts)
    assert "Hit ratio curves" not in parsed.texts
    assert "static-13" in parsed.texts


def test_intervals_too_many_to_be_seen_are_averaged(tmp_path: Path) -> None:
    results = made_up.run(tmp_path, vms=["a"], systems=["lru"], intervals=2500, interval="1min")
    from mcsim.figures.timeline import over_time

    chart = over_time(results)
    counts = results.metrics().to_pandas()
    hits = counts.groupby("interval")["hits"].sum().to_numpy()
    accesses = results.vms().to_pandas().groupby("interval")["accesses"].sum().to_numpy()
    with np.errstate(invalid="ignore"):
        ratio = 100 * hits / accesses
    assert len(chart.series[0].y) == 834
    assert chart.series[0].y[5] == pytest.approx(ratio[15:18].mean())
    assert list(chart.x[:3]) == pytest.approx([0, 3 / 60, 6 / 60])


@st.composite
def curves(draw: st.DrawFn) -> tuple[Any, Any]:
    y = draw(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=300))
    return np.arange(1, len(y) + 1, dtype=float), np.array(y)


@given(curves(), st.booleans(), st.integers(1, 20))
def test_thinning_keeps_ends_and_extremes(curve: Any, log_x: bool, cells: int) -> None:
    x, y = curve
    thin_x, thin_y = thinned(x, y, log_x=log_x, cells=cells)
    assert len(thin_x) <= max(4 * cells, 1)
    # Every point that is kept was there, in its place.
    assert (y[thin_x.astype(int) - 1] == thin_y).all()
    assert (np.diff(thin_x) > 0).all()
    assert (thin_x[0], thin_x[-1]) == (x[0], x[-1])
    assert (thin_y.min(), thin_y.max()) == (y.min(), y.max())


def test_a_curve_of_many_points_is_thinned_to_what_can_be_seen() -> None:
    x = np.arange(100_000.0)
    thin_x, thin_y = thinned(x, np.sin(x / 5000))
    assert len(thin_x) <= 1600
    assert np.abs(np.interp(x, thin_x, thin_y) - np.sin(x / 5000)).max() < 1e-3


def chart(kind: Any, **more: Any) -> Chart:
    looks = list(looks_of(["a", "b"]).values())
    x: Any = ["p", "q", "r"] if kind in ("bars", "stacked") else np.arange(4.0)
    series = [Series(look, np.array([1.5, np.nan, 3000.0])) for look in looks]
    if kind in ("lines", "points"):
        x = np.arange(3.0)
    return Chart("Title", "It says.", kind, x, series, "x (s)", "y (%)", **more)


@pytest.mark.parametrize("kind", ["lines", "steps", "areas", "points", "bars", "stacked"])
def test_the_table_behind_a_chart_has_its_numbers(kind: str) -> None:
    table = table_of(chart(kind))
    # Stacked bars lie: what they show is to be read from left to right.
    names, values = ("y (%)", "x (s)") if kind == "stacked" else ("x (s)", "y (%)")
    assert table.heads == [names, "a", "b"]
    assert table.caption == f"{values}."
    assert [cell.text for cell in table.rows[0][1:]] == ["1.5", "1.5"]
    assert [cell.text for cell in table.rows[1][1:]] == ["–", "–"]
    assert [cell.text for cell in table.rows[2][1:]] == ["3,000", "3,000"]


def test_a_long_table_behind_a_chart_says_what_it_leaves_out() -> None:
    look = looks_of(["a"])["a"]
    long = Chart("T", "S.", "steps", np.arange(1002.0), [Series(look, np.arange(1001.0))], "x", "y")
    table = table_of(long)
    assert len(table.rows) == 91
    assert [row[1].text for row in table.rows[:3]] == ["0", "11", "22"]
    assert table.caption == "y. Every 11th of 1,001 rows."


def test_cells_sort_by_what_they_stand_for() -> None:
    cells = (Cell("1.73 ms", 1_730_000.0), Cell("12.34", 0.1234), Cell("1,234,567", 1_234_567))
    assert [cell.key for cell in cells] == ["1730000", "", ""]
    assert (Cell("–").key, Cell("0.0 %", -1e-9).key) == ("", "-1e-09")


def test_a_page_without_charts_has_no_library() -> None:
    text = render(Page("T", "L", [Section("S", [Table(["a"], [[Cell("b")]])])]))
    assert len(text) < 20_000
    assert "Anaconda" not in text


def test_a_reproduction_has_its_page() -> None:
    rows = [
        Row("all VMs", "+31 %", "+42 %", Verdict.SAME_DIRECTION, 42 / 31),
        Row(VILLAIN, "+31 %", "+42 %", Verdict.UNCHECKED, why="no <trace>"),
    ]
    notes = [Note(figure="fig6", about="all VMs", note="they differ")]
    by_vm = Found(tables={"by VM": pa.table({"vm": ["web_0"], "hit_ratio": [0.5]})}, ran=["web-1"])
    curve = Found(
        tables={"curve": pa.table({"size": [1, 2], "hits": [3.0, 4.0]})},
        plots=[Plot("Curve", "It rises.", "curve", "size", "hits")],
    )
    figures = [
        made_up.outcome("multicache/fig6", "Hit ratio by VM", by_vm, rows, notes),
        made_up.outcome("eci/fig1", "Curves", curve),
    ]
    told = {"facts": [("Command", "mcsim reproduce")], "documents": {"multicache": [VILLAIN]}}
    page = reproduction_page(figures, **told)
    assert page == reproduction_page(figures, **told)
    parsed = Parsed(page)
    for text in (
        "multicache/fig6: Hit ratio by VM",
        "1 same direction, 1 cannot be checked",
        "synthetic: web-1",
        "cannot be checked because no <trace>",
        "same direction, 1.4 times as large",
        "1.35",
        VILLAIN,
        "0.5",
        "all VMs: they differ",
        "mcsim reproduce",
    ):
        assert text in parsed.texts
    assert len(parsed.plots) == 1


@pytest.fixture
def without_bokeh(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "bokeh"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "mcsim.report.plots", raising=False)
    monkeypatch.setitem(sys.modules, "bokeh", None)


@pytest.mark.usefixtures("without_bokeh")
def test_what_pages_need_is_named_where_it_is_absent(
    tmp_path: Path, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("results", "page", results.path, "-o", tmp_path / "page.html") == 2
    said = capsys.readouterr().err
    command = f"{sys.executable} -m pip install 'bokeh>=3.6' 'jinja2>=3.1'"
    assert said == f"mcsim: pages need bokeh and jinja2: run {command}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_short_at_a_prompt(tmp_path: Path, results: Results) -> None:
    path = tmp_path / "page.html"
    written = mc.report(results, html=path)
    assert repr(written) == str(path)
    assert path.read_text("utf-8") == written
    assert repr(mc.report(results)) == (
        f"<page of {len(written):,} characters; report(…, html='page.html') writes it>"
    )


def test_a_page_of_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name a finished run, or several"):
        mc.report()
    with pytest.raises(ConfigError, match="nowhere: no such run"):
        mc.report(tmp_path / "nowhere")


def test_the_room_can_be_called(results: Results) -> None:
    import mcsim.report as room

    assert room(results) == mc.report(results)  # type: ignore[operator]
