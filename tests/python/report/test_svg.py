# Trusts: an interpreter of paths that knows absolute and relative commands alike, written here from
# the SVG standard, and the standard library's XML parser.
from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import made_up
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcsim import figures
from mcsim.report.svg import lean

NAMES = ("web_0", "a\"b'; c", "<i>&amp;", "x  y")


def corners(path: str) -> list[tuple[float, float]]:
    """Where a path goes: all its points, absolute."""
    points = []
    x = y = 0.0
    start = (0.0, 0.0)
    for command, text in re.findall(r"([A-Za-df-z])([^A-Za-df-z]*)", path):
        numbers = [float(n) for n in re.findall(r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?", text)]
        if command in "zZ":
            x, y = start
            points.append((x, y))
            continue
        if command in "hv":
            for number in numbers:
                x, y = (x + number, y) if command == "h" else (x, y + number)
                points.append((x, y))
            continue
        each = {"m": 2, "l": 2, "q": 4, "c": 6}[command.lower()]
        assert len(numbers) % each == 0
        assert numbers
        for i in range(0, len(numbers), each):
            pairs = list(zip(numbers[i : i + each : 2], numbers[i + 1 : i + each : 2], strict=True))
            if command.islower():
                pairs = [(x + dx, y + dy) for dx, dy in pairs]
            points += pairs
            x, y = pairs[-1]
        if command in "mM":
            start = (x, y)
    return points


def bends(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points without those that repeat, or lie on the straight way along an axis."""
    kept: list[tuple[float, float]] = []
    for point in points:
        if kept and point == kept[-1]:
            continue
        if len(kept) > 1:
            (x0, y0), (x1, y1), (x2, y2) = kept[-2], kept[-1], point
            upright = x0 == x1 == x2 and (y1 - y0) * (y2 - y1) > 0
            level = y0 == y1 == y2 and (x1 - x0) * (x2 - x1) > 0
            if upright or level:
                kept.pop()
        kept.append(point)
    return kept


def svg_of(path: str) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg"><path d="{path}"/></svg>'


def path_of(svg: str) -> str:
    (path,) = ElementTree.fromstring(svg)
    return path.get("d", "")


COORDINATE = st.integers(-9999, 9999).map(lambda n: n / 10)


@st.composite
def paths(draw: st.DrawFn) -> str:
    parts = ["M 30 40"]
    for _ in range(draw(st.integers(0, 30))):
        command, count = draw(st.sampled_from([("L", 2), ("L", 2), ("Q", 4), ("C", 6), ("M", 2)]))
        numbers = draw(st.lists(COORDINATE, min_size=count, max_size=count))
        if command == "L" and draw(st.booleans()):
            numbers[draw(st.integers(0, 1))] = 30.0
        parts.append(" ".join([command, *map(str, numbers)]))
        if draw(st.booleans()):
            parts.append("z")
    return " \n".join(parts)


@given(paths())
def test_a_path_in_steps_goes_where_it_went(path: str) -> None:
    short = path_of(lean(svg_of(path)))
    there, wanted = (
        bends([(round(x, 3), round(y, 3)) for x, y in corners(each)]) for each in (short, path)
    )
    assert there == wanted


def test_errors_of_rounding_do_not_add_up() -> None:
    path = "M 0 100 " + " ".join(f"L {i * 0.16} {100 + 0.04 * i}" for i in range(1, 2000))
    there = corners(path_of(lean(svg_of(path))))
    assert there[-1] == pytest.approx((1999 * 0.16, 100 + 0.04 * 1999), abs=0.051)


def test_small_things_keep_their_shape() -> None:
    assert path_of(lean(svg_of("M 0 1.25 \nL 0.3316 1.1"))) == "M0 1.25l.332-.15"


@pytest.mark.parametrize("path", ["M 1 2 A 3 3 0 0 1 5 5", "m 1 2 l 3 4", "M 1 x", "L 1", ""])
def test_a_path_of_another_hand_is_left_alone(path: str) -> None:
    assert path_of(lean(svg_of(path))) == path


def test_a_figure_is_what_it_was(tmp_path: Path) -> None:
    """The same drawn things in the same order, a tenth of a point off at most."""
    results = made_up.run(tmp_path, vms=NAMES)
    saved = 0
    for file in figures.draw(results, None, tmp_path / "f", formats=["svg"]):
        full = file.read_text("utf-8")
        short = lean(full)
        before, after = (list(ElementTree.fromstring(each).iter()) for each in (full, short))
        drawn = [[e for e in each if e.tag.endswith(("}path", "}use"))] for each in (before, after)]
        assert [e.tag for e in drawn[0]] == [e.tag for e in drawn[1]]
        for old, new in zip(*drawn, strict=True):
            wanted, there = (bends(corners(each.get("d", ""))) for each in (old, new))
            largest = max((abs(n) for point in there for n in point), default=0)
            for n, m in zip(wanted[:1] + wanted[-1:], there[:1] + there[-1:], strict=True):
                assert n == pytest.approx(m, abs=0.051 if largest >= 19 else 0.00051)
        # Whatever is referred to is there.
        named = {e.get("id") for e in after}
        assert {link[1:] for e in after for k, link in e.items() if k.endswith("href")} <= named
        assert set(re.findall(r"url\(#(\w+)\)", short)) <= named
        saved += len(full) - len(short)
    assert saved > 300_000
