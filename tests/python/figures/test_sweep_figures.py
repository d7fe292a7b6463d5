# Trusts: a table of a few rows that is written out here.
"""Lines, spreads and maps of the joined table of a sweep."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pyarrow as pa
import pytest
from layout import check_layout

from mcsim.base.errors import ConfigError
from mcsim.figures.style import styled
from mcsim.figures.sweeps import axes_of, axis_label, main_axis, over_axis, over_two_axes, series


def table(**changed: Any) -> pa.Table:
    """Hit ratios with the size, system and seed in their digits."""
    rows = []
    cells = itertools.product((10, 100, 1000), ("lru", "arc"), (1, 2))
    for cell, (size, system, seed) in enumerate(cells):
        ratio = size / 10_000 + (0.5 if system == "arc" else 0) + 0.02 * seed
        for vm in ("a", None):
            rows.append(
                {
                    "cell": cell,
                    "run_id": f"x-{cell}",
                    "tiers.0.capacity": size,
                    "tiers.1.capacity": 10 * size,
                    "systems": f"policy={system}",
                    "seed": seed,
                    "system": "hierarchy",
                    "vm": vm,
                    "hits": 7,
                    "hit_ratio": ratio if vm is None else 0.25,
                }
            )
    return pa.Table.from_pylist([{**row, **changed} for row in rows])


def test_axes() -> None:
    assert axes_of(table()) == [
        "tiers.0.capacity",
        "tiers.1.capacity",
        "systems",
        "seed",
    ]
    assert main_axis(table()) == "tiers.0.capacity"


@pytest.mark.parametrize("seed", ["seed", "workload.seed"])
def test_a_line_for_each_system_with_the_spread_over_seeds(seed: str) -> None:
    names = [seed if name == "seed" else name for name in table().column_names]
    at, (lru, arc) = series(table().rename_columns(names), "tiers.0.capacity")
    assert at == [10, 100, 1000]
    assert (lru.label, arc.label) == ("policy=lru", "policy=arc")
    assert lru.middle == pytest.approx([0.031, 0.04, 0.13])
    assert arc.low == pytest.approx([0.521, 0.53, 0.62])
    assert arc.high == pytest.approx([0.541, 0.55, 0.64])
    _, of_vm = series(table(), "tiers.0.capacity", vm="a")
    assert [line.middle.tolist() for line in of_vm] == [[0.25] * 3] * 2


def test_what_is_not_there_is_a_gap() -> None:
    some = table().filter(
        pa.array([cell != 0 and cell != 1 for cell in table()["cell"].to_pylist()])
    )
    _, (lru, arc) = series(some, "tiers.0.capacity")
    assert (lru.label, arc.label) == ("policy=arc", "policy=lru")
    assert math.isnan(arc.middle[0])


def test_the_lines_drawn_are_these() -> None:
    sheet = over_axis(table())
    (chart,) = sheet.charts
    lru, arc = chart.series
    assert lru.y == pytest.approx([3.1, 4, 13])
    assert arc.y == pytest.approx([53.1, 54, 63])
    assert arc.low == pytest.approx([52.1, 53, 62])
    assert arc.high == pytest.approx([54.1, 55, 64])
    assert chart.log_x
    assert (chart.x_label, chart.y_label) == ("Capacity of tier 1 (blocks)", "Hit ratio (%)")
    assert sheet.notes == ["Mean over seeds; bands: least to most."]
    assert chart.title == "Hit ratio over capacity of tier 1"


@pytest.mark.parametrize(
    ("sizes", "labels"),
    [
        ((250_000, 750_000, 4_000_000), ["250,000", "750,000", "4 M"]),
        ((1024, 2048, 16_384), ["1,024", "2,048", "16,384"]),
    ],
)
def test_sizes_are_labelled_as_they_are(sizes: tuple[int, ...], labels: list[str]) -> None:
    given = table()
    named = dict(zip((10, 100, 1000), sizes, strict=True))
    column = pa.array([named[size] for size in given["tiers.0.capacity"].to_pylist()])
    with styled():
        figure = over_axis(given.set_column(2, "tiers.0.capacity", column)).finish()
    (axes,) = figure.axes
    shown = [label.get_text() for label in axes.get_xticklabels(which="both")]
    assert [text for text in shown if text] == labels


def test_latencies_have_the_unit_that_suits_them() -> None:
    whole = table()
    slow = pa.array([5_000_000.0 * (1 + cell) for cell in whole["cell"].to_pylist()])
    (chart,) = over_axis(
        whole.append_column("mean_latency_ns", slow), value="mean_latency_ns"
    ).charts
    assert chart.y_label == "Mean latency (ms)"
    assert chart.series[0].y[0] == pytest.approx(5 * 1.5)


def test_of_many_lines_the_best_are_shown() -> None:
    rows = [
        {
            "cell": 0,
            "run_id": "x",
            "size": size,
            "system": f"s{i:02}",
            "vm": None,
            "hit_ratio": i / 20,
        }
        for size in (1, 2)
        for i in range(12)
    ]
    sheet = over_axis(pa.Table.from_pylist(rows))
    assert [one.look.label for one in sheet.charts[0].series] == [f"s{i:02}" for i in range(2, 12)]
    assert sheet.notes == ["10 of 12 lines: the highest on average."]


def test_names_of_axes_have_units() -> None:
    axes = ("tiers.1.capacity", "tiers.0.capacity_blocks", "workload.alpha", "window_ns", "systems")
    assert [axis_label(axis) for axis in axes] == [
        "Capacity of tier 2 (blocks)", "Capacity of tier 1 (blocks)", "Alpha of workload",
        "Window (ns)", "Systems",
    ]  # fmt: skip


def test_a_map_of_two_axes_for_each_system() -> None:
    sheet = over_two_axes(table(), "tiers.0.capacity", "seed", vm="a", value="hits")
    assert [[one.y.tolist() for one in chart.series] for chart in sheet.charts] == (
        [[[7.0] * 3] * 2] * 2
    )
    assert [chart.panel for chart in sheet.charts] == ["policy=lru", "policy=arc"]
    (chart, *_) = over_two_axes(table(), "tiers.1.capacity", "systems").charts
    assert chart.series[0].y == pytest.approx([3.1, 4, 13])
    with styled():
        check_layout(sheet.finish(), 7)


def test_mistakes() -> None:
    with pytest.raises(ConfigError, match="no axis 'sed' \\(did you mean 'seed'\\?\\); there are"):
        over_axis(table(), "sed")
    with pytest.raises(ConfigError, match="no column of numbers 'hit_ration' \\(did you mean"):
        over_axis(table(), value="hit_ration")
    with pytest.raises(ConfigError, match="no VM 'b'"):
        over_axis(table(), vm="b")
