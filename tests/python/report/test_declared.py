# Trusts: sums, ratios and positions worked by hand; and what Bokeh's JSON says is drawn.
"""Plots declared over tables, and their charts."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from made_up import outcome

from mcsim.base.errors import ConfigError
from mcsim.figures.chart import Chart
from mcsim.figures.declared import Plot, charts_of
from mcsim.figures.looks import looks_of
from mcsim.report.plots import plot
from mcsim.report.tables import table_of
from mcsim.reproduce.catalogue import Found
from mcsim.reproduce.render import reproduction_page

VILLAINS = ["<script>alert(1)</script>", "'\"><img src=x onerror=alert(1)>", "$$x$$ @y{0} \\"]
KINDS = ["lines", "steps", "areas", "points", "bars", "stacked"]

HELD = pa.table(
    {
        "vm": ["a", "b", "a", "b", "a", "b"],
        "tier": [0, 0, 1, 1, 0, 0],
        "hour": [1, 1, 1, 1, 0, 0],
        "hits": [4, 1, 5, 2, 3, None],
        "accesses": [8, 4, 10, 0, 6, 4],
        "tiers": [[0.5, 0.25], [1.0], [0.5, 0.5], [], [0.1, 0.2], None],
    }
)


def of(kind: Any = "lines", **more: Any) -> Plot:
    given: dict[str, Any] = {"x": "hour", "y": "hits", "x_label": "Time (h)", "y_label": "Hits"}
    return Plot("Hits", "It says.", "held", kind=kind, **{**given, **more})


def charts(*plots: Plot, held: pa.Table = HELD) -> list[Chart]:
    return charts_of(plots, {"held": held})


def shown(chart: Chart) -> dict[str, list[float | None]]:
    return {s.look.label: [None if v != v else float(v) for v in s.y] for s in chart.series}


def test_rows_are_lines_in_the_order_of_positions() -> None:
    (chart,) = charts(of(by=["vm"], only={"tier": 0}, y_times=100, over="accesses"))
    assert shown(chart) == {"a": [50.0, 50.0], "b": [None, 25.0]}
    assert list(chart.x) == [0, 1]
    assert chart.caption == "It says. From left to right: a (50), b (25)."


def test_each_value_of_a_column_has_a_plot_of_its_own() -> None:
    first, second = charts(of(each=["tier"], by=["vm"]))
    assert (first.title, second.title) == ("Hits: 0", "Hits: 1")
    assert shown(first) == {"a": [3, 4], "b": [None, 1]}
    assert shown(second) == {"a": [5], "b": [2]}


def test_rows_at_one_place_are_added_up_where_it_is_said() -> None:
    (chart,) = charts(of("steps", sums=True))
    assert shown(chart) == {"Hits": [None, 12]}
    with pytest.raises(ConfigError, match=r"^plot 'Hits': two rows at one place; say `by` or `su"):
        charts(of("steps"))


def test_intervals_end_where_the_next_begins() -> None:
    (chart,) = charts(of("areas", by=["vm"], only={"tier": 0}))
    assert list(chart.x) == [0, 1, 2]
    assert chart.caption.endswith("In the mean: a (3.5), b (1).")


def test_columns_and_elements_of_lists_are_series() -> None:
    columns = {"tiers.0": "fast", "tiers.1": "slow"}
    (chart,) = charts(of("bars", x="vm", y=columns, only={"hour": 1, "tier": 0}))
    assert list(chart.x) == ["a", "b"]
    assert shown(chart) == {"fast": [0.5, 1.0], "slow": [0.25, None]}


def test_stacked_bars_have_their_values_from_left_to_right() -> None:
    (chart,) = charts(of("stacked", x="vm", by=["tier"], only={"hour": 1}, x_label="VM"))
    assert (chart.x_label, chart.y_label) == ("Hits", "VM")
    assert shown(chart) == {"0": [4, 1], "1": [5, 2]}


def test_points_may_share_a_place() -> None:
    (chart,) = charts(of("points"))
    assert shown(chart) == {"Hits": [4, 1, 5, 2, 3, None]}


def test_who_is_called_the_same_looks_the_same() -> None:
    a, b, c = looks_of(["a", "b", "c"]).values()
    first, second = charts(of(by=["vm"], each=["hour"], only={"tier": 0}))
    assert [series.look for series in second.series] == [a, b]
    assert [series.look.color for series in first.series] == [a.color, b.color]
    # Series with a fixed look keep it and come first.
    mine, other = charts(of(by=["vm"], looks={"b": a}, only={"tier": 0}))[0].series
    assert mine.look == a
    assert (other.look.label, other.look.color) == ("a", b.color)
    assert c not in (mine.look, other.look)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"x": "hours"}, r"no column 'hours' in table 'held' \(did you mean 'hour'\?\)"),
        ({"by": ["who"]}, "no column 'who' in table 'held'"),
        ({"only": {"teir": 0}}, r"no column 'teir' in table 'held' \(did you mean 'tier'\?\)"),
        ({"table": "helt"}, r"no table 'helt' \(did you mean 'held'\?\)"),
    ],
)
def test_what_is_not_there_is_named(wrong: dict[str, Any], message: str) -> None:
    given = {"table": "held", "x": "hour", "y": "hits", **wrong}
    with pytest.raises(ConfigError, match=f"^plot 'T': {message}$"):
        charts_of([Plot("T", "S.", **given)], {"held": HELD})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [0, 1])
def test_an_empty_table_has_no_plot_and_a_point_has_one(kind: str, rows: int) -> None:
    found = charts(of(kind, by=["vm"]), held=HELD.slice(0, rows))
    assert len(found) == rows
    for chart in found:
        assert json.dumps(plot(chart), allow_nan=False)
        assert len(table_of(chart).rows) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_number_is_left_out(kind: str) -> None:
    values = [float("nan"), float("inf"), None, -1.0]
    table = pa.table({"vm": list("abcd"), "hour": [0, 1, 2, 3], "hits": values})
    (chart,) = charts(of(kind), held=table)
    assert [v for v in shown(chart)["Hits"] if v is not None] == [-1.0]
    # An axis does not begin at zero where values are below.
    assert "Infinity" not in json.dumps(plot(chart))
    assert charts(of(kind), held=table.slice(0, 3)) == []


def test_a_logarithmic_axis_has_what_is_above_zero() -> None:
    table = pa.table({"hour": [0, 1, 10, 100], "hits": [1.0, 0.0, -2.0, 5.0]})
    (chart,) = charts(of(log_x=True, log_y=True), held=table)
    assert list(chart.x) == [1, 10, 100]
    assert shown(chart) == {"Hits": [None, None, 5]}
    drawn = json.dumps(plot(chart))
    assert drawn.count('"LogScale"') == 2
    assert '"start": 0' not in drawn


def test_values_below_zero_are_seen() -> None:
    table = pa.table({"hour": [0, 1], "hits": [-3.0, 2.0]})
    (chart,) = charts(of(), held=table)
    assert '"start": 0' not in json.dumps(plot(chart))


def test_marks_and_levels_have_their_names() -> None:
    (chart,) = charts(of(sums=True, marks=[(0.5, "here")], levels=[(7, "there")]))
    drawn = json.dumps(plot(chart))
    for text in ('"location": 0.5', '"location": 7.0', '"text": "here"', '"text": "there"'):
        assert text in drawn


def test_a_long_line_is_thinned_to_what_can_be_seen() -> None:
    hour = np.arange(50_000)
    table = pa.table({"hour": hour, "hits": np.sin(hour / 4000)})
    (chart,) = charts(of(), held=table)
    assert len(chart.x) <= 1000
    assert (chart.x[0], chart.x[-1]) == (0, 49_999)
    assert len(json.dumps(plot(chart))) < 30_000


def test_a_declaration_survives_json() -> None:
    declared = of(
        "steps",
        by=["vm"],
        only={"tier": 0},
        marks=[(1.0, "one")],
        looks=looks_of(["b", "a"]),
    )
    again = Plot.of(json.loads(json.dumps(asdict(declared))))
    assert [plot(chart) for chart in charts(again)] == [plot(chart) for chart in charts(declared)]


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_names_whatever_they_look_like(kind: str) -> None:
    table = pa.table({"vm": VILLAINS, "hour": [0, 1, 2], "hits": [1.0, 2.0, 3.0]})
    villain = VILLAINS[0]
    declared = Plot(
        villain, villain, villain, "vm" if kind in ("bars", "stacked") else "hour", "hits",
        villain, villain, kind, by=["vm"], marks=[(1, villain)], levels=[(1, villain)],
    )  # fmt: skip
    figure = outcome("a/b", villain, Found(tables={villain: table}, plots=[declared]))
    page = reproduction_page([figure])
    assert "<script>alert" not in page
    assert "<img" not in page
    (drawn,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert villain in json.dumps(json.loads(drawn), ensure_ascii=False)
    assert page == reproduction_page([figure])


def test_the_library_is_there_once() -> None:
    figures = [
        outcome(name, name, Found(tables={"held": HELD}, plots=[of("points")]))
        for name in ("a/one", "a/two")
    ]
    page = reproduction_page(figures)
    assert page.count('type="application/json"') == 2
    assert len(page) < 1_400_000
