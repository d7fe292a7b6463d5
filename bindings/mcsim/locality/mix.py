"""Sharing a cache against dividing it: what the best fixed parts of it would be worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.arguments import whole_number
from mcsim.base.errors import ConfigError
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.dominant import dominant_vm, share_text
from mcsim.locality.prefix_mix import PrefixSharing
from mcsim.locality.sharing import Order, Sharing, SharingReferences, sharing
from mcsim.optimizers.optimizer import Optimizer, optimize
from mcsim.tables.result_table import ResultTable
from mcsim.traces.chains import ChainTrace

_UNITS = 10_000
_MOST_CELLS = 2**24
"""VMs times units up to which the best parts are found by dynamic programming."""
_ROUNDS = 64


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
    slack : ndarray of float64, shape (sizes,)
        The greatest number of hits that another division may have more. It is 0 unless the parts
        follow from concave hulls.
    """

    def __init__(
        self,
        sharing: Sharing,
        columns: Mapping[str, NDArray[Any]],
        allocation: NDArray[np.int64],
        slack: NDArray[np.float64],
    ) -> None:
        answer = _answer(sharing, columns, allocation)
        if slack.any():
            answer += (
                f" Parts of {len(sharing.vms):,} VMs follow from the concave hulls of their "
                f"curves: no parts hit over {math.ceil(slack.max()):,} accesses more."
            )
        title = "A cache shared or divided"
        super().__init__(columns, "mix", title=title, answer=answer)
        self.sharing, self.allocation, self.slack = sharing, allocation, slack


def _answer(
    sharing: Sharing, columns: Mapping[str, NDArray[Any]], allocation: NDArray[np.int64]
) -> str:
    """Return the gain of the best parts, at sizes where no VM alone decides the total."""
    sizes = columns["capacity"].tolist()
    dominant = [dominant_vm(sharing, size) for size in sizes]
    is_judged = np.array([vm is None for vm in dominant])
    sentences = []
    if is_judged.any():
        gains = 100 * columns["size_gain"][is_judged]
        text = f"The best fixed parts are worth {gains.mean():+.1f} % of the cache's size"
        if len(gains) > 1:
            text += f" in the mean, from {gains.min():+.1f} % to {gains.max():+.1f} %"
        if len(gains) < len(sizes):
            text += f", at {len(gains)} of {len(sizes)} sizes"
        sentences.append(f"{text}.")
    if not is_judged.all():
        at = int(np.flatnonzero(~is_judged)[-1])
        sentences.append(
            f"No verdict at {(~is_judged).sum()} of {len(sizes)} sizes, because one VM decides the "
            f"total: {_of_others(sharing, sizes[at], allocation[at], str(dominant[at]))}"
        )
    return " ".join(sentences)


def _of_others(sharing: Sharing, size: int, parts: NDArray[np.int64], dominant: str) -> str:
    """Return what the VMs hit, but for the one that decides the total."""
    hits = np.zeros(2)
    accesses = 0
    for vm, blocks in zip(sharing.vms, parts.tolist(), strict=True):
        if vm != dominant:
            own = sharing.alone[vm]
            accesses += own.accesses
            hits += own.accesses * np.array([sharing.shared[vm].at(size), own.at(blocks)])
    shared, divided = (f"{100 * of / accesses:.1f} %" for of in hits.tolist())
    return (
        f"{share_text(sharing, dominant, size)} in {size:,} {sharing.capacity_name}; there the "
        f"others hit {shared} shared and {divided} in the best parts."
    )


