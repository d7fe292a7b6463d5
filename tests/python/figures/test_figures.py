# Trusts: NumPy over the rows of the Parquet files, extents of texts as matplotlib reports them, and
# the metadata as read from the files' bytes.
from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import made_up
import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import python
from complaints import complaint
from layout import check_layout
from made_up import spec_of
from matplotlib.figure import Figure

from mcsim import figures
from mcsim.base.errors import ConfigError
from mcsim.figures.chart import NO_BREAK, Chart, Sheet, axis_of_sizes
from mcsim.figures.comparison import before_and_after
from mcsim.figures.looks import BLACK, looks_of, system_looks
from mcsim.figures.style import Style
from mcsim.figures.timeline import over_time
from mcsim.results.results import Results

SYSTEMS = made_up.SYSTEMS
make_results = made_up.run
HOUR = made_up.HOUR
BEGIN = made_up.BEGIN
MIB = 256  # blocks of 4 KiB


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


def charts(name: str, runs: Results | list[Results], **chosen: Any) -> Sequence[Chart]:
    listed = [runs] if isinstance(runs, Results) else runs
    return figures.find(name).sheet(listed, chosen.get("systems")).charts


def sheet_of(name: str, run: Results, **chosen: Any) -> Sheet:
    return figures.find(name).sheet([run], chosen.get("systems"))


def texts(figure: Figure) -> list[str]:
    """All lines of text outside the panels, titles of legends included."""
    shown = [*figure.texts, *(legend.get_title() for legend in figure.legends)]
    return [line for text in shown for line in text.get_text().split("\n")]


def flat(figure: Figure) -> str:
    return " ".join(texts(figure))


def values(chart: Chart) -> list[Any]:
    return [one.y.tolist() for one in chart.series]


def only_for_one(name: str) -> bool:
    return name != "hit-ratio-by-capacity"


ONE_RUN = [name for name in figures.FIGURES if only_for_one(name)]


def test_figures_are_described() -> None:
    for figure in figures.FIGURES.values():
        assert figure.title
        assert figure.shows
        assert (figure.of_run is None) != (figure.of_runs is None)


@pytest.mark.parametrize("name", ONE_RUN)
def test_every_figure_says_what_it_is(name: str, results: Results, recorded: Results) -> None:
    figure = figures.plot(name, results)
    title = sheet_of(name, results).title
    assert title.startswith(figures.FIGURES[name].title.partition(" under")[0])
    assert f"{title} (synthetic workload)" in flat(figure)
    assert f"mcsim run {results.run_id}, synthetic workload" in texts(figure)
    assert f"mcsim run {recorded.run_id}" in texts(figures.plot(name, recorded))
    assert "synthetic" not in flat(figures.plot(name, recorded))


@pytest.mark.parametrize("name", list(figures.FIGURES))
def test_every_axis_has_a_label_with_its_unit(
    name: str, results: Results, sweep: list[Results]
) -> None:
    for chart in charts(name, results if only_for_one(name) else sweep):
        labels = [label for label in (chart.x_label, chart.y_label) if label]
        # Groups of bars are VMs or systems by name.
        assert len(labels) == 2 or chart.has_names
        assert all(label.endswith(")") for label in labels if label != "Reuse intensity")
        assert chart.caption.endswith(".")


@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("name", list(figures.FIGURES))
def test_print_stays_readable(
    name: str, style: Style, results: Results, sweep: list[Results]
) -> None:
    figure = figures.plot(name, results if only_for_one(name) else sweep, style)
    assert figure.get_figwidth() in ((3.5,) if style == "paper" else (3.5, 5.0, 7.0))
    check_layout(figure, 8 if style == "paper" else 7)


def test_curves_are_those_of_the_table(results: Results) -> None:
    (chart,) = charts("curves", results)
    assert chart.log_x
    assert [one.look.label for one in chart.series] == ["web_0", "web_1", "web_2", "web_3"]
    for one in chart.series:
        rows = [r for r in rows_of(results, "curves", vm=one.look.label) if r["capacity"] > 0]
        assert one.x is not None
        assert one.x[:-1] == pytest.approx([row["capacity"] / MIB for row in rows])
        wanted = [100 * row["hits"] / row["accesses"] for row in rows]
        assert one.y == pytest.approx([*wanted, wanted[-1]])
    assert chart.x_label == "Capacity (MiB)"
    assert [at for at, _ in chart.marks] == pytest.approx([1000 / MIB, 11_000 / MIB])


