"""Tenants of a KV cache as VMs that share it: curves of the tokens of prefixes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.measure import HitRatioCurves
from mcsim.locality.prefixes import prefix_curve, prefix_curves
from mcsim.locality.sharing import Sharing
from mcsim.traces.chains import ChainTrace


@dataclass(frozen=True, eq=False, repr=False)
class PrefixSharing(Sharing):
    """As `Sharing`, with the tenants of a chain trace; accesses are tokens, tails evicted first.

    Attributes
    ----------
    trace : ChainTrace
        The requests of all tenants, which may have blocks together.
    """

    trace: ChainTrace | None = None

    @classmethod
    def of(cls, trace: ChainTrace, block_bytes: int | None = None) -> Self:
        """Return the tenants of a trace.

        Raises
        ------
        ConfigError
            If the trace has no tenants.
        """
        if trace.tenant is None:
            raise ConfigError(f"{trace.label}: no tenants: the trace has no such field")
        vm = np.repeat(trace.tenant, trace.lengths).astype(np.uint16)
        return cls(tuple(trace.tenants), trace.blocks, vm, block_bytes, None, trace)

    @property
    def _trace(self) -> ChainTrace:
        assert self.trace is not None
        return self.trace

    def __len__(self) -> int:
        return int(self._trace.tokens.sum())

    @property
    def capacity_name(self) -> str:
        """Unit of capacities."""
        return "blocks"

    @cached_property
    def unique(self) -> int:
        """Distinct blocks of all."""
        return self._trace.distinct

    @cached_property
    def alone(self) -> HitRatioCurves:
        """Curve of each tenant in a cache of its own, by name."""
        curves = {name: self._tokens(self._trace.of_tenant(name)) for name in self.vms}
        return HitRatioCurves(curves, "vm")

    @cached_property
    def together(self) -> HitRatioCurve:
        """Curve of all tenants in one cache."""
        return self._tokens(self._trace)

    @cached_property
    def shared(self) -> HitRatioCurves:
        """Curve of each tenant in a shared cache, by name."""
        found = prefix_curves(self._trace, block_bytes=self.block_bytes)
        return HitRatioCurves({name: of.of("tokens") for name, of in found.items()}, "vm")

    def _tokens(self, trace: ChainTrace) -> HitRatioCurve:
        return prefix_curve(trace, block_bytes=self.block_bytes).of("tokens")

    def _kept(self, of: Sharing, stays: NDArray[np.bool_]) -> Sharing:
        raise ConfigError("tenants of chains neither leave nor join")
