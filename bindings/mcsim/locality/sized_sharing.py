"""Objects with sizes of several VMs, in caches with capacities in bytes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mcsim._core import locality as _locality
from mcsim._core import policies as _policies
from mcsim.base.errors import ConfigError
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import curve_of
from mcsim.locality.hit_units import COLD
from mcsim.locality.measure import HitRatioCurves
from mcsim.locality.sharing import Sharing
from mcsim.references.objects import SizedObjects
from mcsim.traces.batches import Kind


@dataclass(frozen=True, eq=False, repr=False)
class SizedSharing(Sharing):
    """As `Sharing`, of objects that keep their sizes; the unit of capacities is a byte.

    Parts smaller than the largest object of a VM have the hits that one pass gives, which a replay
    may miss by a little.

    Attributes
    ----------
    weights : ndarray of uint32, shape (n,)
        Bytes of the object of each reference.
    """

    weights: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))

    @classmethod
    def of_objects(
        cls, names: tuple[str, ...], vm: NDArray[np.uint16], of: SizedObjects
    ) -> Sharing:
        """Return the references in the order of their times.

        Raises
        ------
        ConfigError
            If an object changes its size or is deleted: one pass is not exact then.
        """
        reason = "" if of.keep_their_sizes else "an object changes its size"
        if reason or len(of.discards):
            raise ConfigError(
                f"{of.label}: {reason or 'objects are deleted'}, so that one pass does not give "
                "the hits in bytes: give sizes as numbers of objects or shares of them"
            )
        return cls(names, of.ids, vm, 1, None, of.sizes)

    @property
    def kind(self) -> Kind:
        """Kind of the references."""
        return "objects"

    @property
    def whole(self) -> int:
        """The capacity that holds all."""
        return self.distinct_bytes

    @cached_property
    def distinct_bytes(self) -> int:
        """Bytes of all distinct objects."""
        return int(self.weights[np.unique(self.ids, return_index=True)[1]].sum(dtype=np.int64))

    @cached_property
    def alone(self) -> HitRatioCurves:
        """Curve of each VM in a cache of its own, by name."""
        curves = {
            name: self._curve_in_bytes(self.ids[own], self.weights[own])
            for name, own in zip(self.vms, self.positions, strict=True)
        }
        return HitRatioCurves(curves, "vm")

    @cached_property
    def together(self) -> HitRatioCurve:
        """Curve of all VMs in one cache."""
        return self._curve_in_bytes(self.ids, self.weights)

    @cached_property
    def shared(self) -> HitRatioCurves:
        """Curve of each VM in a shared cache, by name."""
        ids, unique = _policies.number(self.ids.astype(np.uint64))
        distances = _locality.byte_distances(ids, self.weights, unique)
        # One less, as distances in blocks do not count the block itself.
        below = np.where(distances == COLD, COLD, distances + self.weights - 1)
        curves = {
            name: self._curve_of(below[own], self.alone[name].distinct)
            for name, own in zip(self.vms, self.positions, strict=True)
        }
        return HitRatioCurves(curves, "vm")

    def _kept(self, of: Sharing, stays: NDArray[np.bool_]) -> Sharing:
        return replace(self, vms=of.vms, ids=of.ids, vm=of.vm, weights=self.weights[stays])

    def _curve_in_bytes(
        self, ids: NDArray[np.uint32], weights: NDArray[np.uint32]
    ) -> HitRatioCurve:
        numbered, unique = _policies.number(ids.astype(np.uint64))
        made, _ = _locality.byte_curve(numbered, weights, unique)
        return replace(curve_of(made, float(unique), "exact", 1), resolved_from=0)