def test_the_example_curve_is_read_at_the_first_tier(results: Results) -> None:
    (chart,) = charts("curve", results)
    rows = rows_of(results, "curves", vm="web_3")
    x, y = ([row[key] for row in rows] for key in ("capacity", "hits"))
    wanted = 100 * np.interp(1000, x, y) / rows[0]["accesses"]
    assert chart.series[0].look.label == "web_3"
    assert chart.panel == f"3.906 MiB (1,000 blocks) hit {wanted:.0f} %"
    assert chart.levels[0][0] == pytest.approx(wanted)


def test_a_curve_is_split_where_the_tiers_end(results: Results) -> None:
    """By the targets of the best system, which is Multi-Cache (joint)."""
    for chart in charts("tier-split", results):
        vm, _, said = chart.panel.replace(NO_BREAK, " ").partition(": ")
        rows = rows_of(results, "curves", vm=vm)
        x, y = ([row[key] for row in rows] for key in ("capacity", "hits"))
        targets = [
            rows_of(results, "metrics", system="multicache-joint", vm=vm, tier=t) for t in (0, 1)
        ]
        first, second = (np.mean([row["target"] for row in target]) for target in targets)
        at = [100 * np.interp(c, x, y) / rows[0]["accesses"] for c in (first, first + second)]
        assert f"dram {at[0]:.0f} % (" in said
        assert f"flash {at[1] - at[0]:.0f} % (" in said
        assert [at for at, _ in chart.marks] == pytest.approx([first / MIB, (first + second) / MIB])
    named = sheet_of("tier-split", results, systems=["multicache"])
    assert named.notes == ["Cut at the mean of what multicache granted the VM in each tier."]


def test_reuse_intensity_is_that_of_the_table(results: Results) -> None:
    vms = ("web_0", "web_1", "web_2", "web_3")
    for chart, vm in zip(charts("reuse-intensity", results), vms, strict=True):
        assert chart.panel == vm
        # A thousand strips in twelve hours, each as high as the highest window in it.
        strips = np.zeros(1000)
        for row in rows_of(results, "reuse_intensity", vm=vm):
            hour = (row["window_end_ns"] - BEGIN) / HOUR
            strip = int(hour / 12 * 1000 + 1e-9)
            strips[strip] = max(strips[strip], row["reuse_intensity"])
        assert (chart.x[0], chart.x[-1]) == (0, 12)
        assert chart.series[0].y == pytest.approx(strips)


@pytest.mark.parametrize(
    ("name", "system", "what"),
    [
        ("occupancy-baseline", "lru", "occupancy"),
        ("occupancy", "multicache-joint", "occupancy"),
        ("targets", "multicache-joint", "target"),
    ],
)
def test_blocks_are_stacked_vm_on_vm(name: str, system: str, what: str, results: Results) -> None:
    for tier, chart in enumerate(charts(name, results)):
        assert chart.kind == "areas"
        assert list(chart.x) == list(range(13))
        for one, vm in zip(chart.series, ("web_0", "web_1", "web_2", "web_3"), strict=True):
            rows = rows_of(results, "metrics", system=system, vm=vm, tier=tier)
            assert one.y == pytest.approx([row[what] / MIB for row in rows])
        assert chart.levels == [((1000 / MIB, 10_000 / MIB)[tier], "capacity")]


def test_hit_ratio_over_time_leaves_gaps_where_nothing_was_accessed(results: Results) -> None:
    shown = charts("hit-ratio-over-time", results, systems=["lru", "multicache"])
    assert [chart.panel for chart in shown] == ["all VMs", "web_0", "web_1", "web_3"]
    for chart in shown[1:]:
        for one, system in zip(chart.series, ("lru", "multicache"), strict=True):
            for k, row in enumerate(rows_of(results, "vms", system=system, vm=chart.panel)):
                if row["accesses"] == 0:
                    assert np.isnan(one.y[k])
                else:
                    hit = row["accesses"] - row["misses"]
                    assert one.y[k] == pytest.approx(100 * hit / row["accesses"])
    assert rows_of(results, "vms", system="lru", vm="web_0", interval=11)[0]["accesses"] == 0


