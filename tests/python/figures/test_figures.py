# Trusts: NumPy over the rows of the Parquet files, matplotlib's own record of what it
# plots (lines, patches, texts), and the metadata as read from the files' bytes.
from __future__ import annotations

import functools
import itertools
import re
from pathlib import Path
from typing import Any

import made_up
import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import python
from complaints import complaint
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from mcsim import figures
from mcsim.base.errors import ConfigError
from mcsim.figures.looks import looks_of, system_looks
from mcsim.results.results import Results

SYSTEMS = made_up.SYSTEMS
make_results = made_up.run
HOUR = made_up.HOUR
BEGIN = made_up.BEGIN


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return make_results(tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return make_results(tmp_path_factory.mktemp("recorded"), synthetic=False, intervals=6)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> list[Results]:
    out = tmp_path_factory.mktemp("sweep")
    vms = ("web_0", "web_1", "web_2", "web_3", "prn_0", "prn_1")
    return [
        make_results(
            out,
            run_id=f"sizes-{blocks:012d}",
            vms=vms,
            capacities=(blocks // 10, blocks),
            intervals=6,
            factor=0.5 + blocks / 20_000,
        )
        for blocks in (20_000, 2500, 10_000)
    ]


@functools.cache
def read(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()


def rows_of(results: Results, table: str, **where: Any) -> list[dict[str, Any]]:
    rows = read(results.path / f"{table}.parquet")
    return [row for row in rows if all(row[key] == value for key, value in where.items())]


def hit_ratio(results: Results, system: str, vm: str | None, tier: int | None = None) -> float:
    """Per cent, summed row by row."""
    vms = {} if vm is None else {"vm": vm}
    tiers = {} if tier is None else {"tier": tier}
    hits = sum(row["hits"] for row in rows_of(results, "metrics", system=system, **vms, **tiers))
    accesses = sum(row["accesses"] for row in rows_of(results, "vms", system=system, **vms))
    return 100 * hits / accesses


def panels(figure: Figure) -> list[Axes]:
    return figure.axes


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


def bars_of(axes: Axes) -> list[list[float]]:
    """Heights of the bars, series by series, in the order drawn."""
    return [[bar.get_height() for bar in series] for series in axes.containers]


def only_for_one(name: str) -> bool:
    return name != "fig14"


ONE_RUN = [name for name in figures.ALIASES if only_for_one(name)]


def test_the_paper_has_these_figures() -> None:
    numbers = [1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
    assert list(figures.ALIASES) == [f"fig{number}" for number in numbers]
    of_paper = [name for name, figure in figures.FIGURES.items() if figure.paper is not None]
    assert list(figures.ALIASES.values()) == of_paper
    for figure in figures.FIGURES.values():
        assert figure.title
        assert figure.shows
        assert (figure.of_run is None) != (figure.of_runs is None)


@pytest.mark.parametrize("name", ONE_RUN)
def test_every_figure_says_what_it_is(name: str, results: Results, recorded: Results) -> None:
    figure = figures.plot(name, results)
    title = {"fig8": "Occupancy under Global LRU", "fig9": "Targets of Multi-Cache"}.get(
        name, figures.FIGURES[figures.ALIASES[name]].title
    )
    assert f"{title} (synthetic workload)" in texts(figure)
    assert f"mcsim run {results.run_id}, synthetic workload" in texts(figure)
    assert f"mcsim run {recorded.run_id}" in texts(figures.plot(name, recorded))
    assert not any("synthetic" in text for text in texts(figures.plot(name, recorded)))


@pytest.mark.parametrize("name", list(figures.ALIASES))
def test_every_axis_has_a_label_with_its_unit(
    name: str, results: Results, sweep: list[Results]
) -> None:
    figure = figures.plot(name, results if only_for_one(name) else sweep)
    shared = [label.get_text() for label in (figure._supxlabel, figure._supylabel) if label]
    below = [axes.get_xlabel() for axes in panels(figure) if axes.get_xlabel()]
    beside = [axes.get_ylabel() for axes in panels(figure) if axes.get_ylabel()] + shared
    assert below or name in ("fig6", "fig11", "fig13")  # whose groups are named VMs
    assert beside or name == "fig12"  # whose rows are named systems
    for label in below + beside:
        assert "(" in label
        assert label.endswith(")")


@pytest.mark.parametrize("name", list(figures.ALIASES))
def test_print_stays_readable(name: str, results: Results, sweep: list[Results]) -> None:
    figure = figures.plot(name, results if only_for_one(name) else sweep)
    assert figure.get_figwidth() in (3.5, 7.0)
    figure.draw_without_rendering()
    for text in figure.findobj(lambda artist: hasattr(artist, "get_fontsize")):
        assert text.get_fontsize() >= 7
    width, height = figure.get_size_inches() * figure.dpi
    boxes = [axes.get_tightbbox() for axes in panels(figure)]
    legends = [legend.get_window_extent() for legend in figure.legends]
    for box in [*boxes, *legends, *(text.get_window_extent() for text in figure.texts)]:
        assert box is not None
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= width + 1
        assert box.y1 <= height + 1
    for legend in legends:
        assert not any(legend.overlaps(axes.get_window_extent()) for axes in panels(figure))


def test_curves_are_those_of_the_table(results: Results) -> None:
    (axes,) = panels(figures.plot("fig7", results))
    assert axes.get_xscale() == "log"
    curves = {line.get_label(): line for line in axes.lines}
    for vm in ("web_0", "web_1", "web_2", "web_3"):
        rows = [row for row in rows_of(results, "curves", vm=vm) if row["capacity"] > 0]
        *drawn, end = curves[vm].get_xdata()
        assert drawn == [row["capacity"] for row in rows]
        assert end == axes.get_xlim()[1]
        wanted = [100 * row["hits"] / row["accesses"] for row in rows]
        assert curves[vm].get_ydata() == pytest.approx([*wanted, wanted[-1]])
    ends = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    assert ends == [1000, 11_000]


def test_the_example_curve_is_read_at_the_first_tier(results: Results) -> None:
    (axes,) = panels(figures.plot("fig1", results))
    rows = rows_of(results, "curves", vm="web_3")
    x, y = ([row[key] for row in rows] for key in ("capacity", "hits"))
    wanted = 100 * np.interp(1000, x, y) / rows[0]["accesses"]
    assert axes.lines[0].get_label() == "web_3"
    assert axes.get_title(loc="left") == f"1,000 blocks hit {wanted:.0f} %"


def test_a_curve_is_split_where_the_tiers_end(results: Results) -> None:
    for axes in panels(figures.plot("fig5", results)):
        vm, _, said = axes.get_title(loc="left").partition(": ")
        rows = rows_of(results, "curves", vm=vm)
        x, y = ([row[key] for row in rows] for key in ("capacity", "hits"))
        targets = [
            [
                row["target"]
                for row in rows_of(results, "metrics", system="multicache", vm=vm, tier=t)
            ]
            for t in (0, 1)
        ]
        first, second = (np.mean(target) for target in targets)
        at = [100 * np.interp(c, x, y) / rows[0]["accesses"] for c in (first, first + second)]
        assert f"dram {at[0]:.0f} % (" in said
        assert f"flash {at[1] - at[0]:.0f} % (" in said
        ends = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
        assert ends == pytest.approx([first, first + second])


def test_reuse_intensity_is_that_of_the_table(results: Results) -> None:
    for axes, vm in zip(
        panels(figures.plot("fig4", results)), ("web_0", "web_1", "web_2", "web_3"), strict=True
    ):
        assert axes.get_title(loc="left") == vm
        (spikes,) = axes.patches
        heights, edges, _ = spikes.get_data()
        # A thousand strips in twelve hours, each as high as the highest window in it.
        strips = np.zeros(1000)
        for row in rows_of(results, "reuse_intensity", vm=vm):
            hour = (row["window_end_ns"] - BEGIN) / HOUR
            strip = int(hour / 12 * 1000 + 1e-9)
            strips[strip] = max(strips[strip], row["reuse_intensity"])
        assert (edges[0], edges[-1]) == (0, 12)
        middles = (np.arange(1000) + 0.5) * 12 / 1000
        assert heights[np.searchsorted(edges, middles) - 1] == pytest.approx(strips)


@pytest.mark.parametrize(
    ("name", "system", "what"),
    [
        ("fig8", "lru", "occupancy"),
        ("occupancy", "multicache", "occupancy"),
        ("fig9", "multicache", "target"),
    ],
)
def test_blocks_are_stacked_vm_on_vm(name: str, system: str, what: str, results: Results) -> None:
    for tier, axes in enumerate(panels(figures.plot(name, results))):
        below = np.zeros(12)
        for patch, vm in zip(axes.patches, ("web_0", "web_1", "web_2", "web_3"), strict=True):
            tops, edges, baseline = patch.get_data()
            rows = rows_of(results, "metrics", system=system, vm=vm, tier=tier)
            assert list(edges) == list(range(13))
            assert list(baseline) == list(below)
            assert list(tops - baseline) == [row[what] for row in rows]
            below = tops
        assert axes.lines[0].get_ydata()[0] == (1000, 10_000)[tier]


def test_hit_ratio_over_time_leaves_gaps_where_nothing_was_accessed(results: Results) -> None:
    shown = panels(figures.plot("fig10", results))
    for axes, vm in zip(shown, ("web_0", "web_1", "web_3"), strict=True):
        for steps, system in zip(axes.patches, ("lru", "multicache"), strict=True):
            drawn = steps.get_data().values
            for k, row in enumerate(rows_of(results, "vms", system=system, vm=vm)):
                if row["accesses"] == 0:
                    assert np.isnan(drawn[k])
                else:
                    hit = row["accesses"] - row["misses"]
                    assert drawn[k] == pytest.approx(100 * hit / row["accesses"])
    assert rows_of(results, "vms", system="lru", vm="web_0", interval=11)[0]["accesses"] == 0


def titles(results: Results) -> list[str]:
    return [system.title for system in results.spec.systems]


def test_hit_ratios_by_vm_hide_vms_without_hits(results: Results) -> None:
    figure = figures.plot("fig6", results)
    (axes,) = panels(figure)
    assert [t.get_text() for t in axes.get_xticklabels()] == ["web_0", "web_1", "web_3", "all VMs"]
    assert "Below 1 % under every system, not shown: web_2." in texts(figure)
    for drawn, system in zip(bars_of(axes), titles(results), strict=True):
        shown = ("web_0", "web_1", "web_3", None)
        assert drawn == pytest.approx([hit_ratio(results, system, vm) for vm in shown])


def test_hit_ratios_of_several_servers_stand_side_by_side(tmp_path: Path) -> None:
    servers = [
        make_results(tmp_path, run_id=f"{server}-0", vms=vms, intervals=3, factor=factor)
        for server, vms, factor in (("web", ("web_0", "web_1"), 1.0), ("prn", ("prn_0",), 2.0))
    ]
    (axes,) = panels(figures.plot("fig6", servers))
    names = [t.get_text() for t in axes.get_xticklabels()]
    assert names == ["web_0", "web_1", "prn_0", "all VMs"]
    rows = [row for run in servers for row in rows_of(run, "vms", system="multicache")]
    misses, accesses = (sum(row[key] for row in rows) for key in ("misses", "accesses"))
    drawn = bars_of(axes)[titles(servers[0]).index("multicache")]
    assert drawn[-1] == pytest.approx(100 * (1 - misses / accesses))
    with pytest.raises(figures.CannotDrawError, match="needs runs of different VMs"):
        figures.plot("fig6", [servers[0], servers[0]])


def test_latency_weighs_hits_by_the_tiers_devices(results: Results) -> None:
    (axes,) = panels(figures.plot("fig11", results))
    for drawn, system in zip(bars_of(axes), titles(results), strict=True):
        for height, vm in zip(drawn, ("web_0", "web_1", "web_2", "web_3", None), strict=True):
            where = {"system": system} | ({} if vm is None else {"vm": vm})
            vms, tiers = rows_of(results, "vms", **where), rows_of(results, "metrics", **where)
            spent = sum(6_500_000 * row["misses"] for row in vms)
            spent += sum((30, 25_000)[row["tier"]] * row["hits"] for row in tiers)
            assert height == pytest.approx(spent / sum(row["accesses"] for row in vms) / 1e6)


def test_shares_are_means_over_time(results: Results) -> None:
    figure = figures.plot("fig12", results)
    divided = [title for title in titles(results) if title != "single-tier"]
    for tier, axes in enumerate(panels(figure)):
        for series, vm in zip(axes.containers, ("web_0", "web_1", "web_2", "web_3"), strict=True):
            for bar, system in zip(series, divided, strict=True):
                rows = rows_of(results, "metrics", system=system, vm=vm, tier=tier)
                mean = sum(row["occupancy"] for row in rows) / len(rows)
                assert bar.get_width() == pytest.approx(100 * mean / (1000, 10_000)[tier])


def test_hit_ratios_are_divided_by_tier(results: Results) -> None:
    (axes,) = panels(figures.plot("fig13", results))
    drawn = iter(bars_of(axes))
    for system in titles(results):
        for tier in range(1 if system == "single-tier" else 2):
            wanted = [
                hit_ratio(results, system, vm, tier)
                for vm in ("web_0", "web_1", "web_2", "web_3", None)
            ]
            assert next(drawn) == pytest.approx(wanted)
    assert next(drawn, None) is None


def test_a_sweep_is_drawn_in_order_of_capacity(sweep: list[Results]) -> None:
    whole, fastest = panels(figures.plot("fig14", sweep))
    ordered = [sweep[1], sweep[2], sweep[0]]
    for axes, tier in ((whole, None), (fastest, 0)):
        shown = [t for t in titles(sweep[0]) if tier is None or t != "single-tier"]
        for line, system in zip(axes.lines, shown, strict=True):
            assert list(line.get_xdata()) == [2500, 10_000, 20_000]
            wanted = [hit_ratio(run, system, None, tier) for run in ordered]
            assert line.get_ydata() == pytest.approx(wanted)


def test_vms_and_systems_look_the_same_everywhere(results: Results) -> None:
    curves = {
        line.get_label(): line.get_color()
        for line in panels(figures.plot("fig7", results))[0].lines
    }
    areas = panels(figures.plot("fig9", results))[0].patches
    for area in areas:
        assert area.get_facecolor()[:3] == pytest.approx(_rgb(curves[area.get_label()]))
    bars = figures.plot("fig6", results).legends[0]
    other = figures.plot("fig11", results).legends[0]
    looks = [
        [
            (t.get_text(), p.get_facecolor())
            for t, p in zip(x.get_texts(), x.legend_handles, strict=True)
        ]
        for x in (bars, other)
    ]
    assert looks[0] == looks[1]
    assert len({color for _, color in looks[0]}) == len(SYSTEMS)


def _rgb(color: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(color)


def cannot(name: str, runs: Results | list[Results]) -> str:
    return complaint(figures.plot, name, runs, error=figures.CannotDrawError)


def test_what_is_missing_is_said(tmp_path: Path, results: Results, sweep: list[Results]) -> None:
    bare = make_results(tmp_path, run_id="bare", vms=("a",), systems=["static"], intervals=2)
    assert cannot("fig9", bare) == "needs a system beside static that uses all tiers"
    assert cannot("fig10", bare) == "needs a system beside static that uses all tiers"
    assert cannot("fig14", results) == "needs runs of one experiment at two or more capacities"
    assert cannot("fig14", [sweep[0], sweep[1], sweep[0]]) == (
        "needs one run per capacity of the last tier, not several"
    )
    assert cannot("fig7", sweep) == "shows one run, got 3"
    alone = make_results(tmp_path, run_id="alone", vms=("a",), intervals=2)
    assert cannot("fig5", alone) == "needs two VMs; the run has a alone"
    with pytest.raises(ConfigError, match=r"unknown figure 'fig77' \(did you mean 'fig7'\?\)"):
        figures.plot("fig77", results)
    with pytest.raises(
        ConfigError, match="there are curve, reuse-intensity, tier-split, hit-ratio"
    ):
        figures.plot("nothing", results)


def test_more_vms_than_can_be_told_apart_are_not_drawn(tmp_path: Path) -> None:
    many = [f"vm{v}" for v in range(25)]
    results = make_results(tmp_path, run_id="many", vms=many, systems=["lru"], intervals=2)
    skipped: list[str] = []
    assert figures.draw(results, ["fig7"], on_skip=skipped.append) == []
    assert skipped == [
        "fig7 (Hit ratio curves) is not drawn: shows VMs one by one, at most 24; the run has 25"
    ]


def test_drawing_goes_on_past_figures_that_cannot_be_drawn(tmp_path: Path) -> None:
    bare = make_results(tmp_path, run_id="bare", systems=["static"], intervals=2)
    skipped: list[str] = []
    files = figures.draw(bare, ["fig9", "fig7"], on_skip=skipped.append)
    assert files == [bare.path / "figures" / "fig7.png"]
    assert all(file.is_file() for file in files)
    assert sorted((bare.path / "figures").iterdir()) == sorted(files)
    assert skipped == [
        "fig9 (Targets) is not drawn: needs a system beside static that uses all tiers"
    ]


def test_figures_show_runs_without_the_papers_systems(tmp_path: Path) -> None:
    systems = [{"name": "hierarchy", "label": "arc", "policy": "arc"}, "static", "single-tier"]
    other = make_results(tmp_path, run_id="other", systems=systems, intervals=3)
    assert {name for name, reason in figures.missing(other).items() if reason} == {
        "hit-ratio-by-capacity"
    }
    # arc comes first, static is the last that uses all tiers.
    assert "Occupancy under arc (synthetic workload)" in texts(figures.plot("fig8", other))
    assert "Occupancy under Static (synthetic workload)" in texts(figures.plot("occupancy", other))
    legend = figures.plot("fig10", other).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["arc", "Static"]


def test_one_name_is_one_system_in_all_figures(tmp_path: Path) -> None:
    history = {"name": "multicache", "label": "multicache-history"}
    systems = ["lru", history, "multicache", {"name": "multicache", "label": "third"}]
    results = make_results(tmp_path, run_id="several", systems=systems, intervals=3)
    looks = system_looks(results.spec.systems)
    labels = ["Global LRU", "multicache-history", "Multi-Cache", "third"]
    assert [look.label for look in looks.values()] == labels
    assert len({(look.color, look.dashes) for look in looks.values()}) == 4
    # The look of the kind is that of the system which has the kind's name.
    alone = system_looks([system for system in results.spec.systems if system.title == system.name])
    assert looks["multicache"] == alone["multicache"]
    assert looks["lru"] == alone["lru"]
    # What a figure shows of the one that stands first, its title says.
    title = texts(figures.plot("fig9", results))[0]
    assert title == "Targets of multicache-history (synthetic workload)"


def test_looks_differ_in_more_than_colour() -> None:
    looks = list(looks_of([f"vm{v}" for v in range(48)]).values())
    assert len({(look.color, look.dashes) for look in looks}) == 48
    assert len({look.hatch for look in looks[:8]}) == 8
    assert len({look.marker for look in looks[:8]}) == 8


def test_a_time_in_references_has_no_powers_of_ten(tmp_path: Path) -> None:
    results = make_results(tmp_path, run_id="counted", intervals=6, interval="500000 references")
    for name in ("fig4", "fig8", "fig10"):
        figure = figures.plot(name, results)
        figure.draw_without_rendering()
        axes = panels(figure)[-1]
        assert axes.get_xlabel() == "Time (references)"
        assert axes.xaxis.get_offset_text().get_text() == ""
        assert "1 M" in [label.get_text() for label in axes.get_xticklabels()]


def test_vms_that_never_hit_have_no_panels(results: Results) -> None:
    # web_2 hits nothing, as the bars by VM say too.
    figure = figures.plot("fig10", results)
    assert [axes.get_title(loc="left") for axes in panels(figure)] == ["web_0", "web_1", "web_3"]
    assert "Below 1 % under every system, not shown: web_2." in texts(figure)


def test_documents_get_figures_without_captions(tmp_path: Path, results: Results) -> None:
    (png, svg) = figures.draw(results, ["curves"], tmp_path, formats=("png", "svg"))
    assert (png.name, svg.name) == ("curves.png", "curves.svg")
    drawn = svg.read_text(encoding="utf-8")
    comments = re.findall(r"<!-- (.*?) -->", drawn)
    assert "synthetic workload" in comments
    assert not any("Hit ratio curves" in text or results.run_id in text for text in comments)
    assert results.run_id in re.sub(r"<!--.*?-->", "", drawn)


@pytest.mark.parametrize("name", ONE_RUN)
def test_figures_for_papers_fit_a_column(name: str, results: Results, sweep: list[Results]) -> None:
    figure = figures.plot(name, results, style="paper")
    assert figure.get_figwidth() == 3.5
    shown = " ".join(texts(figure))
    assert results.run_id not in shown
    assert figures.FIGURES[figures.ALIASES[name]].title not in shown
    assert "synthetic workload" in shown
    figure.draw_without_rendering()
    every = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    # Shares that stand in bars are told by the axis, too.
    assert {text.get_fontsize() for text in every if "%" not in text.get_text()} == {8.0}
    for text in figure.texts:
        assert text.get_window_extent().x1 <= figure.bbox.x1
    for axes in figure.axes:
        assert axes.get_tightbbox().x1 <= figure.bbox.x1 + 1
        assert (
            axes.get_title(loc="left") == ""
            or "\n" in axes.get_title(loc="left")
            or (axes.title.get_window_extent().x1 <= figure.bbox.x1)
        )


def test_figures_for_papers_have_their_fonts(tmp_path: Path, results: Results) -> None:
    draw = functools.partial(figures.draw, results, ["curves"], style="paper")
    (pdf, svg) = draw(tmp_path, formats=("pdf", "svg"))
    # TrueType, embedded; letters are outlines.
    assert b"/FontFile2" in pdf.read_bytes()
    assert b"/Type3" not in pdf.read_bytes()
    assert "<text" not in svg.read_text(encoding="utf-8")


def test_the_style_of_a_paper_ends_with_its_figure(results: Results) -> None:
    before = figures.plot("fig6", results).get_figwidth()
    figures.plot("fig6", results, style="paper")
    assert figures.plot("fig6", results).get_figwidth() == before == 7.0


def lightness(color: str) -> float:
    """CIE 1976 L*, from sRGB."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _rgb(color)]
    luminance = float(np.dot([0.2126, 0.7152, 0.0722], linear))
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def test_neighbours_differ_in_grey() -> None:
    looks = list(looks_of([f"vm{v}" for v in range(49)]).values())
    for one, other in itertools.pairwise(looks):
        assert abs(lightness(one.color) - lightness(other.color)) > 15
        assert one.marker != other.marker
        assert one.hatch != other.hatch
    assert all(one.dashes != other.dashes for one, other in itertools.pairwise(looks[:8]))


def test_systems_are_told_apart_in_grey(results: Results) -> None:
    looks = list(system_looks(results.spec.systems).values())
    for one, other in itertools.combinations(looks, 2):
        assert one.marker != other.marker
        assert one.hatch != other.hatch


def test_several_runs_need_a_folder(tmp_path: Path, sweep: list[Results]) -> None:
    with pytest.raises(ConfigError, match="need a folder"):
        figures.draw(sweep)
    files = figures.draw(sweep, folder=tmp_path)
    assert [file.name for file in files] == ["hit-ratio-by-capacity.png"]


def test_files_name_their_runs(tmp_path: Path, results: Results, recorded: Results) -> None:
    for run, synthetic in ((results, True), (recorded, False)):
        for file in figures.draw(run, ["fig7"], tmp_path, formats=("png", "pdf", "svg")):
            data = file.read_bytes()
            assert run.run_id.encode() in data
            assert (b"synthetic workload" in data) == synthetic
            assert b"CreationDate" not in data


def test_the_same_results_give_the_same_bytes(tmp_path: Path, results: Results) -> None:
    """In another process, whose string hashes differ."""
    program = (
        "import sys; from mcsim import figures; from mcsim.results.results import Results; "
        "figures.draw(Results.open(sys.argv[1]), ['fig4'], sys.argv[2], formats=('png', 'pdf'))"
    )
    done = python("-c", program, results.path, tmp_path / "other", env={"PYTHONHASHSEED": "1"})
    assert done.returncode == 0, done.stderr
    files = figures.draw(results, ["fig4"], tmp_path, formats=("png", "pdf"))
    assert [file.suffix for file in files] == [".png", ".pdf"]
    for file in files:
        assert file.read_bytes() == (tmp_path / "other" / file.name).read_bytes()


def test_files_do_not_depend_on_how_many_processes_draw(tmp_path: Path, results: Results) -> None:
    drawn = []
    for processes in (1, 3):
        skipped: list[str] = []
        folder = tmp_path / str(processes)
        names = ["fig14", "fig7", "fig4", "fig12"]
        files = figures.draw(results, names, folder, processes=processes, on_skip=skipped.append)
        assert [file.name for file in files] == ["fig7.png", "fig4.png", "fig12.png"]
        drawn.append(([file.read_bytes() for file in files], skipped))
    assert drawn[0] == drawn[1]


def test_what_goes_wrong_in_a_process_that_draws_comes_out(
    tmp_path: Path, results: Results
) -> None:
    blocked = tmp_path / "fig7.png"
    blocked.mkdir()
    with pytest.raises(ConfigError, match=r"fig7\.png: not a regular file"):
        figures.draw(results, ["fig4", "fig7"], tmp_path, processes=2)


def test_listing_figures_does_not_load_matplotlib() -> None:
    program = "import sys, mcsim.figures; assert 'matplotlib' not in sys.modules"
    done = python("-c", program)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("error")
def test_a_tier_of_no_blocks_is_drawn_without_a_warning(tmp_path: Path) -> None:
    run = make_results(tmp_path, capacities=(0, 2500), intervals=3)
    assert figures.draw(run, ["occupancy", "targets"])
