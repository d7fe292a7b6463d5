"""Optimisers through Python.

Trusts: the exact dynamic program (held to exhaustive search in C++) and HiGHS, each for the
other; the worked examples of the Multi-Cache specification.
"""

from __future__ import annotations

import gc
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from complaints import complaint
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mcsim._core import optimizers as core
from mcsim.base.errors import ConfigError
from mcsim.optimizers.highs import BinaryProgramSolution, Highs
from mcsim.optimizers.optimizer import AllocationProblem, describe, load, optimize

A = [0.0, 0.4, 0.5, 0.5]
B = [0.0, 0.1, 0.3, 0.6]


def names(tiers: int) -> list[str]:
    single = {"greedy", "annealing-legacy"}
    return [d["name"] for d in describe() if tiers == 1 or d["name"] not in single]


@st.composite
def problems(draw: st.DrawFn, tiers: int) -> tuple[NDArray[np.float64], list[int]]:
    vms = draw(st.integers(1, 4))
    sizes = draw(st.integers(2, 7))
    hits = draw(
        st.lists(
            st.lists(st.integers(0, 20), min_size=sizes, max_size=sizes),
            min_size=vms * tiers,
            max_size=vms * tiers,
        )
    )
    capacities = draw(st.lists(st.integers(0, 8), min_size=tiers, max_size=tiers))
    return np.array(hits, dtype=float).reshape(vms, tiers, sizes), capacities


@pytest.mark.parametrize("tiers", [1, 2, 3])
def test_ilp_equals_dynamic_programming(tiers: int) -> None:
    @given(problems(tiers))
    @settings(max_examples=25, deadline=None)
    def equal(problem: tuple[NDArray[np.float64], list[int]]) -> None:
        values, capacities = problem
        exact = optimize(values, capacities)
        ilp = optimize(values, capacities, optimizer="ilp")
        assert ilp.objective == pytest.approx(exact.objective, abs=1e-9)
        assert ilp.upper_bound == pytest.approx(ilp.objective, abs=1e-6)

    equal()


def best_of_one_tier(values: NDArray[np.float64], capacity: int) -> Fraction:
    """The optimum of unit sizes by dynamic programming in fractions, exactly."""
    best = [Fraction(0)] * (capacity + 1)
    for curve in values:
        worth = [Fraction(float(value)) for value in curve]
        best = [
            max(best[used - i] + value for i, value in enumerate(worth[: used + 1]))
            for used in range(capacity + 1)
        ]
    return best[capacity]


def scaled_curves(kind: str, rng: np.random.Generator) -> NDArray[np.float64]:
    shape = (int(rng.integers(1, 7)), int(rng.integers(2, 8)))
    gains = rng.integers(0, 12, shape).astype(float)
    gains[:, 0] = 0
    if kind == "mixed steps":
        gains *= 10.0 ** rng.integers(-9, 1, shape)
    values = np.cumsum(gains, axis=1)
    if kind == "falling":
        values = rng.random(shape) - 0.3
    if kind == "mixed curves":
        values *= 10.0 ** rng.integers(-9, 10, (shape[0], 1))
    if kind == "zero curves":
        values[rng.random(shape[0]) < 0.6] = 0
    if kind == "far from zero":
        values += 10.0 ** rng.integers(0, 4, (shape[0], 1))
    return values * 10.0 ** int(rng.integers(-12, 13))


