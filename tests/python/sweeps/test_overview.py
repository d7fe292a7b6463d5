"""Trusts: NumPy's means and deviations, of numbers that each test makes up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from small import TINY

import mcsim
from mcsim.base.errors import ConfigError
from mcsim.sweeps.swept import Sweep
from mcsim.sweeps.views import overview, pivot, pivot_data


class MadeUp:
    """A sweep with a table of its own; the last `missing` cells are not finished."""

    path = Path("made-0")

    def __init__(self, rows: Sequence[dict[str, Any]], missing: int = 0) -> None:
        self._table = pa.Table.from_pylist(list(rows))
        cells = len(set(self._table["cell"].to_pylist()))
        self._finished = [True] * (cells - missing) + [False] * missing

    def to_arrow(self) -> pa.Table:
        return self._table

    def finished(self) -> list[bool]:
        return self._finished


def made(
    latencies: Mapping[tuple[int, str], Sequence[float]],
    *yardsticks: str,
    missing: int = 0,
    writes: dict[str, str] | None = None,
    opt: int | None = None,
) -> Sweep:
    """Return a sweep over capacities and seeds; `latencies` has those of each seed, in ns."""
    sizes = sorted({size for size, _ in latencies})
    rows: list[dict[str, Any]] = []
    for (size, system), by_seed in latencies.items():
        for seed, latency in enumerate(by_seed, 1):
            cell = 10 * sizes.index(size) + seed
            for vm in (None, "a"):
                rows.append(
                    {"cell": cell, "run_id": f"made-{cell}", "tiers.0.capacity": size, "seed": seed}
                    | {"system": system, "vm": vm, "hit_ratio": 1 - latency / 1e7}
                    | {"mean_latency_ns": latency, "writes": (writes or {}).get(system)}
                    | {"accesses": 10**7, "hits": 10**7 - round(latency), "opt_hits": opt}
                    | {"gain": 0.0, "latency_gain": 0.0}
                    | {"foresight": "whole" if system in yardsticks else None}
                )
    return cast("Sweep", MadeUp(rows, missing))


def test_numbers_are_means_with_deviations_over_seeds() -> None:
    slow, fast = [3e6, 5e6, 7e6], [1e6, 1.5e6, 2.6e6]
    table = overview(made({(10, "lru"): slow, (10, "arc"): fast}))
    assert [row.system for row in table] == ["arc", "lru"]
    assert table.seeds.tolist() == [3, 3]
    for row, latencies in zip(table, (fast, slow), strict=True):
        assert row.mean_latency_ns == pytest.approx(np.mean(latencies))
        assert row.mean_latency_ns_deviation == pytest.approx(np.std(latencies, ddof=1))
        ratios = 1 - np.array(latencies) / 1e7
        assert row.hit_ratio == pytest.approx(ratios.mean())
        assert row.hit_ratio_deviation == pytest.approx(ratios.std(ddof=1))
    assert "± 819 us" in repr(table)
    assert "±: standard deviation over seeds" in table.notes


def test_a_seed_alone_has_no_deviation() -> None:
    table = overview(made({(10, "lru"): [3e6], (10, "arc"): [2e6]}))
    assert "seeds" not in table.column_names
    assert table.values("hit_ratio_deviation") == [None, None]
    assert "±" not in repr(table)


def test_the_winner_of_one_point_is_named() -> None:
    table = overview(made({(10, "lru"): [3e6, 3.2e6], (10, "arc"): [1e6, 1.2e6]}))
    assert table.answer == (
        "`arc` is best: mean latency 1.10 ms ± 141 us; next is `lru`, mean latency 3.10 ms ± "
        "141 us."
    )
    assert list(table.formatted().styles) == ["best", ""]


def test_seeds_that_overlap_leave_no_clear_winner() -> None:
    table = overview(made({(10, "lru"): [3e6, 1.1e6], (10, "arc"): [1e6, 1.2e6]}))
    assert table.answer.startswith("There is no clear winner: the seeds of `arc` (mean latency ")
    assert table.answer.endswith(" overlap.")
    assert list(table.formatted().styles) == ["", ""]


def test_equal_systems_are_called_equal() -> None:
    table = overview(made({(10, "lru"): [3e6], (10, "arc"): [3e6], (10, "fifo"): [4e6]}))
    rule = "less than 0.05 % of latency apart"
    assert table.answer == f"`lru`, `arc` are equal and best ({rule}): mean latency 3.00 ms."
    assert set(table.formatted().styles) == {""}
    two = overview(
        made(
            {
                (10, "lru"): [3e6],
                (10, "arc"): [3e6],
                (20, "lru"): [2e6],
                (20, "arc"): [1e6],
            }
        )
    )
    assert two.answer == (f"`arc` is best at 1 of 2 points, the best are equal at 1 ({rule}).")


def test_winners_are_counted_over_points() -> None:
    table = overview(
        made(
            {
                (10, "lru"): [3e6, 3.1e6],
                (10, "arc"): [2e6, 2.1e6],
                (20, "lru"): [1e6, 1.1e6],
                (20, "arc"): [2e6, 2.1e6],
                (30, "lru"): [1e6, 1.1e6],
                (30, "arc"): [0.8e6, 0.9e6],
                (40, "lru"): [1e6, 2e6],
                (40, "arc"): [1.5e6, 1.6e6],
            }
        )
    )
    assert table.answer == (
        "`arc` is best at 2 of 4 points, `lru` at 1, no clear winner at 1 (seeds overlap)."
    )
    assert table["tiers.0.capacity"].tolist() == [10, 10, 20, 20, 30, 30, 40, 40]
    assert [row.system for row in table] == ["arc", "lru", "lru", "arc", "arc", "lru", "lru", "arc"]
    assert list(table.formatted().styles) == ["best", "", "best", "", "best", "", "", ""]


def test_a_yardstick_wins_nowhere() -> None:
    table = overview(
        made(
            {(10, "lru"): [3e6], (10, "arc"): [2e6], (10, "hindsight"): [1e6]},
            "hindsight",
        )
    )
    assert table.answer.startswith("`arc` is best: ")
    assert "hindsight" not in table.answer
    assert [row.system for row in table] == ["arc", "lru", "hindsight"]
    assert list(table.formatted().styles) == ["best", "", "yardstick"]


def test_only_yardsticks_leave_nothing_to_rank() -> None:
    table = overview(made({(10, "opt"): [3e6], (20, "opt"): [2e6]}, "opt"))
    assert table.answer == "Only yardsticks, at 2 points of the grid."


def test_equal_systems_without_seeds_are_called_equal() -> None:
    table = overview(made({(10, "lru"): [3e6], (10, "arc"): [3.001e6], (10, "fifo"): [3.1e6]}))
    assert table.answer == (
        "`lru`, `arc` are equal and best (less than 0.05 % of latency apart): mean latency 3.00 ms."
    )
    assert "best" not in table.formatted().styles
    many = overview(made({(n, name): [3e6] for n in (10, 20) for name in ("lru", "arc")}))
    assert many.answer == "The best are equal at 2 of 2 points (less than 0.05 % of latency apart)."
    assert "seeds" not in many.answer


def test_each_write_mode_has_a_winner() -> None:
    writes = {"lru": "through", "arc": "through", "fifo": "back", "mru": "back", "alone": "around"}
    latencies = {"lru": 4e6, "arc": 3e6, "fifo": 2e6, "mru": 1e6, "alone": 5e6}
    table = overview(made({(10, name): [of] for name, of in latencies.items()}, writes=writes))
    assert table.answer == (
        "Write mode back: `mru` is best: mean latency 1.00 ms; next is `fifo`, mean latency "
        "2.00 ms.\nWrite mode through: `arc` is best: mean latency 3.00 ms; next is `lru`, mean "
        "latency 4.00 ms.\nWrite mode around: only `alone` (mean latency 5.00 ms)."
    )
    assert list(table.formatted().styles) == ["best", "", "best", "", ""]


def test_nothing_is_best_where_all_hits_are_had() -> None:
    table = overview(made({(10, "lru"): [3e6], (10, "arc"): [2e6]}, opt=7 * 10**6))
    assert table.answer == "All systems hit all there is to hit."
    assert "best" not in table.formatted().styles
    some = {(10, "lru"): [3e6], (10, "arc"): [2e6], (20, "lru"): [4e6], (20, "arc"): [2e6]}
    assert overview(made(some, opt=7 * 10**6)).answer == (
        "`arc` is best at 1 of 2 points.\nAll systems hit all there is to hit at 1 of 2 points."
    )


def test_opt_as_a_policy_is_a_yardstick(tmp_path: Path) -> None:
    axes = {"systems.0.policy": ["lru", "opt", "mru"]}
    spec: dict[str, Any] = {"name": "policies", "workload": {"profile": str(TINY)}}
    spec |= {"tiers": [{"device": "dram", "capacity": 900}], "systems": ["hierarchy"]}
    swept = mcsim.sweep(spec, axes, out=tmp_path)
    assert "opt" not in swept.answer
    assert swept.overview()[-1]["systems.0.policy"] == "opt"
    assert swept.overview().formatted().styles[-1] == "yardstick"
    assert str(swept).startswith(f"{swept.answer}\n")


def test_one_system_is_not_ranked() -> None:
    table = overview(made({(10, "lru"): [3e6], (20, "lru"): [2e6]}, missing=1))
    assert table.answer == "One system, `lru`, at 2 points of the grid."
    assert table.title == "made-0: all VMs together (1 of 2 cells finished)"
    assert set(table.formatted().styles) == {""}


def test_a_pivot_has_a_column_for_each_system() -> None:
    slow, fast = [3e6, 5e6], [1e6, 1.5e6]
    swept = made({(10, "lru"): slow, (10, "arc"): fast, (2000, "lru"): [1e6, 1e6]})
    table = pivot(swept, "tiers.0.capacity", "mean_latency_ns")
    assert list(table.headings) == ["tiers.0.capacity", "lru", "arc"]
    deviation = np.std(slow, ddof=1) / 1e6
    assert table.rows[0][:2] == ["10", f"{np.mean(slow) / 1e6:.2f} ms ± {deviation:.2f} ms"]
    assert table.rows[1] == ["2,000", "1.00 ms ± 0", "–"]
    assert r"4.00 ms $\pm$ 1.41 ms" in table.to_latex()
    assert pivot_data(swept, "tiers.0.capacity", "mean_latency_ns").to_pydict() == {
        "tiers.0.capacity": [10, 2000],
        "lru": [4e6, 1e6],
        "lru_deviation": [np.std(slow, ddof=1), 0],
        "arc": [1.25e6, None],
        "arc_deviation": [np.std(fast, ddof=1), None],
    }
    for x, value, message in (
        ("tiers.0.capacit", "hit_ratio", "x: no axis 'tiers.0.capacit' .did you mean"),
        ("tiers.0.capacity", "system", "value: no column of numbers 'system'"),
        ("tiers.0.capacity", "gain_absolute", "value: no column of numbers 'gain_absolute'"),
    ):
        with pytest.raises(ConfigError, match=message):
            pivot(swept, x, value)


def test_systems_of_an_axis_are_candidates_of_one_point(tmp_path: Path) -> None:
    experiment = "experiments/tiny.yaml"
    axes = {"systems": {"mine": "lru", "other": "static"}, "seed": [1, 2]}
    swept = mcsim.sweep(experiment, axes, out=tmp_path)
    table = swept.overview()
    assert len(table) == 2
    assert swept.answer == table.answer
    assert set(table.seeds.tolist()) == {2}
    whole = swept.to_pandas()
    for row in table:
        of = whole[whole.vm.isna() & (whole.system == row.system)].mean_latency_ns
        assert row.mean_latency_ns == pytest.approx(of.mean())
        assert row.mean_latency_ns_deviation == pytest.approx(of.std(ddof=1))
    assert table.to_arrow().num_rows == 2
    assert swept._repr_html_() == table._repr_html_()
