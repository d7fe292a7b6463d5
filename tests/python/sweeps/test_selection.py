# Trusts: grids of a few cells, counted by hand.
"""Which cells are run: by value, number and shard; and mistakes in saying so."""

from __future__ import annotations

from pathlib import Path

import pytest
from complaints import complaint

from mcsim.base.errors import ConfigError
from mcsim.config.load import Source
from mcsim.config.sweep import Grid, take_sweep
from mcsim.sweeps.selection import chosen, values_by_axis


@pytest.fixture
def grid() -> Grid:
    axes = {"tiers.0.capacity": ["1MiB", "2MiB"], "seed": "5 seeds"}
    found = take_sweep(Source("spec", {"name": "x", "sweep": axes}, Path()))
    assert found is not None
    return found


def numbers(grid: Grid, **given: object) -> list[int]:
    return [cell.index for cell in chosen(grid, grid.cells(), **given)]  # type: ignore[arg-type]


def test_by_value(grid: Grid) -> None:
    asked = values_by_axis(["tiers.0.capacity=2MiB", "seed=2", "seed=4"])
    assert numbers(grid, only=asked) == [6, 8]
    assert numbers(grid, only={"seed": 5}) == [4, 9]


def test_by_number(grid: Grid) -> None:
    assert numbers(grid, numbers="1-3, 8") == [1, 2, 3, 8]
    assert numbers(grid, numbers="1-3,8", only={"seed": [4]}) == [3, 8]


@pytest.mark.parametrize("count", [1, 3, 4, 10, 13])
def test_shards_are_all_cells_each_once(grid: Grid, count: int) -> None:
    parts = [numbers(grid, shard=f"{index}/{count}") for index in range(count)]
    assert [number for part in parts for number in part] == list(range(10))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"only": {"sed": 1}}, "only: no axis 'sed' (did you mean 'seed'?); there are "
         "tiers.0.capacity, seed"),
        ({"only": {"seed": "9"}}, "only: the axis 'seed' has no value '9'; it has 1, 2, 3, 4, 5"),
        ({"numbers": "8-10"}, "cells: '8-10': the grid has cells 0 to 9"),
        ({"numbers": "some"}, "cells: expected numbers such as 0-9,15, got 'some'"),
        ({"shard": "4/4"}, "shard: expected i/n with i from 0 to n - 1, such as 3/64, got '4/4'"),
        ({"numbers": "0", "only": {"seed": 2}}, "only, cells: no cell is left of those asked for"),
    ],
)  # fmt: skip
def test_mistakes(grid: Grid, given: dict[str, object], message: str) -> None:
    assert complaint(numbers, grid, **given) == message
    with pytest.raises(ConfigError, match="cells: expected axis=value, such as seed=2, got 'seed'"):
        values_by_axis(["seed"])
