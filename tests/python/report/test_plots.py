"""Charts as Bokeh's JSON: Bokeh itself reads them, and checks each property of each model."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from bokeh.document import Document
from bokeh.models import GlyphRenderer, HoverTool, Plot

from mcsim.figures.chart import Chart, Series
from mcsim.figures.looks import looks_of
from mcsim.report.plots import library, plot, swatch

EDGES = np.array([0.0, 2.0, 4.0, 8.0])
NAMES = ["first", "second", "third"]
LOOKS = list(looks_of([f"series {i}" for i in range(12)]).values())
Y = np.array([3.0, np.nan, 0.25])


def chart(kind: Any, **told: Any) -> Chart:
    x: Any = NAMES if kind in ("bars", "stacked") else EDGES[1:]
    if kind in ("steps", "areas"):
        x = EDGES
    series = [Series(look, Y + i) for i, look in enumerate(LOOKS)]
    return Chart("Title", "It says.", kind, x, series, "across", "up", **told)


def read(drawn: Any) -> Plot:
    """Return a plot as Bokeh reads it, which rejects unknown models and properties."""
    item = json.loads(json.dumps(drawn, allow_nan=False))
    (root,) = Document.from_json(item["doc"]).roots
    assert isinstance(root, Plot)
    assert root.id == item["root_id"]
    return root


def drawn_of(root: Plot, i: int) -> GlyphRenderer:
    """Return what is drawn of series number i: its markers, if it has any, come after it."""
    return next(part for part in root.renderers if f"s{i}" in part.tags)


def value(spec: Any) -> Any:
    """Return a property of all glyphs, given as a value or a column."""
    return getattr(spec, "value", spec)


@pytest.mark.parametrize("kind", ["lines", "steps", "areas", "points", "bars", "stacked"])
def test_bokeh_reads_every_kind_and_finds_the_values_in_it(kind: str) -> None:
    root = read(plot(chart(kind)))
    column = {"bars": "top", "stacked": "own"}.get(kind, "y")
    for i, look in enumerate(LOOKS):
        part = drawn_of(root, i)
        assert part.name == look.label
        properties = part.glyph.properties_with_values()
        color = properties["fill_color" if "fill_color" in properties else "line_color"]
        assert value(color) == look.color
    held = np.append(Y + 3, Y[-1] + 3) if kind in ("steps", "areas") else Y + 3
    if kind == "points":
        held = held[~np.isnan(held)]
    data = drawn_of(root, 3).data_source.data
    if kind == "areas":
        np.testing.assert_array_equal(data["top"] - data["below"], np.nan_to_num(held))
    else:
        np.testing.assert_array_equal(data[column], held)


def test_bars_stand_beside_and_stacks_upon_one_another() -> None:
    beside = [drawn_of(read(plot(chart("bars"))), i).data_source.data["x"] for i in range(12)]
    assert (np.diff(beside, axis=0) > 0).all()
    root = read(plot(chart("stacked")))
    sources = [drawn_of(root, i).data_source.data for i in range(12)]
    for below, above in pairwise(sources):
        np.testing.assert_array_equal(above["left"], below["right"])
    assert root.y_range.flipped
    assert [text.text for text in root.left[0].major_label_overrides.values()] == NAMES


def test_long_names_are_slanted_and_short_ones_are_not() -> None:
    assert read(plot(chart("bars"))).below[0].major_label_orientation == "horizontal"
    names = [f"a machine of number {i}" for i in range(3)]
    long = Chart("T", "It says.", "bars", names, [Series(LOOKS[0], Y)], "", "up")
    assert 0 < read(plot(long)).below[0].major_label_orientation < np.pi / 2


def test_axes_are_logarithmic_where_that_is_asked_and_begin_at_zero_where_not() -> None:
    root = read(plot(chart("lines", log_x=True, log_y=True)))
    kinds = [type(part).__name__ for part in (root.x_scale, root.y_scale, root.below[0])]
    assert kinds == ["LogScale", "LogScale", "LogAxis"]
    assert np.isnan(root.y_range.start)
    assert read(plot(chart("lines"))).y_range.start == 0
    below = Chart("T", "It says.", "lines", EDGES[1:], [Series(LOOKS[0], Y - 1)], "", "")
    assert np.isnan(read(plot(below)).y_range.start)


def test_names_stand_at_positions_and_values() -> None:
    root = read(plot(chart("steps", marks=[(2.5, "here")], levels=[(1.5, "high")])))
    notes = {note.text.text: (note.x, note.y) for note in root.center if hasattr(note, "text")}
    assert notes == {"here": (2.5, 6), "high": (6, 1.5)}
    spans = [(n.location, n.dimension) for n in root.center if type(n).__name__ == "Span"]
    assert spans == [(2.5, "height"), (1.5, "width")]


@pytest.mark.parametrize("kind", ["lines", "steps", "areas", "points", "bars", "stacked"])
def test_the_pointer_is_told_columns_that_there_are(kind: str) -> None:
    root = read(plot(chart(kind)))
    (hover,) = root.select({"type": HoverTool})
    parts = root.renderers if hover.renderers == "auto" else hover.renderers
    columns = {name for part in parts for name in part.data_source.data}
    told = {where[1:].partition("{")[0] for _, where in hover.tooltips if where[0] == "@"}
    assert told
    assert told <= columns


def test_bands_and_maps_have_their_numbers() -> None:
    one = Series(LOOKS[0], Y[:1], EDGES[1:2], low=Y[:1] - 1, high=Y[:1] + 1)
    root = read(plot(Chart("T", "It says.", "lines", np.zeros(0), [one], "x", "y")))
    band = drawn_of(root, 0).data_source.data
    assert (band["low"].tolist(), band["high"].tolist()) == ([2], [4])
    rows = [Series(LOOKS[0], np.array([1.0, 2.0])), Series(LOOKS[0], np.array([3.0, np.nan]))]
    shown = Chart("T", "It says.", "map", ["a", "b"], rows, "x", "y", rows=["c", "d"])
    (cells,) = read(plot(shown)).renderers
    np.testing.assert_array_equal(cells.data_source.data["value"], [1, 2, 3, np.nan])
    assert cells.data_source.data["left"].tolist() == [-0.5, 0.5, -0.5, 0.5]


def test_the_same_chart_gives_the_same_json_whatever_was_made_before() -> None:
    first = plot(chart("lines"))
    plot(chart("bars"))
    assert plot(chart("lines")) == first


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_swatches_are_svg(kind: str) -> None:
    for look in LOOKS:
        assert ElementTree.fromstring(swatch(look, kind)).tag == "svg"
        assert look.color in swatch(look, kind)


def test_the_library_is_that_of_the_package() -> None:
    from bokeh.resources import INLINE

    assert any(library() in part for part in INLINE.js_raw)
