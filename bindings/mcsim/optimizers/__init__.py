"""Ways to solve one allocation problem: the core's, the solver HiGHS, and yours."""

from __future__ import annotations

from mcsim.optimizers.optimizer import (
    AllocationProblem,
    Optimizer,
    Solution,
    describe,
    load,
    optimize,
)

__all__ = ["AllocationProblem", "Optimizer", "Solution", "describe", "load", "optimize"]
