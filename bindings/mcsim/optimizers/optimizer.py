"""Dividing cache space among virtual machines.

Every method solves the same problem: choose a size for every VM (and tier) so that the sum
of the values is largest and no tier is overfull. Every solution has an upper bound on the
objective of any allocation.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np

from mcsim._core import optimizers as _core
from mcsim.base.arguments import check_param, seed_given, shortened, text
from mcsim.base.errors import ConfigError
from mcsim.base.package import require
from mcsim.optimizers.highs import Highs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from mcsim._core.optimizers import BinaryProgram, ParamValue
    from mcsim.optimizers.highs import BinaryProgramSolution

AllocationProblem = _core.AllocationProblem
Solution = _core.Solution
describe = _core.describe


@runtime_checkable
class Optimizer(Protocol):
    """An optimiser of your own: any object with this one method.

    Examples
    --------
    >>> class Greediest:
    ...     '''All space to the VM that gains most.'''
    ...
    ...     def optimize(self, problem):
    ...         blocks = np.zeros(problem.vms, dtype=np.int64)
    ...         blocks[np.argmax(problem.values[:, 0, -1])] = problem.capacities[0]
    ...         return blocks
    >>> mc.optimize([[0, 0.1, 0.2], [0, 0.3, 0.4]], 2, optimizer=Greediest()).allocation
    array([[0, 2]])
    """

    def optimize(self, problem: AllocationProblem) -> NDArray[np.int64]:
        """Divide the space.

        Parameters
        ----------
        problem : AllocationProblem
            A copy: it may be kept.

        Returns
        -------
        int array of shape (tier, vm), or (vm,) if there is one tier
            Blocks. A VM's cumulative size is rounded down to one of `problem.sizes`;
            bounds and capacities are checked after that.
        """
        ...


def load(
    spec: str | Optimizer,
    params: Mapping[str, ParamValue] | None = None,
    *,
    seed: int = 1,
    solver: Callable[[BinaryProgram], BinaryProgramSolution] | None = None,
) -> _core.Optimizer:
    """Make an optimiser that systems and `optimize` can use.

    Parameters
    ----------
    spec : str or Optimizer
        A name from `describe`, ``"module:Class"`` for a class of yours (imported, and built with
        `params` as keyword arguments: take such a name from no one you do not trust), or an
        object of yours.
    params : mapping, optional
        Parameters by name; the defaults are those of `describe`.
    seed : int
        For the methods that draw random numbers.
    solver : callable, optional
        For ``ilp``; HiGHS to the optimum if not given.

    Raises
    ------
    ConfigError
        If there is no such optimiser or parameter.
    """
    params = dict(params or {})
    seed = seed_given(seed)
    if isinstance(spec, str) and ":" not in spec:
        text("optimizer", spec)
        for name, value in params.items():
            check_param(name, value)
        if spec == "ilp" and solver is None:
            require("solutions of ilp", "highspy")
        return _core.make(spec, params, seed, Highs() if solver is None else solver)
    candidate = spec
    if isinstance(spec, str):
        made = _load_class(spec)
        if not (isinstance(made, type) and hasattr(made, "optimize")):
            raise ConfigError(f"{spec}: has no method optimize(problem)")
        candidate = made(**params)
    if not isinstance(candidate, Optimizer):
        raise ConfigError(f"{shortened(spec)}: has no method optimize(problem)")
    return _core.from_python(candidate)


def _load_class(spec: str) -> Callable[..., Any]:
    module_name, _, class_name = spec.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(f"{spec}: cannot import {module_name!r}: {error}") from error
    if not hasattr(module, class_name):
        raise ConfigError(f"{spec}: module {module_name!r} has no {class_name!r}")
    return cast("Callable[..., Any]", getattr(module, class_name))


def optimize(
    values: ArrayLike,
    capacity: ArrayLike,
    *,
    optimizer: str | Optimizer = "exact",
    sizes: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    lowest: ArrayLike | None = None,
    highest: ArrayLike | None = None,
    seed: int = 1,
    solver: Callable[[BinaryProgram], BinaryProgramSolution] | None = None,
    **params: ParamValue,
) -> Solution:
    """Divide the blocks of one or more tiers so that the sum of values is largest.

    Parameters
    ----------
    values : array of shape (vm, size), or (vm, tier, size) for several tiers
        ``values[v, k, i]`` is what VM `v` is worth with ``sizes[i]`` blocks in tiers 0 to `k`
        together. Hit ratio curves, for example.
    capacity : int, or ints of shape (tier,)
        Blocks per tier.
    optimizer : str or Optimizer
        As in `load`.
    sizes : ints of shape (size,), optional
        Blocks, from 0 up. By default 0, 1, 2, …
    weights : array of shape (vm,) or (vm, tier), optional
        Factors on the values: priorities, request rates.
    lowest, highest : ints of shape (vm,) or (vm, tier), optional
        Reservation and limit of every VM, in blocks of tiers 0 to `k` together. Rounded up
        and down to a size.
    seed, solver
        As in `load`.
    **params
        Parameters of the optimiser.

    Returns
    -------
    Solution
        With `allocation` in blocks, shape (tier, vm), the `objective`, and an `upper_bound`
        that no allocation exceeds.

    Raises
    ------
    ConfigError
        If the problem contradicts itself, or the optimiser cannot solve its kind.

    Examples
    --------
    >>> mc.optimize([[0, 0.4, 0.5, 0.5], [0, 0.1, 0.3, 0.6]], 3).allocation
    array([[1, 2]])
    """
    table = np.array(_numbers(values, "values", np.float64), order="C")
    if table.ndim == 2:
        table = table[:, np.newaxis, :]
    if table.ndim != 3 or not table.size:
        raise ConfigError(f"values: expected 2 or 3 axes, none empty, got shape {table.shape}")
    vms, tiers, count = table.shape
    if weights is not None:
        given = _numbers(weights, "weights", np.float64)
        table *= _per_vm_and_tier(given, vms, tiers, "weights")[:, :, np.newaxis]
    grid = np.arange(count) if sizes is None else _whole(sizes, "sizes")
    if grid.shape != (count,):
        raise ConfigError(f"sizes: expected {count}, one for each value, got shape {grid.shape}")
    problem = AllocationProblem(
        np.ascontiguousarray(grid, dtype=np.int64),
        np.atleast_1d(_whole(capacity, "capacity")),
        table,
        None if lowest is None else _index_above(lowest, grid, vms, tiers),
        None if highest is None else _index_below(highest, grid, vms, tiers),
    )
    return load(optimizer, params, seed=seed, solver=solver).solve(problem)


def _numbers(given: ArrayLike, name: str, dtype: type | None = None) -> NDArray[Any]:
    """Return an array of numbers, or raise an error."""
    try:
        array: NDArray[Any] = np.asarray(given, dtype=dtype)
    except (ValueError, TypeError, OverflowError):
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise ConfigError(
            f"{name}: expected numbers, in rows of one length, got {shortened(given)}"
        )
    return array


def _whole(given: ArrayLike, name: str) -> NDArray[np.int64]:
    numbers = _numbers(given, name)
    with np.errstate(invalid="ignore"):
        whole = numbers.astype(np.int64)
    if not np.array_equal(whole, numbers):
        raise ConfigError(f"{name}: expected whole numbers of blocks")
    return whole


def _per_vm_and_tier(array: NDArray[Any], vms: int, tiers: int, name: str) -> NDArray[Any]:
    if array.ndim == 1:
        array = np.repeat(array[:, np.newaxis], tiers, axis=1)
    if array.shape != (vms, tiers):
        raise ConfigError(f"{name}: expected shape ({vms},) or {(vms, tiers)}, got {array.shape}")
    return array


def _index_above(
    blocks: ArrayLike, grid: NDArray[np.int64], vms: int, tiers: int
) -> NDArray[np.int64]:
    wanted = _per_vm_and_tier(_whole(blocks, "lowest"), vms, tiers, "lowest")
    if (wanted > grid[-1]).any():
        raise ConfigError(f"lowest: {wanted.max()} blocks exceed the largest size, {grid[-1]}")
    return np.searchsorted(grid, wanted, side="left").astype(np.int64)


def _index_below(
    blocks: ArrayLike, grid: NDArray[np.int64], vms: int, tiers: int
) -> NDArray[np.int64]:
    allowed = _per_vm_and_tier(_whole(blocks, "highest"), vms, tiers, "highest")
    if (allowed < 0).any():
        raise ConfigError(f"highest: {allowed.min()} blocks are negative")
    return (np.searchsorted(grid, allowed, side="right") - 1).astype(np.int64)
