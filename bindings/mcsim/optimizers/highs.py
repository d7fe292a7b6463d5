"""Binary programs solved by HiGHS: the back end of the ``ilp`` optimiser."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mcsim.base.errors import ConfigError, McsimError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcsim._core.optimizers import BinaryProgram


class BinaryProgramSolution(NamedTuple):
    """Result of a solver of binary programs.

    Attributes
    ----------
    x : float64 array of shape (column,)
        The best solution found; 0 or 1 up to the solver's tolerance.
    objective : float
        Its worth.
    upper_bound : float
        Proven: no solution is worth more.
    nodes : int
        Nodes of the branch-and-bound tree that were looked at.
    """

    x: NDArray[np.float64]
    objective: float
    upper_bound: float
    nodes: int


@dataclass(frozen=True)
class Highs:
    """A solver of binary programs.

    Parameters
    ----------
    relative_gap : float
        Stop when the bound is this near, as a share of the objective. 0 proves the
        optimum.
    time_limit : float
        Seconds; the best solution found until then is returned, with its bound.

    Notes
    -----
    Q. Huangfu and J. A. J. Hall, "Parallelizing the dual revised simplex method",
    Mathematical Programming Computation 10, 2018.
    """

    relative_gap: float = 0.0
    time_limit: float = math.inf

    def __call__(self, program: BinaryProgram) -> BinaryProgramSolution:
        """Maximise ``program.cost @ x`` over its rows and binary ``x``.

        Parameters
        ----------
        program : BinaryProgram
            Its columns are handed over as they are, without copies.

        Raises
        ------
        ConfigError
            If no solution exists, or none was found within the time limit.
        """
        import highspy

        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("mip_rel_gap", self.relative_gap)
        solver.setOptionValue("mip_abs_gap", 0.0)
        solver.setOptionValue("time_limit", self.time_limit)
        columns = len(program.cost)
        status = solver.passModel(
            columns,
            len(program.row_low),
            len(program.coefficient),
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMaximize),
            0.0,
            program.cost,
            np.zeros(columns),
            np.ones(columns),
            program.row_low,
            program.row_high,
            program.row_start,
            program.column,
            program.coefficient,
            np.full(columns, int(highspy.HighsVarType.kInteger), dtype=np.int32),
        )
        if status == highspy.HighsStatus.kError:
            raise McsimError("HiGHS refused the program")
        solver.run()
        return self._answer(solver)

    def _answer(self, solver: Any) -> BinaryProgramSolution:
        import highspy

        status = solver.getModelStatus()
        info = solver.getInfo()
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        if status == highspy.HighsModelStatus.kInfeasible:
            raise ConfigError("no allocation meets the reservations within the capacities")
        if not found:
            reason = solver.modelStatusToString(status)
            raise ConfigError(f"HiGHS found no solution within {self.time_limit} s ({reason})")
        return BinaryProgramSolution(
            x=np.array(solver.getSolution().col_value),
            objective=info.objective_function_value,
            upper_bound=info.mip_dual_bound,
            nodes=int(info.mip_node_count),
        )