def titles(results: Results) -> list[str]:
    return [system.title for system in results.spec.systems]


def test_hit_ratios_by_vm_hide_vms_without_hits(results: Results) -> None:
    (chart,) = charts("hit-ratio", results)
    assert chart.x == ["web_0", "web_1", "web_3", "all VMs"]
    notes = sheet_of("hit-ratio", results).notes
    assert notes == ["Below 1 % under every system, not shown: web_2."]
    for one, system in zip(chart.series, titles(results), strict=True):
        shown = ("web_0", "web_1", "web_3", None)
        assert one.y == pytest.approx([hit_ratio(results, system, vm) for vm in shown])


def test_hit_ratios_of_several_servers_stand_side_by_side(tmp_path: Path) -> None:
    servers = [
        make_results(tmp_path, run_id=f"{server}-0", vms=vms, intervals=3, factor=factor)
        for server, vms, factor in (("web", ("web_0", "web_1"), 1.0), ("prn", ("prn_0",), 2.0))
    ]
    (chart,) = charts("hit-ratio", servers)
    assert chart.x == ["web_0", "web_1", "prn_0", "all VMs"]
    rows = [row for run in servers for row in rows_of(run, "vms", system="multicache")]
    misses, accesses = (sum(row[key] for row in rows) for key in ("misses", "accesses"))
    drawn = chart.series[titles(servers[0]).index("multicache")].y
    assert drawn[-1] == pytest.approx(100 * (1 - misses / accesses))
    with pytest.raises(figures.CannotDrawError, match="needs runs of different VMs"):
        figures.plot("hit-ratio", [servers[0], servers[0]])


def test_latency_weighs_hits_by_the_tiers_devices(results: Results) -> None:
    (chart,) = charts("latency", results)
    assert chart.x_label == "Mean latency (ms)"
    for one, system in zip(chart.series, titles(results), strict=True):
        for height, vm in zip(one.y, ("web_0", "web_1", "web_2", "web_3", None), strict=True):
            where = {"system": system} | ({} if vm is None else {"vm": vm})
            vms, tiers = rows_of(results, "vms", **where), rows_of(results, "metrics", **where)
            spent = sum(6_500_000 * row["misses"] for row in vms)
            spent += sum((30, 25_000)[row["tier"]] * row["hits"] for row in tiers)
            assert height == pytest.approx(spent / sum(row["accesses"] for row in vms) / 1e6)


def test_shares_are_means_over_time(results: Results) -> None:
    divided = [title for title in titles(results) if title != "single-tier"]
    for tier, chart in enumerate(charts("tier-shares", results)):
        for one, vm in zip(chart.series, ("web_0", "web_1", "web_2", "web_3"), strict=True):
            for width, system in zip(one.y, divided, strict=True):
                rows = rows_of(results, "metrics", system=system, vm=vm, tier=tier)
                mean = sum(row["occupancy"] for row in rows) / len(rows)
                assert width == pytest.approx(100 * mean / (1000, 10_000)[tier])


def test_hit_ratios_are_divided_by_tier(results: Results) -> None:
    for chart in charts("hit-ratio-by-tier", results):
        vm = None if chart.panel == "all VMs" else chart.panel
        for tier, one in enumerate(chart.series):
            for ratio, system in zip(one.y, titles(results), strict=True):
                if tier and system == "single-tier":
                    assert np.isnan(ratio)
                else:
                    assert ratio == pytest.approx(hit_ratio(results, system, vm, tier))


def test_a_sweep_is_drawn_in_order_of_capacity(sweep: list[Results]) -> None:
    ordered = [sweep[1], sweep[2], sweep[0]]
    for chart, tier in zip(charts("hit-ratio-by-capacity", sweep), (None, 0), strict=True):
        shown = [t for t in titles(sweep[0]) if tier is None or t != "single-tier"]
        assert list(chart.x) == list(chart.ticks) == [2500, 10_000, 20_000]
        assert chart.log_x
        for one, system in zip(chart.series, shown, strict=True):
            assert one.y == pytest.approx([hit_ratio(run, system, None, tier) for run in ordered])


