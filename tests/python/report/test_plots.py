"""Charts as Bokeh's JSON: Bokeh itself reads them, and checks each property of each model."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from bokeh.document import Document
from bokeh.models import GlyphRenderer, HoverTool, Plot

from mcsim.figures.looks import looks_of
from mcsim.report.charts import Chart, Series
from mcsim.report.models import by_column, document, library, model
from mcsim.report.plots import plot

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


def read(drawn: tuple[Any, list[Any]]) -> Plot:
    """Have Bokeh read a plot, its columns in their places: it refuses what it does not know."""
    item, columns = json.loads(json.dumps(drawn, allow_nan=False))

    def fill(node: Any) -> None:
        if isinstance(node, dict) and node.get("name") == "ColumnDataSource":
            node["attributes"]["data"] = columns[node["attributes"]["data"]]
        elif isinstance(node, (dict, list)):
            for each in node.values() if isinstance(node, dict) else node:
                fill(each)

    fill(item)
    # In the browser these have defaults.
    empty = Document().to_json(deferred=False)
    found = Document.from_json(empty | item["doc"])
    (root,) = found.roots
    assert isinstance(root, Plot)
    assert root.id == item["root_id"]
    assert item["doc"]["version"] == empty["version"]
    return root


def drawn_of(root: Plot, i: int) -> GlyphRenderer:
    """Return what is drawn of series number i: its markers, if it has any, come after it."""
    return next(part for part in root.renderers if f"s{i}" in part.tags)


def value(spec: Any) -> Any:
    """Return what a property is for all that is drawn, however it is told."""
    return getattr(spec, "value", spec)


@pytest.mark.parametrize("kind", ["lines", "steps", "areas", "points", "bars", "stacked"])
def test_bokeh_reads_every_kind_and_finds_the_values_in_it(kind: str) -> None:
    root = read(plot(chart(kind)))
    column = {"steps": "y3", "areas": "y3", "bars": "top", "stacked": "own"}.get(kind, "y")
    for i, look in enumerate(LOOKS):
        part = drawn_of(root, i)
        assert part.name == look.label
        properties = part.glyph.properties_with_values()
        color = properties["fill_color" if "fill_color" in properties else "line_color"]
        assert value(color) == look.color
    held = np.append(Y + 3, Y[-1] + 3) if kind in ("steps", "areas") else Y + 3
    np.testing.assert_array_equal(drawn_of(root, 3).data_source.data[column], held)


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


def test_a_model_that_is_in_two_places_is_written_once() -> None:
    range_, source = model("DataRange1d"), model("ColumnDataSource", data={"type": "map"})
    glyphs = [model("Line", x=by_column(name), y=by_column("y")) for name in ("a", "b")]
    parts = [model("GlyphRenderer", data_source=source, glyph=glyph) for glyph in glyphs]
    item = document(model("Plot", x_range=range_, y_range=range_, renderers=parts))
    root = item["doc"]["roots"][0]["attributes"]
    assert root["y_range"] == {"id": root["x_range"]["id"]}
    first, second = (part["attributes"]["data_source"] for part in root["renderers"])
    assert second == {"id": first["id"]}


def test_the_library_is_that_of_the_package() -> None:
    from bokeh.resources import INLINE

    assert any(library() in part for part in INLINE.js_raw)
