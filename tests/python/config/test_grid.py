# Trusts: grids of a few cells that are written out here, and ranges computed by hand.
"""Axes, ranges, joined axes, excluded cells and mistakes of `sweep:`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from complaints import complaint

from mcsim.base.errors import ConfigError
from mcsim.config.load import Source
from mcsim.config.sweep import Grid, take_sweep

EXPERIMENT = """\
name: grid
block_bytes: 4KiB
seed: 7
workload: {profile: tiny.yaml}
tiers:
  - {device: dram, capacity: 500}
systems:
  - lru
sweep:
"""


def grid_of(tmp_path: Path, sweep: str) -> Grid:
    path = tmp_path / "grid.yaml"
    path.write_text(EXPERIMENT + "".join(f"  {line}\n" for line in sweep.splitlines()))
    grid = take_sweep(Source.read(path))
    assert grid is not None
    return grid


def shown(grid: Grid) -> list[tuple[Any, ...]]:
    return [tuple(cell.shown.values()) for cell in grid.cells()]


def nodes(grid: Grid, name: str) -> list[Any]:
    return [value.node for value in grid.values(name)]


def test_the_last_axis_changes_fastest(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, "seed: [1, 2]\nsystems: [lru, {name: static, label: fair}]")
    assert shown(grid) == [(1, "lru"), (1, "fair"), (2, "lru"), (2, "fair")]
    roots = [grid.varied(cell).root for cell in grid.cells()]
    assert [root["seed"] for root in roots] == [1, 1, 2, 2]
    assert roots[1]["systems"] == [{"name": "static", "label": "fair"}]
    assert "sweep" not in roots[0]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("log(1MiB, 4MiB, 3)", ["1MiB", "2MiB", "4MiB"]),
        # The square root of two MiB is 362.04 blocks.
        ("log(1MiB, 2MiB, 3)", ["1MiB", "1448KiB", "2MiB"]),
        ("log(100, 10_000, 3)", [100, 1000, 10_000]),
        ("log(1e2, 1e4, 3)", [100, 1000, 10_000]),
        ("linear(100, 104, 3)", [100, 102, 104]),
        ("log(1%, 100%, 3)", ["1%", "10%", "100%"]),
        ("linear(10%, 20%, 3)", ["10%", "15%", "20%"]),
        ("linear(5, 5, 1)", [5]),
    ],
)
def test_ranges(tmp_path: Path, text: str, values: list[Any]) -> None:
    assert nodes(grid_of(tmp_path, f"tiers.0.capacity: {text}"), "tiers.0.capacity") == (values)


def test_ranges_of_lengths_numbers_and_seeds(tmp_path: Path) -> None:
    assert nodes(grid_of(tmp_path, "interval: linear(1h, 2h, 3)"), "interval") == [
        "1h",
        "90min",
        "2h",
    ]
    fractions = grid_of(tmp_path, "systems.0.alpha: linear(0.0, 0.3, 4)")
    assert nodes(fractions, "systems.0.alpha") == [0.0, 0.1, 0.2, 0.3]
    assert nodes(grid_of(tmp_path, "seed: 3 seeds"), "seed") == [7, 8, 9]
    assert nodes(grid_of(tmp_path, "workload.seed: 2 seeds"), "workload.seed") == [0, 1]


def test_axes_that_go_together_are_one(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, "zip: {seed: [1, 2], tiers.0.capacity: [10, 20]}\nops: [all]")
    assert shown(grid) == [(1, 10, "all"), (2, 20, "all")]


def test_values_may_be_named(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, "workload: {one: {profile: a.yaml}, two: {profile: b.yaml}}")
    assert shown(grid) == [("one",), ("two",)]
    assert grid.varied(grid.cells()[1]).root["workload"] == {"profile": "b.yaml"}


def test_cells_are_left_out(tmp_path: Path) -> None:
    grid = grid_of(
        tmp_path, "seed: [1, 2]\nsystems: [lru, static]\nexclude: [{seed: [1], systems: static}]"
    )
    assert shown(grid) == [(1, "lru"), (2, "lru"), (2, "static")]
    assert [cell.index for cell in grid.cells()] == [0, 1, 2]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        (
            "tier.0.capacity: [1, 2]",
            "grid.yaml:10: sweep.tier.0.capacity: an axis that names nothing: an experiment "
            "has no 'tier' (did you mean 'tiers'?)",
        ),
        (
            "exlude: [1]",
            "grid.yaml:10: sweep.exlude: an axis that names nothing: an experiment has "
            "no 'exlude' (did you mean 'exclude'?)",
        ),
        ("seed: []", "grid.yaml:10: sweep.seed: an empty grid: no values"),
        (
            "seed: 7",
            "grid.yaml:10: sweep.seed: expected a list of values, a map of names to "
            "values, "
            "a range such as log(1MiB, 1TiB, 12) or linear(1, 9, 5), or 5 seeds, got 7",
        ),
        (
            "seed: [1, 2, 1]",
            "grid.yaml:10: sweep.seed[2]: a second 1; name the values: a map instead of a list",
        ),
        (
            "ops: 3 seeds",
            "grid.yaml:10: sweep.ops: '3 seeds' are values of the axis 'seed' or 'workload.seed'",
        ),
        (
            "seed: log(0, 9, 3)",
            "grid.yaml:10: sweep.seed: 'log(0, 9, 3)': ends of a logarithmic range are above 0",
        ),
        (
            "seed: linear(0, 1, 3)",
            "grid.yaml:10: sweep.seed: 'linear(0, 1, 3)' comes to 0 more than once: ask for "
            "fewer, or give ends with a point, such as 1.0, for what need not be whole",
        ),
        (
            "seed: linear(1h, 4KiB, 3)",
            "grid.yaml:10: sweep.seed: 'linear(1h, 4KiB, 3)': "
            "expected two "
            "numbers, sizes, lengths of time or shares",
        ),
        (
            "seed: log(1, 9, x)",
            "grid.yaml:10: sweep.seed: 'log(1, 9, x)': expected a whole number, got 'x'",
        ),
        (
            "systems: [lru]\nsystems.0.name: [lru]",
            "grid.yaml:11: sweep.systems.0.name: "
            "clashes with "
            "the axis 'systems': both set the same",
        ),
        (
            "zip: {seed: [1, 2], ops: [all]}",
            "grid.yaml:10: sweep.zip: axes that go together "
            "have as "
            "many values: seed has 2, ops has 1",
        ),
        (
            "seed: [1]\nexclude: [{sed: 1}]",
            "grid.yaml:11: sweep.exclude[0].sed: no axis 'sed' (did you mean 'seed'?)",
        ),
        (
            "seed: [1]\nexclude: [{seed: 2}]",
            "grid.yaml:11: sweep.exclude[0].seed: the axis has no value 2",
        ),
        (
            "seed: linear(1, 10_000, 10_000)\ntiers.0.capacity: linear(1, 1_000, 1_000)",
            "grid.yaml:9: sweep: a grid of 10,000,000 cells, and at most 100,000 are planned: "
            "split it",
        ),
    ],
)
def test_mistakes_are_told_with_file_and_line(tmp_path: Path, sweep: str, message: str) -> None:
    assert complaint(grid_of, tmp_path, sweep) == f"{tmp_path}/{message}"


def test_a_grid_of_which_nothing_is_left(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, "seed: [1]\nexclude: [{seed: 1}]")
    with pytest.raises(ConfigError, match=r"grid\.yaml:9: sweep: an empty grid: no cell is left"):
        grid.cells()