def test_vms_and_systems_look_the_same_everywhere(results: Results) -> None:
    (curves,), (area, _) = charts("curves", results), charts("targets", results)
    assert [one.look for one in curves.series] == [one.look for one in area.series]
    (ratios,), (latencies,) = charts("hit-ratio", results), charts("latency", results)
    looks = [one.look for one in ratios.series]
    assert looks == [one.look for one in latencies.series]
    assert len({look.color for look in looks}) == len(SYSTEMS)


def _rgb(color: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(color)


def cannot_draw(name: str, run: Results) -> str:
    return figures.missing(run)[name]


def cannot(name: str, runs: Results | list[Results]) -> str:
    return complaint(figures.plot, name, runs, error=figures.CannotDrawError)


def test_what_is_missing_is_said(tmp_path: Path, results: Results, sweep: list[Results]) -> None:
    bare = make_results(tmp_path, run_id="bare", vms=("a",), systems=["static"], intervals=2)
    shared = make_results(tmp_path, run_id="shared", systems=["single-tier"], intervals=2)
    assert cannot("targets", shared) == "needs a system that uses all tiers"
    assert not cannot_draw("targets", bare)
    assert (
        cannot("hit-ratio-by-capacity", results)
        == "needs runs of one experiment at two or more capacities"
    )
    assert cannot("hit-ratio-by-capacity", [sweep[0], sweep[1], sweep[0]]) == (
        "needs one run per capacity of the last tier, not several"
    )
    assert cannot("curves", sweep) == "shows one run, got 3"
    alone = make_results(tmp_path, run_id="alone", vms=("a",), intervals=2)
    assert cannot("tier-split", alone) == "needs two VMs; the run has a alone"
    with pytest.raises(ConfigError, match=r"unknown figure 'curvs' \(did you mean 'curves'\?\)"):
        figures.plot("curvs", results)
    with pytest.raises(
        ConfigError, match="there are curve, reuse-intensity, tier-split, hit-ratio"
    ):
        figures.plot("nothing", results)


def test_more_vms_than_can_be_told_apart_are_not_drawn(tmp_path: Path) -> None:
    many = [f"vm{v}" for v in range(25)]
    results = make_results(tmp_path, run_id="many", vms=many, systems=["lru"], intervals=2)
    skipped: list[str] = []
    assert figures.draw(results, ["curves"], on_skip=skipped.append) == []
    assert skipped == [
        "curves (Hit ratio curves) is not drawn: shows VMs one by one, at most 24; the run has 25"
    ]


def test_drawing_goes_on_past_figures_that_cannot_be_drawn(tmp_path: Path) -> None:
    bare = make_results(tmp_path, run_id="bare", systems=["single-tier"], intervals=2)
    skipped: list[str] = []
    files = figures.draw(bare, ["targets", "curves"], on_skip=skipped.append)
    assert files == [bare.path / "figures" / "curves.png"]
    assert all(file.is_file() for file in files)
    assert sorted((bare.path / "figures").iterdir()) == sorted(files)
    assert skipped == ["targets (Targets) is not drawn: needs a system that uses all tiers"]


def test_figures_show_runs_without_the_papers_systems(tmp_path: Path) -> None:
    systems = [{"name": "hierarchy", "label": "arc", "policy": "arc"}, "static", "single-tier"]
    other = make_results(tmp_path, run_id="other", systems=systems, intervals=3)
    assert {name for name, reason in figures.missing(other).items() if reason} == {
        "hit-ratio-by-capacity"
    }
    # arc comes first; the best that uses all tiers is static.
    assert sheet_of("occupancy-baseline", other).title == "Occupancy under arc"
    assert sheet_of("occupancy", other).title == "Occupancy under static"
    (first, *_) = charts("hit-ratio-over-time", other)
    assert [one.look.label for one in first.series] == ["arc", "static", "single-tier"]


def test_the_best_systems_are_shown_and_the_choice_is_stated(tmp_path: Path) -> None:
    """Hits grow with the number of the system; Global LRU hits least."""
    many = ["lru", *({"name": "static", "label": f"static-{i:02}"} for i in range(13))]
    run = make_results(tmp_path, run_id="choice", systems=many, intervals=3)
    for name in ("hit-ratio", "latency", "tier-shares", "hit-ratio-by-tier"):
        sheet = sheet_of(name, run)
        assert sheet.notes[0] == "10 of 14 systems: the best nine and lru."
        first = sheet.charts[0]
        labels = list(first.x) if first.kind == "stacked" else [o.look.label for o in first.series]
        assert labels == ["lru", *(f"static-{i:02}" for i in range(4, 13))]
    (first, *_) = charts("hit-ratio-over-time", run)
    assert [one.look.label for one in first.series] == [
        "lru", "static-10", "static-11", "static-12",
    ]  # fmt: skip
    assert sheet_of("occupancy", run).title == "Occupancy under static-12"


def test_systems_are_chosen_by_name(results: Results, tmp_path: Path) -> None:
    (chart,) = charts("hit-ratio", results, systems=["multicache", "lru"])
    assert [one.look.label for one in chart.series] == ["lru", "multicache"]
    (same,) = charts("hit-ratio", results, systems=["multicache,lru"])
    assert [one.look.label for one in same.series] == ["lru", "multicache"]
    two = sheet_of("occupancy", results, systems=["static", "lru"])
    assert two.title == "Occupancy under static, lru"
    assert [chart.panel for chart in two.charts] == [
        "dram, static", "flash, static", "dram, lru", "flash, lru",
    ]  # fmt: skip
    with pytest.raises(ConfigError, match=r"systems: no 'multicach' \(did you mean 'multicache'"):
        figures.plot("hit-ratio", results, systems=["multicach"])
    drawn = figures.draw(results, ["latency"], tmp_path, systems=["static"])
    assert [path.name for path in drawn] == ["latency.png"]


def test_one_name_is_one_system_in_all_figures(tmp_path: Path) -> None:
    history = {"name": "multicache", "label": "multicache-history"}
    systems = ["lru", history, "multicache", {"name": "multicache", "label": "third"}]
    results = make_results(tmp_path, run_id="several", systems=systems, intervals=3)
    looks = system_looks(results.spec.systems)
    labels = ["lru", "multicache-history", "multicache", "third"]
    assert [look.label for look in looks.values()] == labels
    assert len({(look.color, look.dashes) for look in looks.values()}) == 4
    # The look of the kind is that of the system which has the kind's name.
    alone = system_looks([system for system in results.spec.systems if system.title == system.name])
    assert looks["multicache"] == alone["multicache"]
    assert looks["lru"] == alone["lru"]
    # The title names the system that is shown: the best.
    assert sheet_of("targets", results).title == "Targets of third"


def test_looks_differ_in_more_than_colour() -> None:
    looks = list(looks_of([f"vm{v}" for v in range(48)]).values())
    assert len({(look.color, look.dashes) for look in looks}) == 48
    assert len({look.marker for look in looks[:8]}) == 8


def test_no_two_lines_look_alike() -> None:
    names = [f"system {i}" for i in range(36)]
    systems = spec_of(["vm"], (1, 2), [{"name": "lru", "label": name} for name in names], "1h")
    for looks in (looks_of(names), system_looks(systems.systems)):
        drawn = [BLACK, *looks.values()]
        assert len({(look.color, look.dashes) for look in drawn}) == 37


@pytest.mark.parametrize(
    ("capacities", "unit", "shown", "are_labelled"),
    [
        ((2000, 10_000, 50_000), "blocks", [2000, 10_000, 50_000], True),
        ((2048, 4096, 16_384), "MiB", [8, 16, 64], True),
        ((262_144, 1_048_576, 2_621_440), "GiB", [1, 4, 10], True),
        ((12_345, 98_765), "MiB", [12_345 / 256, 98_765 / 256], False),
    ],
)
def test_sizes_are_in_the_unit_in_which_they_are_round(
    capacities: tuple[int, ...], unit: str, shown: list[float], are_labelled: bool
) -> None:
    x, found, ticks = axis_of_sizes(capacities, 4096)
    assert (x.tolist(), found) == (shown, unit)
    assert list(ticks) == (shown if are_labelled else [])


def test_the_last_interval_is_left_out_where_the_trace_ends_within_it(tmp_path: Path) -> None:
    run = make_results(tmp_path, run_id="partial", intervals=6)
    whole = over_time(run)
    assert len(whole.series[0].y) == 6
    for last, shown in ((5.2 * HOUR, 5), (5.95 * HOUR, 6)):
        run.environment["counted_ns"] = (0, int(last))
        chart = over_time(run)
        assert (len(chart.series[0].y), chart.x[-1]) == (shown, shown)
        assert chart.series[0].y.tolist() == whole.series[0].y[:shown].tolist()
        assert ("The last interval is left out" in chart.caption) == (shown == 5)


def test_vms_before_and_after_are_sorted_by_what_they_gain(results: Results) -> None:
    chart = before_and_after(results)
    assert [one.look.label for one in chart.series] == ["lru", "multicache-joint"]
    before, after = (
        [hit_ratio(results, system, str(vm)) for vm in chart.x]
        for system in ("lru", "multicache-joint")
    )
    assert chart.series[0].y == pytest.approx(before)
    assert chart.series[1].y == pytest.approx(after)
    gains = np.subtract(after, before)
    assert sorted(chart.x) == ["web_0", "web_1", "web_2", "web_3"]
    assert (np.diff(gains) <= 0).all()
    assert gains[0] > gains[-1]


def test_legends_leave_most_of_the_height(tmp_path: Path) -> None:
    systems = [{"name": "static", "label": f"a system with a long name {i}"} for i in range(10)]
    run = make_results(tmp_path, run_id="legend", systems=systems, intervals=3)
    for style in ("screen", "paper"):
        figure = figures.plot("hit-ratio", run, style)
        figure.draw_without_rendering()
        (legend,) = figure.legends
        assert legend.get_window_extent().height < figure.bbox.height / 3


def test_a_time_in_references_has_no_powers_of_ten(tmp_path: Path) -> None:
    results = make_results(tmp_path, run_id="counted", intervals=6, interval="500000 references")
    for name in ("reuse-intensity", "occupancy-baseline", "hit-ratio-over-time"):
        figure = figures.plot(name, results)
        figure.draw_without_rendering()
        axes = figure.axes[-1]
        assert axes.get_xlabel() == "Time (references)"
        assert axes.xaxis.get_offset_text().get_text() == ""
        assert "1 M" in [label.get_text() for label in axes.get_xticklabels()]


def test_vms_that_never_hit_have_no_panels(results: Results) -> None:
    # web_2 hits nothing, as the bars by VM state too.
    sheet = sheet_of("hit-ratio-over-time", results)
    assert [chart.panel for chart in sheet.charts] == ["all VMs", "web_0", "web_1", "web_3"]
    assert "Below 1 % under every system, not shown: web_2." in sheet.notes


def test_documents_get_figures_without_captions(tmp_path: Path, results: Results) -> None:
    (png, svg) = figures.draw(results, ["curves"], tmp_path, formats=("png", "svg"))
    assert (png.name, svg.name) == ("curves.png", "curves.svg")
    drawn = svg.read_text(encoding="utf-8")
    comments = re.findall(r"<!-- (.*?) -->", drawn)
    assert "synthetic workload" in comments
    assert not any("Hit ratio curves" in text or results.run_id in text for text in comments)
    assert results.run_id in re.sub(r"<!--.*?-->", "", drawn)


@pytest.mark.parametrize("name", ONE_RUN)
def test_figures_for_papers_have_no_captions(name: str, results: Results) -> None:
    shown = flat(figures.plot(name, results, style="paper"))
    assert results.run_id not in shown
    assert sheet_of(name, results).title not in shown
    assert "synthetic workload" in shown


def test_figures_for_papers_have_their_fonts(tmp_path: Path, results: Results) -> None:
    draw = functools.partial(figures.draw, results, ["curves"], style="paper")
    (pdf, svg) = draw(tmp_path, formats=("pdf", "svg"))
    # TrueType, embedded; letters are outlines.
    assert b"/FontFile2" in pdf.read_bytes()
    assert b"/Type3" not in pdf.read_bytes()
    assert "<text" not in svg.read_text(encoding="utf-8")


def test_the_style_of_a_paper_ends_with_its_figure(results: Results) -> None:
    before = figures.plot("hit-ratio", results).get_figwidth()
    figures.plot("hit-ratio", results, style="paper")
    assert figures.plot("hit-ratio", results).get_figwidth() == before == 7.0


def lightness(color: str) -> float:
    """CIE 1976 L*, from sRGB."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _rgb(color)]
    luminance = float(np.dot([0.2126, 0.7152, 0.0722], linear))
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def test_colours_stand_out_on_white(results: Results) -> None:
    """WCAG 2.2, 1.4.11: 3 to 1; L* of 61.7 is a luminance of .3."""
    looks = looks_of([f"vm{v}" for v in range(49)]) | system_looks(results.spec.systems)
    assert max(lightness(look.color) for look in looks.values()) < 61.7


def test_neighbours_differ_in_grey() -> None:
    looks = list(looks_of([f"vm{v}" for v in range(49)]).values())
    for one, other in itertools.pairwise(looks):
        assert abs(lightness(one.color) - lightness(other.color)) > 15
        assert one.marker != other.marker
    assert all(one.dashes != other.dashes for one, other in itertools.pairwise(looks[:8]))


def test_systems_are_told_apart_in_grey(results: Results) -> None:
    looks = list(system_looks(results.spec.systems).values())
    for one, other in itertools.combinations(looks, 2):
        assert one.marker != other.marker


def test_several_runs_need_a_folder(tmp_path: Path, sweep: list[Results]) -> None:
    with pytest.raises(ConfigError, match="need a folder"):
        figures.draw(sweep)
    files = figures.draw(sweep, folder=tmp_path)
    assert [file.name for file in files] == ["hit-ratio-by-capacity.png"]


def test_files_name_their_runs(tmp_path: Path, results: Results, recorded: Results) -> None:
    for run, synthetic in ((results, True), (recorded, False)):
        for file in figures.draw(run, ["curves"], tmp_path, formats=("png", "pdf", "svg")):
            data = file.read_bytes()
            assert run.run_id.encode() in data
            assert (b"synthetic workload" in data) == synthetic
            assert b"CreationDate" not in data


def test_the_same_results_give_the_same_bytes(tmp_path: Path, results: Results) -> None:
    """In another process, with other string hashes."""
    program = (
        "import sys; from mcsim import figures; from mcsim.results.results import Results; "
        "figures.draw(Results.open(sys.argv[1]), ['reuse-intensity'], sys.argv[2], "
        "formats=('png', 'pdf'))"
    )
    done = python("-c", program, results.path, tmp_path / "other", env={"PYTHONHASHSEED": "1"})
    assert done.returncode == 0, done.stderr
    files = figures.draw(results, ["reuse-intensity"], tmp_path, formats=("png", "pdf"))
    assert [file.suffix for file in files] == [".png", ".pdf"]
    for file in files:
        assert file.read_bytes() == (tmp_path / "other" / file.name).read_bytes()


def test_a_figure_that_cannot_be_written_is_an_error(tmp_path: Path, results: Results) -> None:
    blocked = tmp_path / "curves.png"
    blocked.mkdir()
    with pytest.raises(ConfigError, match=r"curves\.png: not a regular file"):
        figures.draw(results, ["reuse-intensity", "curves"], tmp_path)


def test_listing_figures_does_not_load_matplotlib() -> None:
    program = "import sys, mcsim.figures; assert 'matplotlib' not in sys.modules"
    done = python("-c", program)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("error")
def test_a_tier_of_no_blocks_is_drawn_without_a_warning(tmp_path: Path) -> None:
    run = make_results(tmp_path, capacities=(0, 2500), intervals=3)
    assert figures.draw(run, ["occupancy", "targets"])
