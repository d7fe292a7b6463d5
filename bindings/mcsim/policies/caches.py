"""Caches to simulate: policies and sizes, and the references that they share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import policies as _policies
from mcsim.base.arguments import list_of, shortened
from mcsim.base.columns import keys_of, operations_of
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.sizes import parse_capacities
from mcsim.base.specs import ParamValue
from mcsim.policies import BOUND_OF_SIZES
from mcsim.policies.python_policies import PythonSpec
from mcsim.policies.specs import (
    DeployedSpec,
    PolicyChoice,
    PolicySpec,
    policies_given,
    with_rules_for_sizes,
)
from mcsim.references.blocks import Blocks, References
from mcsim.references.given import blocks_in
from mcsim.references.objects import SizedObjects, sized_for, whole_of
from mcsim.references.pieces import DiscardColumns, RequestColumns, discards_of, request_columns_of
from mcsim.tables.column import Column
from mcsim.tables.result_table import ResultTable

_BYTES = Column("capacity", "bytes", "count", "capacity of the cache, in bytes of objects")


def _capacities(sizes: Sequence[int | str], whole: int, block_bytes: int | None) -> list[int]:
    asked: object = sizes
    if not isinstance(asked, Iterable):
        given = shortened(asked)
        raise ConfigError(f"sizes: expected a list, such as [{given}], got {given}")
    several = [sizes] if isinstance(sizes, str) else list_of("sizes", sizes, "sizes")
    with mistakes_in("sizes"):
        return [
            capacity for size in several for capacity in parse_capacities(size, whole, block_bytes)
        ]


@dataclass(frozen=True)
class Caches:
    """Caches to simulate, as the core takes them.

    Attributes
    ----------
    blocks : ndarray of uint32
        The trace, its blocks numbered below `unique`.
    operations : ndarray of uint8 or None
        All are reads if there are none.
    discards, requests : optional
        As of `mcsim.references.pieces`; None for an array.
    warm_up : int
        How many of the first accesses are not counted.
    weights : ndarray of uint32 or None
        Bytes of the object of each access; the capacities are in bytes then.
    source : Blocks or None
        The requests that deployed caches replay; None for an array.
    """

    blocks: NDArray[np.uint32]
    unique: int
    operations: NDArray[np.uint8] | None
    specs: list[PolicySpec | PythonSpec]
    capacities: list[int]
    discards: DiscardColumns | None = None
    requests: RequestColumns | None = None
    warm_up: int = 0
    weights: NDArray[np.uint32] | None = None
    source: Blocks | None = None

    @classmethod
    def asked(
        cls,
        references: References,
        policies: PolicyChoice,
        sizes: Sequence[int | str],
        ops: ArrayLike | None = None,
    ) -> Caches:
        """Read what `simulate` is given."""
        several = [policies] if isinstance(policies, str) else policies
        block_bytes = None
        if (of_trace := blocks_in(references, warm_up=True)) is not None:
            if ops is not None:
                raise ConfigError("ops: the blocks of a trace have theirs")
            with mistakes_in("sizes"):
                of_trace = sized_for(of_trace, sizes)
            blocks, unique = of_trace.numbered
            block_bytes = of_trace.capacity_unit
            operations: NDArray[np.uint8] | None = (
                None if of_trace.ops_kept == "reads" else of_trace.ops
            )
        else:
            keys = keys_of(cast(ArrayLike, references))
            blocks, unique = _policies.number(keys.astype(np.uint64, copy=False))
            operations = None if ops is None else operations_of(ops)
        if isinstance(of_trace, SizedObjects):
            specs = policies_given(with_rules_for_sizes(policies), sizes=True)
        else:
            specs = policies_given(several)
        whole = unique if of_trace is None else whole_of(of_trace)
        capacities = _capacities(sizes, whole, block_bytes)
        caches = cls(blocks, unique, operations, specs, capacities)
        if of_trace is None:
            return caches
        return replace(
            caches,
            discards=discards_of(of_trace),
            requests=request_columns_of(of_trace),
            warm_up=of_trace.warm_up,
            weights=of_trace.sizes if isinstance(of_trace, SizedObjects) else None,
            source=of_trace,
        )

    @property
    def configs(self) -> list[tuple[str | _policies.PythonPolicy, dict[str, ParamValue], int]]:
        """Policy, parameters and capacity of each: all sizes of the first policy, then others.

        Without bounds, which are not replayed, and deployed caches, which are systems.
        """
        return [
            (spec.policy, spec.declared(), size)
            for spec in self.specs
            for size in self.capacities
            if spec.policy != BOUND_OF_SIZES and not isinstance(spec, DeployedSpec)
        ]

    @property
    def times(self) -> NDArray[np.int64] | None:
        """Time of each access in ns, if a policy reads it and the trace has a clock."""
        if self.source is None or not _policies.read_times(self.configs):
            return None
        return self.source.times

    @property
    def spec_of_each(self) -> list[PolicySpec | PythonSpec]:
        """The policy of each cache, in the order of `configs`."""
        return [spec for spec in self.specs for _ in self.capacities]

    def table(self, columns: dict[str, NDArray[Any]]) -> ResultTable:
        """Return a table with a row for each cache: policy, capacity and the given columns."""
        policies = [str(spec) for spec in self.spec_of_each]
        caches: dict[str, NDArray[Any]] = {
            "policy": np.array(policies, dtype=np.str_),
            "capacity": np.array(self.capacities * len(self.specs), dtype=np.int64),
        }
        title = "Caches by policy and size"
        declared = [] if self.weights is None else [_BYTES]
        return ResultTable(caches | columns, "policies", title=title, declared=declared)