def mix(
    references: SharingReferences | ChainTrace,
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
    references : Trace, sequence of Trace, Blocks, mapping or ChainTrace
        References of the VMs; see `mcsim.locality.sharing.sharing`. Of a chain trace: the tokens
        of its tenants, which hit in cached prefixes.
    sizes : iterable of int or str
        Sizes of the cache: blocks, ``'1GiB'``, ``'10%'`` of the distinct blocks, or
        ``'log(1%, 100%, 13)'``.
    order : {'time', 'rates'}
        How references of several VMs follow each other; see
        `mcsim.locality.sharing.sharing`.
    units : int
        Parts are multiples of this share of the cache; of single blocks, where it has no more.
    optimizer : str or Optimizer
        As of `mcsim.optimize`. With more than 2^24 VMs times units, ``'exact'`` takes the concave
        hulls of the curves and states by how much the best parts may be better.

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
    if isinstance(references, ChainTrace):
        if order != "time":
            raise ConfigError("order: a chain trace is in the order of time")
        of: Sharing = PrefixSharing.of(references)
    else:
        of = sharing(references, order)
    return mix_of(of, sizes, units=units, optimizer=optimizer)


def mix_of(
    of: Sharing,
    sizes: str | Iterable[int | float | str],
    *,
    units: int = _UNITS,
    optimizer: str | Optimizer = "exact",
    alone: Sequence[HitRatioCurve] | None = None,
) -> Mix:
    """Compute `mix` from references that are in order.

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
    curves = _Curves(own)
    found = [_divided(curves, together, blocks, units, optimizer) for blocks in capacities]
    columns = {
        "capacity": np.array(capacities),
        "accesses": np.full(len(capacities), len(of)),
        **{name: np.array([row[name] for _, row in found]) for name in found[0][1]},
    }
    slack = columns.pop("slack")
    return Mix(of, columns, np.array([parts for parts, _ in found]), slack)


class _Curves:
    """Curves of VMs as one table, to look up a size of each at once."""

    def __init__(self, curves: Sequence[HitRatioCurve]) -> None:
        self.curves = list(curves)
        # Each row of an empty cache comes first: curves may begin with their first hit.
        sizes = np.concatenate([column for of in curves for column in ([0], of.capacities)])
        hits = np.concatenate([column for of in curves for column in ([0.0], of.hits)])
        self._width = 2 + int(sizes.max())
        self._begins = self._width * np.arange(len(self.curves))
        counts = [1 + len(of.capacities) for of in curves]
        self._places = np.repeat(self._begins, counts) + sizes
        self._hits = hits

    def hits(self, parts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the hits of each VM in a cache of its own."""
        places = self._begins + np.minimum(parts, self._width - 1)
        return self._hits[np.searchsorted(self._places, places, side="right") - 1]

    @cached_property
    def hulls(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """VM, blocks and hits of each segment of the concave hulls, the steepest first."""
        vms, widths, gains, slopes = [], [], [], []
        for vm, curve in enumerate(self.curves):
            sizes, _ = curve.hull()
            width, gain = np.diff(sizes), np.diff(curve.resampled(sizes).hits)
            vms.append(np.full(len(width), vm))
            widths.append(width)
            gains.append(gain)
            # Segments of a VM stay in order, even if rounding errors make a later one steeper.
            slopes.append(np.minimum.accumulate(gain / width))
        order = np.argsort(-np.concatenate(slopes), kind="stable")
        return (
            np.concatenate(vms)[order],
            np.concatenate(widths)[order],
            np.concatenate(gains)[order],
        )


def _divided(
    own: _Curves,
    together: HitRatioCurve,
    blocks: int,
    units: int,
    optimizer: str | Optimizer,
) -> tuple[NDArray[np.int64], dict[str, float]]:
    slack = 0.0
    count = len(own.curves)
    if optimizer == "exact" and count * min(units, blocks) > _MOST_CELLS:
        parts, slack = _parts_by_hulls(own, blocks)
    else:
        parts = best_parts(own.curves, blocks, units=units, optimizer=optimizer)
    hits = _hits(own, parts)
    effective = effective_size(together, blocks, hits)
    return parts, {
        "slack": slack,
        "shared": together.accesses - round(together.at(blocks) * together.accesses),
        "equal": together.accesses - _hits(own, np.full(count, blocks // count)),
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
    return _filled(_Curves(curves), solution.allocation[0], blocks)


def _filled(own: _Curves, parts: NDArray[np.int64], blocks: int) -> NDArray[np.int64]:
    """Return parts that fill the cache: the VM that it helps most has the leftover."""
    rest = blocks - int(parts.sum())
    filled: NDArray[np.int64] = parts.copy()
    filled[int(np.argmax(own.hits(parts + rest) - own.hits(parts)))] += rest
    return filled


def _parts_by_hulls(own: _Curves, blocks: int) -> tuple[NDArray[np.int64], float]:
    """Divide a cache by the steepest segments of the concave hulls.

    Returns
    -------
    parts : ndarray of int64, shape (vms,)
        Blocks; they fill the cache.
    slack : float
        The greatest number of hits that another division may have more.

    References
    ----------
    B. Fox, *Discrete optimization via marginal analysis*, Management Science 13(3), 1966.
    """
    vm, width, gain = own.hulls
    parts = np.zeros(len(own.curves), np.int64)
    rest, bound = blocks, None
    for _ in range(_ROUNDS):
        taken = int(np.searchsorted(np.cumsum(width), rest, side="right"))
        np.add.at(parts, vm[:taken], width[:taken])
        rest -= int(width[:taken].sum())
        if bound is None:
            bound = own.hits(parts).sum()
            bound += gain[taken] / width[taken] * rest if taken < len(vm) else 0
        if taken == len(vm) or rest == 0:
            break
        # A segment that does not fit ends the part of its VM.
        others = np.flatnonzero((vm != vm[taken]) & (np.arange(len(vm)) > taken))
        vm, width, gain = vm[others], width[others], gain[others]
    parts = _filled(own, parts, blocks)
    assert bound is not None
    return parts, max(0.0, float(bound - own.hits(parts).sum()))


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


def _hits(own: _Curves, parts: NDArray[np.int64]) -> int:
    return round(float(own.hits(parts).sum()))
