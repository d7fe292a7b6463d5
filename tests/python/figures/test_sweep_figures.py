# Trusts: a table of a few rows that is written out here.
"""What figures and tables of a sweep show: lines, spreads and maps of its joined table."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pyarrow as pa
import pytest
from mcsim.sweeps.latex import latex_of

from mcsim.base.errors import ConfigError
from mcsim.figures.style import styled
from mcsim.figures.sweeps import axes_of, main_axis, over_axis, over_two_axes, series


def table(**changed: Any) -> pa.Table:
    """Hit ratios that say by their digits where they are from: size, system, seed."""
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
    with styled():
        sheet = over_axis(table())
        (axes,) = sheet.axes
        drawn = [line.get_ydata().tolist() for line in axes.lines]
    assert drawn[0] == pytest.approx([3.1, 4, 13])
    assert drawn[1] == pytest.approx([53.1, 54, 63])
    assert len(axes.collections) == 2
    assert axes.get_xscale() == "log"
    assert sheet.notes == ["Lines: mean over seeds; bands: least to most."]


def test_sizes_of_less_than_two_decades_are_labelled_as_others() -> None:
    sizes = {10: 250_000, 100: 750_000, 1000: 4_000_000}
    given = table()
    column = pa.array([sizes[size] for size in given["tiers.0.capacity"].to_pylist()])
    with styled():
        sheet = over_axis(given.set_column(2, "tiers.0.capacity", column))
        sheet.frame("title", "footer")
        (axes,) = sheet.axes
        shown = [label.get_text() for label in axes.get_xticklabels(which="both")]
    assert [text for text in shown if text] == ["250 k", "750 k", "4 M"]


def test_a_map_of_two_axes_for_each_system() -> None:
    with styled():
        sheet = over_two_axes(table(), "tiers.0.capacity", "seed", vm="a", value="hits")
        cells = [axes.images[0].get_array().tolist() for axes in sheet.axes]
        titles = [axes.get_title(loc="left") for axes in sheet.axes]
    assert cells == [[[7.0] * 3] * 2] * 2
    assert titles == ["policy=lru", "policy=arc"]
    with styled():
        sheet = over_two_axes(table(), "tiers.1.capacity", "systems")
    assert sheet.axes[0].images[0].get_array().tolist()[0] == pytest.approx([3.1, 4, 13])


def test_mistakes() -> None:
    with pytest.raises(ConfigError, match="no axis 'sed' \\(did you mean 'seed'\\?\\); there are"):
        over_axis(table(), "sed")
    with pytest.raises(ConfigError, match="no column of numbers 'hit_ration' \\(did you mean"):
        over_axis(table(), value="hit_ration")
    with pytest.raises(ConfigError, match="no VM 'b'"):
        over_axis(table(), vm="b")


def test_latex() -> None:
    assert latex_of(table(), "tiers.0.capacity") == (
        "\\begin{tabular}{rrr}\n"
        "\\toprule\n"
        "tiers.0.capacity & policy=lru & policy=arc \\\\\n"
        "\\midrule\n"
        "10 & 0.031 & 0.531 \\\\\n"
        "100 & 0.04 & 0.54 \\\\\n"
        "1,000 & 0.13 & 0.63 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )
