"""Capacities of a curve: for comparisons, in other units than blocks, and for pictures."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import check_choice
from mcsim.locality.hit_units import HitUnits
from mcsim.locality.steps import capacities_given

SizeUnit = Literal["blocks", "B", "KiB", "MiB", "GiB", "TiB"]

_BYTES: dict[str, int] = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_CELLS = 1000
"""Steps of a picture: more of them have the same pixels."""


class Capacities(HitUnits):
    """Curves with their capacities in units and numbers that readers need."""

    def hundredths(self) -> NDArray[np.int64]:
        """Return U/100, 2U/100, …, U blocks, rounded up, for the stream's U distinct blocks.

        U is `saturation` if `distinct` is not known, and of capacities in bytes.

        Returns
        -------
        ndarray of int64, shape (100,)
            Capacities in blocks, at which `mae` compares curves by default.
        """
        in_bytes = self.block_bytes == 1
        blocks = self.saturation if self.distinct is None or in_bytes else self.distinct
        return np.ceil(blocks * np.arange(1, 101) / 100).astype(np.int64)

    def is_resolved(self, capacities: ArrayLike) -> NDArray[np.bool_]:
        """Check which capacities the estimate resolves.

        Parameters
        ----------
        capacities : array_like of int, shape (m,)
            Cache sizes in blocks.

        Returns
        -------
        ndarray of bool, shape (m,)
            True from `resolved_from` on.

        Raises
        ------
        TypeError
            If capacities are not integers.
        """
        return capacities_given(capacities) >= self.resolved_from

    def sizes_in(
        self, capacities: NDArray[np.int64], unit: SizeUnit
    ) -> NDArray[np.int64] | NDArray[np.float64]:
        """Convert capacities from blocks to another unit.

        Parameters
        ----------
        capacities : ndarray of int64, shape (m,)
            Cache sizes in blocks.
        unit : {'blocks', 'B', 'KiB', 'MiB', 'GiB', 'TiB'}
            Unit of the result.

        Returns
        -------
        ndarray of int64 or float64, shape (m,)
            The same sizes in `unit`: `capacities` itself for blocks, otherwise float64.

        Raises
        ------
        ConfigError
            If there is no such unit, or the size of a block is not known.

        Examples
        --------
        >>> curve = mc.estimate([1, 2, 1, 2], block_bytes=4096)
        >>> curve.sizes_in(curve.capacities, "KiB").tolist()
        [0.0, 8.0]
        """
        if unit == "blocks":
            return capacities
        check_choice("unit", unit, ("blocks", *_BYTES))
        if self.block_bytes is None:
            raise ConfigError(f"unit: {unit} needs block_bytes, which this curve does not have")
        return capacities_given(capacities).astype(np.float64) * (self.block_bytes / _BYTES[unit])

    def thinned(self, *, log: bool = False, end: int | None = None) -> Self:
        """Return the curve at the capacities that a picture can show.

        Parameters
        ----------
        log : bool
            Whether the picture's axis of capacities is logarithmic.
        end : int, optional
            The last capacity, in blocks; where the curve's last step is if not given.

        Returns
        -------
        HitRatioCurve
            At most about 1,000 steps, with the hits of this curve.
        """
        last = max(int(self.capacities[-1]) if self.capacities.size else 0, end or 0, 1)
        inner = self.capacities[(self.capacities >= int(log)) & (self.capacities < last)]
        place = np.log(inner) / max(np.log(last), 1e-9) if log else inner / last
        cell = np.floor(_CELLS * place).astype(np.int64)
        kept = inner[np.append(np.diff(cell) > 0, True)[: inner.size]]
        resolved = min(max(int(np.ceil(self.resolved_from)), int(log)), last)
        return self.resampled(np.unique(np.concatenate(([int(log), resolved], kept, [last]))))
