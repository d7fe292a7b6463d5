"""Trusts: `pickle`."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

import mcsim as mc


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def test_references_and_solutions_are_pickled() -> None:
    offsets = 4096 * np.array([1, 2, 1, 2, 3, 1], np.uint64)
    trace = mc.Trace.from_arrays(np.arange(6) * 10**9, offsets, np.full(6, 4096, np.uint32))
    blocks = trace.blocks("all")
    copy = again(blocks)
    assert copy.label == blocks.label
    for column in ("ids", "vm", "times", "ops"):
        np.testing.assert_array_equal(getattr(copy, column), getattr(blocks, column))
    solution = mc.optimize([[0, 0.4, 0.5, 0.5], [0, 0.1, 0.3, 0.6]], 3)
    copy = again(solution)
    assert repr(copy) == repr(solution)
    assert (copy.evaluations, copy.seconds) == (solution.evaluations, solution.seconds)
    for column in ("choice", "allocation"):
        np.testing.assert_array_equal(getattr(copy, column), getattr(solution, column))