@pytest.mark.parametrize(
    "kind", ["whole", "mixed steps", "falling", "mixed curves", "zero curves", "far from zero"]
)
def test_ilp_is_exact_at_every_scale(kind: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        values = scaled_curves(kind, rng)
        capacity = int(rng.integers(1, values.size + 1))
        best = best_of_one_tier(values, capacity)
        solution = optimize(values, capacity, optimizer="ilp")
        chosen = zip(values, solution.choice[:, 0], strict=True)
        reached = sum(Fraction(float(curve[size])) for curve, size in chosen)
        tie = 1e-12 * sum(float(np.ptp(curve)) for curve in values)
        rounding = 1e-15 * float(np.abs(values).sum())  # of the bound, a sum of doubles
        assert float(best - reached) <= tie
        assert abs(float(best - Fraction(solution.upper_bound))) <= tie + rounding


def test_ilp_is_exact_where_every_step_is_tiny() -> None:
    curves = [[0, 2, 5, 11, 18, 19, 26], [0, 5, 6, 7, 8, 9, 16], [0, 3, 9, 13, 17, 21, 25]]
    for scale in (1e-12, 1e-7, 1.0, 1e12):
        solution = optimize(np.array(curves) * scale, 6, optimizer="ilp")
        assert solution.objective == pytest.approx(27 * scale, rel=1e-12)
        assert solution.upper_bound == pytest.approx(27 * scale, rel=1e-12)


@pytest.mark.parametrize("name", names(tiers=1))
@given(problems(1))
@settings(max_examples=15, deadline=None)
def test_every_method_is_feasible_and_bounded(
    name: str, problem: tuple[NDArray[np.float64], list[int]]
) -> None:
    values, capacities = problem
    params: dict[str, Any] = {"iterations": 200} if name.startswith("annealing") else {}
    solution = optimize(values, capacities, optimizer=name, **params)
    assert solution.allocation.sum() <= capacities[0]
    assert (solution.allocation >= 0).all()
    assert solution.objective == pytest.approx(
        values[np.arange(len(values)), 0, solution.choice[:, 0]].sum()
    )
    assert solution.upper_bound >= optimize(values, capacities).objective - 1e-9


def test_two_vms_of_the_multicache_example() -> None:
    even = optimize([A, B], 3)
    assert even.allocation.tolist() == [[1, 2]]
    assert even.objective == pytest.approx(0.7)
    favoured = optimize([A, B], 3, weights=[1, 3])
    assert favoured.allocation.tolist() == [[0, 3]]
    assert favoured.objective == pytest.approx(1.8)


def test_joint_tiers_of_the_multicache_example() -> None:
    curves = np.array([[0, 0.5, 0.5, 0.5], [0, 0, 0, 1.0]])
    values = np.stack([0.2 * curves, curves], axis=1)
    for name in ("exact", "ilp"):
        joint = optimize(values, [1, 2], optimizer=name)
        assert joint.objective == pytest.approx(1.0)
        assert joint.allocation.tolist() == [[0, 1], [0, 2]]


def test_bounds_are_in_blocks_and_rounded_to_sizes() -> None:
    sizes = [0, 10, 20, 30]
    assert optimize([A, B], 30, sizes=sizes, lowest=[11, 0]).allocation.tolist() == [[20, 10]]
    assert optimize([A, B], 30, sizes=sizes, highest=[30, 19]).allocation.tolist() == [[20, 10]]
    assert optimize([A, A], 3, highest=[0, 3]).allocation.tolist() == [[0, 3]]


def test_solution_says_how_good_it_is() -> None:
    solution = optimize([[0.0, 0.0, 1.0], [0.0, 0.01, 0.02]], 1, optimizer="greedy")
    assert solution.objective == pytest.approx(0.01)
    assert solution.upper_bound == pytest.approx(0.5)
    assert solution.gap == pytest.approx(0.98)
    assert solution.evaluations > 0
    assert solution.seconds > 0
    assert "gap=0.98" in repr(solution)
    assert not solution.allocation.flags.writeable


def test_describe_lists_parameters() -> None:
    annealing = next(d for d in describe() if d["name"] == "annealing")
    iterations = next(p for p in annealing["params"] if p["name"] == "iterations")
    assert iterations["default"] == 10_000
    assert iterations["kind"] == "integer"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"optimizer": "exat"}, "unknown optimizer 'exat' (did you mean 'exact'?)"),
        ({"optimizer": "greedy", "iterations": 3}, "greedy: unknown parameter 'iterations'"),
        ({"optimizer": "annealing", "iteration": 3}, "did you mean 'iterations'?"),
        ({"sizes": [0, 2, 1, 3]}, "sizes[2]: 1 does not exceed sizes[1] = 2"),
        ({"sizes": [0, 1.5, 2, 3]}, "sizes: expected whole numbers of blocks"),
        ({"lowest": [2, 2]}, "lowest: 4 blocks are reserved in tiers 0..0, only 3 are available"),
        ({"lowest": [9, 0]}, "lowest: 9 blocks exceed the largest size, 3"),
        ({"highest": [-1, 0]}, "highest: -1 blocks are negative"),
        ({"weights": [1, 2, 3]}, "weights: expected shape (2,) or (2, 1), got (3, 1)"),
        ({"optimizer": "no_such_module:Class"}, "cannot import 'no_such_module'"),
        ({"optimizer": "math:Nothing"}, "module 'math' has no 'Nothing'"),
        ({"optimizer": "collections:Counter"}, "has no method optimize(problem)"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, Any], message: str) -> None:
    assert message in complaint(optimize, [A, B], 3, **arguments)


def test_columns_are_not_converted() -> None:
    with pytest.raises(TypeError):
        AllocationProblem(np.arange(4), np.array([3.5]), np.array([A, B]))


class Proportional:
    """An allocator of your own: space in proportion to what all of it would be worth."""

    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    def optimize(self, problem: AllocationProblem) -> NDArray[np.int64]:
        worth = problem.values[:, 0, -1] ** self.power
        shares: NDArray[np.float64] = problem.capacities[0] * worth / worth.sum()
        return np.floor(shares).astype(np.int64)


def test_a_python_class_is_an_optimizer() -> None:
    values = np.array([[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 1, 1, 1, 1, 1, 1]], dtype=float)
    solution = optimize(values, 8, optimizer=Proportional())
    assert solution.allocation.tolist() == [[7, 1]]
    assert solution.objective == 8
    assert solution.upper_bound == pytest.approx(8)
    by_name = load(f"{__name__}:Proportional", {"power": 0.0})
    problem = AllocationProblem(np.arange(8), np.array([8]), values)
    assert by_name.solve(problem).allocation.tolist() == [[4, 4]]


