# Trusts: rows made up by hand, and what matplotlib says that it draws.
from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mcsim.figures.divided import given_over_time, lines_by_panel, multiples_by_vm

GIVEN = pa.table(
    {
        "system": ["x"] * 4 + ["y"] * 4,
        "minute": [10, 10, 20, 20] * 2,
        "vm": ["a", "b"] * 4,
        "blocks": [1, 2, 3, 4, 5, 6, 7, 8],
    }
)


def test_blocks_given_are_stacked() -> None:
    sheet = given_over_time(GIVEN, capacity=16)
    x, y = sheet.axes
    assert [axes.get_title(loc="left") for axes in sheet.axes] == ["x", "y"]
    first, second = (patch.get_data() for patch in y.patches)
    assert first.edges.tolist() == [10, 20, 30]
    assert (first.values.tolist(), second.values.tolist()) == ([5, 7], [11, 15])
    assert second.baseline.tolist() == first.values.tolist()
    assert [patch.get_label() for patch in sheet.legend] == ["a", "b"]
    assert x.get_ylim() == y.get_ylim()
    assert sheet.notes == ["The dashed line is the capacity."]


def test_a_capacity_far_above_is_not_drawn() -> None:
    sheet = given_over_time(GIVEN, capacity=1000)
    assert sheet.notes == []
    assert all(not axes.lines for axes in sheet.axes)


def test_multiples_have_a_bar_for_each_vm() -> None:
    table = pa.table({"vm": ["a", "b"], "writes": [0.5, 1.5], "speed": [2.0, 1.0]})
    sheet = multiples_by_vm(table, {"writes": "Writes", "speed": "Speed"}, "Centaur")
    heights = [[bar.get_height() for bar in axes.patches] for axes in sheet.axes]
    assert heights == [[0.5, 1.5], [2.0, 1.0]]
    assert sheet.axes[0].get_ylabel() == "× Centaur"
    assert [axes.get_title(loc="left") for axes in sheet.axes] == ["Writes", "Speed"]


@pytest.mark.parametrize(("points", "marked"), [(3, True), (50, False)])
def test_lines_are_over_what_was_varied(points: int, marked: bool) -> None:
    x = np.tile(np.arange(points), 4)
    panel = np.repeat(["left", "right"], 2 * points)
    line = np.tile(np.repeat(["u", "v"], points), 2)
    table = pa.table({"panel": panel, "line": line, "x": x, "y": np.arange(len(x))})
    sheet = lines_by_panel(table, "panel", "line", ("x", "X"), ("y", "Y"))
    u, v = sheet.axes[1].lines
    assert (u.get_label(), v.get_label()) == ("u", "v")
    assert np.asarray(v.get_ydata()).tolist() == list(range(3 * points, 4 * points))
    assert (u.get_marker() != "") == marked
    assert sheet.axes[0].get_ylim()[0] == 0
    assert (
        lines_by_panel(table, "panel", "line", ("x", "X"), ("y", "Y"), log=True)
        .axes[0]
        .get_yscale()
        == "log"
    )
