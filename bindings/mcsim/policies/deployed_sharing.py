"""VMs that share a deployed cache: curves by replays, for commands about LRU caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.measure import HitRatioCurves
from mcsim.locality.sharing import Sharing, sharing
from mcsim.policies.deployed_caches import replayed_curve, replayed_curves, sizes_to_replay
from mcsim.policies.specs import DeployedSpec
from mcsim.references.blocks import Blocks
from mcsim.references.pieces import Discards


@dataclass(frozen=True, eq=False, repr=False)
class DeployedSharing(Sharing):
    """As `Sharing`, with a deployed cache in place of LRU.

    Curves have the hits of replays at some sizes. A size has at least the hits of smaller ones.

    Attributes
    ----------
    blocks : Blocks
        The requests of all VMs.
    spec : DeployedSpec
    requested : tuple of int
        Sizes in blocks to replay, with those of `sizes_to_replay`.
    """

    blocks: Blocks | None = None
    spec: DeployedSpec | None = None
    requested: tuple[int, ...] = ()

    @classmethod
    def of(cls, blocks: Blocks, spec: DeployedSpec) -> Self:
        """Return the references of all VMs, in the order of time."""
        by_time = sharing(blocks)
        return cls(by_time.vms, by_time.ids, by_time.vm, by_time.block_bytes, None, blocks, spec)

    def with_sizes(self, sizes: Sequence[int]) -> Self:
        """Add sizes to replay, and the equal parts of each."""
        parts = [size // len(self.vms) for size in sizes]
        return replace(self, requested=(*self.requested, *sizes, *parts))

    def _kept(self, of: Sharing, stays: NDArray[np.bool_]) -> Sharing:
        assert self.blocks is not None
        return replace(self, vms=of.vms, ids=of.ids, vm=of.vm, blocks=_of_vms(self.blocks, of.vms))

    @cached_property
    def _sizes(self) -> list[int]:
        assert self.blocks is not None
        assert self.spec is not None
        return sizes_to_replay(self.blocks, self.spec, self.requested)

    @cached_property
    def alone(self) -> HitRatioCurves:
        """Curve of each VM in a cache of its own, by name."""
        assert self.blocks is not None
        assert self.spec is not None
        curves = {
            name: replayed_curve(_of_vms(self.blocks, (name,)), self.spec, self._sizes)
            for name in self.vms
        }
        return HitRatioCurves(curves, "vm")

    @cached_property
    def _shared(self) -> dict[str, HitRatioCurve]:
        """Curves of each VM in the shared cache, and of all, under the name ''."""
        assert self.blocks is not None
        assert self.spec is not None
        return replayed_curves(self.blocks, self.spec, self._sizes)

    @cached_property
    def together(self) -> HitRatioCurve:
        """Curve of all VMs in one cache."""
        return self._shared[""]

    @cached_property
    def shared(self) -> HitRatioCurves:
        """Curve of each VM in a shared cache, by name."""
        return HitRatioCurves({name: self._shared[name] for name in self.vms}, "vm")


def _of_vms(blocks: Blocks, names: Sequence[str]) -> Blocks:
    """Return the requests of some VMs."""
    chosen = tuple(vm for vm in blocks.workload.vms if vm.name in names)
    if len(chosen) < len(names):
        raise ConfigError(f"no VM {names!r}")
    workload = replace(blocks.workload, vms=chosen)
    ops = "reads" if blocks.ops_kept == "reads" else "all"
    view = {"block_bytes": blocks.block_bytes, "ops": ops, "line_blocks": 1}
    if not workload.without_lengths():
        view["bytes"] = True
    accesses = workload.intern(view)
    whole = slice(0, accesses.request_count)
    label = ", ".join(names)
    return Blocks(label, workload, blocks.ops_kept, accesses, whole, Discards.of(accesses))
