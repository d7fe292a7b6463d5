"""SVG as matplotlib writes it, made shorter: the same to the eye."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["lean"]


def lean(svg: str) -> str:
    """Return an SVG without what is not seen of it.

    That is comments, what stands before the root, ids of groups, lines between tags, and what
    is finer than a tenth of a point in paths, a hundredth elsewhere. Names are short, and quotes
    single ones, of which an address need not spell out any.
    """
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = svg[max(0, svg.find("<svg")) :]
    svg = re.sub(r'(?<= d=")[^"]*', lambda path: _short(path[0]), svg)
    svg = re.sub(r'(?<=<g) id="[^"]*"(?=>)', "", svg)
    svg = re.sub(r' [xy]="[^"]*"|translate\([^)]*\)', lambda numbers: _rounded(numbers[0]), svg)
    # Letters stand in a row, each of them a use of what its font's name is called after.
    svg = re.sub(r'(<use [^<>]*)transform="translate\(([-\d.]+) 0\)"', r'\1x="\2"', svg)
    svg = re.sub(r'((?:xlink:href="#| id="))DejaVuSans-(?=\w+")', r"\1d", svg)
    svg = re.sub(r"<[^<>]*>", lambda tag: tag[0].replace('"', "'").replace("; ", ";"), svg)
    svg = re.sub(r">\s*\n\s*<", "><", svg)
    # A group that has nothing to say about the one thing in it.
    return re.sub(r"<g>(<[^<>]*/>|<g [^<>]*>(?:<use [^<>]*/>)*</g>)</g>", r"\1", svg)


def _rounded(numbers: str) -> str:
    return re.sub(r"(\.\d\d)\d+", r"\1", numbers)


# Letters are in all figures.
@lru_cache(maxsize=1000)
def _short(path: str) -> str:
    """Return a path in steps from point to point; small ones, such as markers, to a thousandth."""
    try:
        parts = [
            (command, [float(number) for number in numbers.split()])
            for command, numbers in re.findall(r"([A-Za-df-z])([^A-Za-df-z]*)", path)
        ]
    except ValueError:
        return path
    if not all(len(numbers) == _LENGTHS.get(command) for command, numbers in parts):
        return path
    largest = max((abs(number) for _, numbers in parts for number in numbers), default=0.0)
    scale = 10 if largest >= _SMALL else 1000
    return _written(_stepped(parts, scale), scale)


_SMALL = 20  # points
_LENGTHS = {"M": 2, "L": 2, "Q": 4, "C": 6, "z": 0}  # numbers that a command has


def _stepped(parts: list[tuple[str, list[float]]], scale: int) -> list[tuple[str, list[int]]]:
    """Return commands with whole numbers, in parts of 1 / `scale`, from where each begins.

    They are differences of rounded points, so that errors do not add up.
    """
    steps: list[tuple[str, list[int]]] = []
    x = y = 0
    start = (0, 0)
    for command, numbers in parts:
        if command == "z":
            x, y = start
            steps.append(("z", []))
            continue
        points = [round(number * scale) for number in numbers]
        if command == "M":
            start = (points[0], points[1])
            steps.append(("M", points))
        elif command == "L":
            _add_line(steps, points[0] - x, points[1] - y)
        else:
            offsets = [point - (y if i % 2 else x) for i, point in enumerate(points)]
            steps.append((command.lower(), offsets))
        x, y = points[-2:]
    return steps


def _add_line(steps: list[tuple[str, list[int]]], dx: int, dy: int) -> None:
    """Add a line, or make the last one longer if it goes on straight along an axis."""
    command, last = steps[-1] if steps else ("", [])
    if dx and dy:
        steps.append(("l", [dx, dy]))
    elif not dx and not dy and command != "M":
        pass
    else:
        own, length = ("h", dx) if not dy else ("v", dy)
        if own == command and (last[0] > 0) == (length > 0):
            last[0] += length
        else:
            steps.append((own, [length]))


def _written(steps: list[tuple[str, list[int]]], scale: int) -> str:
    text: list[str] = []
    before = ""
    for command, numbers in steps:
        if command != before or not numbers:
            text.append(command)
        begins = command != before
        for number in numbers:
            if not begins and number >= 0:
                text.append(" ")
            text.append(_number(number, scale))
            begins = False
        before = command
    return "".join(text)


@lru_cache(maxsize=10_000)
def _number(number: int, scale: int) -> str:
    text = f"{number / scale:.10g}"
    return re.sub(r"^(-?)0\.", r"\1.", text)
