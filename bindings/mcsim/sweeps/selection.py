"""Which cells of a grid are wanted: by values, by number, by shard."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.suggest import did_you_mean, some_of
from mcsim.config.sweep import Cell, Grid


def chosen(
    grid: Grid,
    cells: Sequence[Cell],
    *,
    only: Mapping[str, Any] | None = None,
    numbers: str | None = None,
    shard: str | None = None,
) -> list[Cell]:
    """Select cells.

    Parameters
    ----------
    grid : Grid
    cells : sequence of Cell
        All cells of the grid.
    only : mapping, optional
        A value, or several, by axis; a selected cell has one of these.
    numbers : str, optional
        Numbers and ranges of numbers of cells, ends included: ``'0-9,15'``.
    shard : str, optional
        Part ``'i/n'`` of the cells selected otherwise, counted from 0. The n parts are disjoint
        and complete. Adjacent cells, which share most, are in one part.

    Raises
    ------
    ConfigError
        If the grid lacks an axis, a value or a number, or no cell is left.
    """
    left = list(cells)
    for name, given in (only or {}).items():
        wanted = given if isinstance(given, list) else [given]
        with mistakes_in("only"):
            for one in wanted:
                _check_value(grid, name, one)
        left = [cell for cell in left if any(cell.values[name].is_meant_by(v) for v in wanted)]
    if numbers is not None:
        kept = _numbers(numbers, len(cells))
        left = [cell for cell in left if cell.index in kept]
    if shard is not None:
        index, count = shard_given(shard)
        return left[len(left) * index // count : len(left) * (index + 1) // count]
    if not left:
        raise ConfigError("only, cells: no cell is left of those asked for")
    return left


def values_by_axis(given: Iterable[str]) -> dict[str, list[Any]]:
    """Read ``axis=value`` of a command line; an axis may come several times.

    Raises
    ------
    ConfigError
        If there is no value.
    """
    found: dict[str, list[Any]] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise ConfigError(f"cells: expected axis=value, such as seed=2, got {one!r}")
        found.setdefault(name, []).append(value)
    return found


def _check_value(grid: Grid, name: str, given: object) -> None:
    there = grid.values(name)
    if not any(value.is_meant_by(given) for value in there):
        shown = [str(value.shown) for value in there]
        near = did_you_mean(str(given), shown)
        raise ConfigError(
            f"the axis {name!r} has no value {given!r}{near}; it has {some_of(shown)}"
        )


def _numbers(text: str, count: int) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        if (match := re.fullmatch(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", part)) is None:
            raise ConfigError(f"cells: expected numbers such as 0-9,15, got {text!r}")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < count:
            raise ConfigError(f"cells: {part.strip()!r}: the grid has cells 0 to {count - 1}")
        found.update(range(first, last + 1))
    return found


def shard_given(text: str) -> tuple[int, int]:
    """Read ``i/n``: which part, from 0, and of how many.

    Raises
    ------
    ConfigError
        If it is none.
    """
    match = re.fullmatch(r"\s*(\d{1,18})\s*/\s*(\d{1,18})\s*", text)
    if match is None or not int(match[1]) < int(match[2]):
        raise ConfigError(f"shard: expected i/n with i from 0 to n - 1, such as 3/64, got {text!r}")
    return int(match[1]), int(match[2])
