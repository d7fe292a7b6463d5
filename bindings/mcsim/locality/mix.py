"""Sharing a cache against dividing it: what the best fixed parts of it would be worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.arguments import renamed_parameters, whole_number
from mcsim.base.errors import ConfigError
from mcsim.base.result_table import ResultTable
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.sharing import Order, Sharing, SharingReferences, sharing
from mcsim.optimizers.optimizer import Optimizer, optimize

_UNITS = 10_000


class Mix(ResultTable):
    """A cache of several sizes, shared by its VMs or divided into fixed parts.

    The table has a row for each size: ``capacity`` (blocks) and ``accesses``. Misses are those of
    one LRU cache that all VMs share, ``shared``, of equal parts, ``equal``, and of the best
    ``parts``. A shared cache of ``effective`` blocks would have the misses of the best parts. The
    ratio of ``effective`` to ``capacity``, less 1, is ``size_gain``.

    Attributes
    ----------
    sharing : Sharing
    allocation : ndarray of int64, shape (sizes, vms)
        Blocks of each VM in the best division.
    """

    def __init__(
        self,
        sharing: Sharing,
        columns: Mapping[str, NDArray[Any]],
        allocation: NDArray[np.int64],
    ) -> None:
        gains = 100 * columns["size_gain"]
        answer = f"The best fixed parts are worth {gains.mean():+.1f} % of the cache's size"
        if len(gains) > 1:
            answer += f" in the mean, from {gains.min():+.1f} % to {gains.max():+.1f} %"
        title = "A cache shared or divided"
        super().__init__(columns, "mix", title=title, answer=f"{answer}.")
        self.sharing, self.allocation = sharing, allocation


@renamed_parameters(method="optimizer")
def mix(
    references: SharingReferences,
    sizes: str | Iterable[int | float | str] = "log(1%, 100%, 13)",
    *,
    order: Order = "time",
    units: int = _UNITS,
    optimizer: str | Optimizer = "exact",
) -> Mix:
    """Compare a cache that VMs share with the same cache divided into the best fixed parts.

    Under LRU everywhere. Nothing is replayed: parts follow from the curves of the VMs, the
    shared cache from that of all their references, exactly. The effective size of a division is
    that of the shared cache with equal misses: for example 40 % more.

    Parameters
    ----------
    references : Trace, sequence of Trace, Blocks or mapping
        References of the VMs; see `mcsim.locality.sharing.sharing`.
    sizes : iterable of int or str
        Sizes of the cache: blocks, ``'1GiB'``, ``'10%'`` of the distinct blocks, or
        ``'log(1%, 100%, 13)'``.
    order : {'time', 'rates'}
        How references of several VMs follow each other; see
        `mcsim.locality.sharing.sharing`.
    units : int
        Parts are multiples of this share of the cache; of single blocks, where it has no more.
    optimizer : str or Optimizer
        As of `mcsim.optimize`.

    Returns
    -------
    Mix

    Raises
    ------
    ConfigError
        If a size is none, or as of `sharing` and `mcsim.optimize`.

    References
    ----------
    I. Ahmad, talk on miss ratio curves, SNIA Storage Developer Conference 2015 (its application to
    partitions for aggregate performance).

    Examples
    --------
    A loop over two blocks is safe from a scan only if it has them to itself.

    >>> found = mc.mix({"loop": [1, 2] * 6, "scan": range(12)}, [2], order="rates")
    >>> found[["shared", "parts", "effective", "size_gain"]].tolist(), found.allocation.tolist()
    ([(24, 14, 4, 1.0)], [[2, 0]])
    """
    return mix_of(sharing(references, order), sizes, units=units, optimizer=optimizer)


def mix_of(
    of: Sharing,
    sizes: str | Iterable[int | float | str],
    *,
    units: int = _UNITS,
    optimizer: str | Optimizer = "exact",
    alone: Sequence[HitRatioCurve] | None = None,
) -> Mix:
    """Do what `mix` does, for VMs whose references are in order.

    Parameters
    ----------
    alone : sequence of HitRatioCurve, optional
        Curves of each VM alone, if computed before.
    """
    units = whole_number("units", units, 1)
    capacities = of.sizes("sizes", sizes)
    if not capacities:
        raise ConfigError("sizes: expected at least one")
    own = list(of.alone.values() if alone is None else alone)
    together = of.together
    found = [_divided(own, together, blocks, units, optimizer) for blocks in capacities]
    columns = {
        "capacity": np.array(capacities),
        "accesses": np.full(len(capacities), len(of)),
        **{name: np.array([row[name] for _, row in found]) for name in found[0][1]},
    }
    return Mix(of, columns, np.array([parts for parts, _ in found]))


def _divided(
    own: list[HitRatioCurve],
    together: HitRatioCurve,
    blocks: int,
    units: int,
    optimizer: str | Optimizer,
) -> tuple[NDArray[np.int64], dict[str, float]]:
    parts = best_parts(own, blocks, units=units, optimizer=optimizer)
    hits = _hits(own, parts)
    effective = effective_size(together, blocks, hits)
    return parts, {
        "shared": together.accesses - round(together.at(blocks) * together.accesses),
        "equal": together.accesses - _hits(own, np.full(len(own), blocks // len(own))),
        "parts": together.accesses - hits,
        "effective": effective,
        "size_gain": effective / blocks - 1,
    }


def best_parts(
    curves: list[HitRatioCurve],
    blocks: int,
    *,
    units: int = _UNITS,
    optimizer: str | Optimizer = "exact",
) -> NDArray[np.int64]:
    """Divide a cache so that its parts hit most, by what each VM hits alone.

    Parameters
    ----------
    curves : list of HitRatioCurve
        One a VM; their hits count, not their ratios.
    blocks : int
        Size of the cache.
    units, optimizer
        As of `mix`.

    Returns
    -------
    ndarray of int64, shape (vms,)
        Blocks; they fill the cache.
    """
    unit = -(-blocks // units)
    sizes = np.arange(0, blocks + 1, unit)
    values = [curve.at(sizes) * curve.accesses for curve in curves]
    solution = optimize(values, int(sizes[-1]), sizes=sizes, optimizer=optimizer)
    parts: NDArray[np.int64] = solution.allocation[0].copy()
    # The leftover has no utility for the optimiser, but may help a VM.
    rest = blocks - int(parts.sum())
    gains = [
        curve.accesses * (curve.at(int(part) + rest) - curve.at(int(part)))
        for curve, part in zip(curves, parts, strict=True)
    ]
    parts[int(np.argmax(gains))] += rest
    return parts


def effective_size(together: HitRatioCurve, blocks: int, hits: int) -> int:
    """Return the size of the shared cache that hits so often, in blocks.

    It is the least that does, but where the cache as it is hits exactly as often: then it is
    that, though a smaller one may hit no less.

    Parameters
    ----------
    together : HitRatioCurve
        Curve of all references, for the shared cache.
    blocks : int
        Its size as it is.
    hits : int
        At most the greatest hits of `together`.
    """
    if hits == round(together.at(blocks) * together.accesses):
        return blocks
    return int(together.capacities[np.searchsorted(together.hits, hits - 0.5)])


def _hits(curves: list[HitRatioCurve], parts: NDArray[np.int64]) -> int:
    each = (curve.at(int(part)) * curve.accesses for curve, part in zip(curves, parts, strict=True))
    return round(sum(each))