def test_a_python_class_sees_the_problem_and_its_blocks_are_rounded_to_sizes() -> None:
    seen: list[AllocationProblem] = []

    class Spy:
        def optimize(self, problem: AllocationProblem) -> list[list[int]]:
            seen.append(problem)
            return [[15, 0], [10, 7]]

    values = np.arange(2 * 2 * 4, dtype=float).reshape(2, 2, 4)
    solution = optimize(values, [20, 20], sizes=[0, 10, 20, 30], optimizer=Spy())  # type: ignore[arg-type]
    gc.collect()
    np.testing.assert_array_equal(seen[0].values, values)
    np.testing.assert_array_equal(seen[0].capacities, [20, 20])
    np.testing.assert_array_equal(seen[0].highest, [[3, 3], [3, 3]])
    assert solution.allocation.tolist() == [[10, 0], [10, 0]]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([3, 3], "Fixed.optimize: tier 0: 6 blocks are granted, it has 3"),
        ([-1, 1], "Fixed.optimize: VM 0, tier 0: -1 blocks are negative"),
        ([1, 1, 1], "Fixed.optimize: expected blocks shaped (1, 2), got (3,)"),
        ([0.5, 1.5], "Fixed.optimize: expected an array of whole numbers of blocks"),
        ("no", "Fixed.optimize: expected an array of whole numbers of blocks"),
    ],
)
def test_infeasible_answers_name_the_class(answer: object, message: str) -> None:
    class Fixed:
        def optimize(self, problem: AllocationProblem) -> object:
            return answer

    assert message in complaint(optimize, [A, B], 3, optimizer=Fixed())


def test_an_exception_in_a_python_class_comes_through() -> None:
    class Broken:
        def optimize(self, problem: AllocationProblem) -> NDArray[np.int64]:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        optimize([A, B], 3, optimizer=Broken())


def test_an_optimizer_outlives_the_object_it_wraps() -> None:
    handle = load(Proportional())
    gc.collect()
    problem = AllocationProblem(np.arange(4), np.array([3]), np.array([A, B]))
    assert handle.solve(problem).allocation.sum() <= 3


def test_the_solver_sees_the_program_without_copies() -> None:
    shapes: list[tuple[int, int]] = []

    def solver(program: core.BinaryProgram) -> BinaryProgramSolution:
        assert program.cost.base is not None
        assert len(program.row_start) == len(program.row_low) + 1
        assert program.row_start[-1] == len(program.column) == len(program.coefficient)
        shapes.append((len(program.cost), len(program.row_high)))
        return Highs()(program)

    assert optimize([A, B], 3, optimizer="ilp", solver=solver).objective == pytest.approx(0.7)
    # Four sizes of B; of A's, the last is dominated. Two rows for the VMs, one for the tier.
    assert shapes == [(7, 3)]


def test_highs_reports_its_bound_within_a_time_limit() -> None:
    values = np.cumsum(np.random.default_rng(1).random((8, 2, 80)) ** 8, axis=2)
    with pytest.raises(ConfigError, match=r"no solution within 0\.0 s"):
        optimize(values, [30, 60], optimizer="ilp", solver=Highs(time_limit=0.0))
    rough = optimize(values, [30, 60], optimizer="ilp", solver=Highs(relative_gap=0.05))
    assert rough.gap <= 0.05
    assert rough.upper_bound >= optimize(values, [30, 60]).objective - 1e-9


def test_the_interpreter_runs_while_an_optimizer_works() -> None:
    values = np.cumsum(np.random.default_rng(2).random((24, 600)), axis=1)
    done = threading.Event()

    def work() -> None:
        optimize(values, 600, optimizer="annealing-legacy", iterations=3000)
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    turns = 0
    while not done.wait(0.001):
        turns += 1
    worker.join()
    assert turns > 5


def test_ilp_without_a_solver_says_so() -> None:
    problem = AllocationProblem(np.arange(4), np.array([3]), np.array([A, B]))
    with pytest.raises(ConfigError, match="ilp needs a solver for binary programs"):
        core.solve(problem, "ilp")


def test_clashing_reservations_are_infeasible_for_highs_too() -> None:
    values = np.zeros((2, 2, 4))
    for name in ("exact", "ilp"):
        with pytest.raises(ConfigError):
            optimize(values, [1, 2], optimizer=name, lowest=[[0, 3], [1, 1]])


@pytest.mark.parametrize(
    ("values", "more", "message"),
    [
        (
            [[0], [0, 1]],
            {},
            r"values: expected numbers, in rows of one length, got \[\[0\], \[0, 1\]\]",
        ),
        ([["a", "b"]], {}, "values: expected numbers"),
        ([A, B], {"weights": ["much", 1]}, "weights: expected numbers"),
        ([A, B], {"lowest": [[1], [1, 2]]}, "lowest: expected numbers"),
        ([A, B], {"sizes": "all"}, "sizes: expected numbers"),
    ],
)
def test_what_is_no_table_of_numbers_is_named(
    values: Any, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        optimize(values, 3, **more)
