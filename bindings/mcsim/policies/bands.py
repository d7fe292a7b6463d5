"""Uncertainty of estimates from samples: variance over seeds, and lower bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mcsim._core import policies as _policies
from mcsim.policies.python_policies import PythonSpec
from mcsim.policies.specs import PolicySpec

if TYPE_CHECKING:
    from mcsim.references.workload import Workload, WorkloadVm
    from mcsim.tables.result_table import ResultTable

_VERIFIED = frozenset(
    {
        *("lru", "fifo", "clock", "random", "slru", "s4lru"),
        *("2q", "s3-fifo", "hyperbolic", "opt"),
    }
)
"""Policies with bands that cover the truth on the streams of `./mcsim bench bands`."""

_FEW_BLOCKS = (
    "newcomers can be left with a few blocks of any cache, which a miniature cannot scale down"
)
_SMALL_PART = "1 % of the cache is a list of its own, which has few blocks in a miniature"
_GROWING = "its band covers the truth too rarely when the period of a loop grows"
_GHOST_HITS = "every ghost hit changes its parameters, and a miniature has fewer ghost hits"

_BIASED = {
    **dict.fromkeys(("sieve", "mru", "lfu", "perfect-lfu", "lru-k", "mq"), _FEW_BLOCKS),
    **dict.fromkeys(("lfu-da", "gdsf"), _GROWING),
    **dict.fromkeys(("lirs", "w-tinylfu"), _SMALL_PART),
    **dict.fromkeys(("arc", "car", "clock-pro", "lecar", "cacheus"), _GHOST_HITS),
}
"""Policies with bands that miss the truth, and the reason."""

# Two-sided 99 % quantiles of Student's t by degrees of freedom, and of the normal distribution:
# sums that few blocks decide are within them 95 % of the time, and small caches, which turn cliffs
# of a curve into slopes, are all a little off in the same way.
_T995 = (63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169)
_Z995 = 2.575829
_Z975 = 1.959964

_COUNTERS = 1 << 16


def no_band_reason(spec: PolicySpec | PythonSpec) -> str:
    """Return why miniatures of a policy have no confidence band; empty if they have one.

    Examples
    --------
    >>> from mcsim.policies.bands import no_band_reason
    >>> from mcsim.policies.specs import parse_policies
    >>> [no_band_reason(spec) for spec in parse_policies("lru,2q(kin=0.01)")]
    ['', 'its band is verified for default parameters alone']
    """
    if isinstance(spec, PolicySpec):
        if spec.name in _BIASED:
            return _BIASED[spec.name]
        if spec.name in _VERIFIED:
            is_default = not spec.params or spec.declared().items() <= _defaults(spec.name).items()
            return "" if is_default else "its band is verified for default parameters alone"
    return "its band was never verified"


def no_band_reasons(
    specs: Sequence[PolicySpec | PythonSpec],
    seeds: int,
    rates: NDArray[np.float64],
    *,
    sizes: bool = False,
) -> NDArray[np.str_]:
    """Return why each cache has no band; empty if it has one, or is exact because its rate is 1.

    `sizes`: capacities are in bytes of objects, for which no band was verified.
    """

    def reason_of(spec: PolicySpec | PythonSpec) -> str:
        if sizes:
            return "not verified for objects of different sizes"
        return no_band_reason(spec) if seeds > 1 else "a band takes two seeds"

    reasons = [
        "" if rate == 1 else reason_of(spec)
        for spec, rate in zip(specs, rates.tolist(), strict=True)
    ]
    return np.array(reasons, dtype=np.str_)


def no_band_notes(rows: ResultTable) -> list[str]:
    """Return a sentence for each reason in the column `no_band`, with the policies concerned."""
    policies: dict[str, list[str]] = {}
    for policy, reason in dict.fromkeys(rows[["policy", "no_band"]].tolist()):
        if reason:
            policies.setdefault(reason, []).append(policy)
    return [f"no band for {', '.join(names)}: {reason}" for reason, names in policies.items()]


def _defaults(policy: str) -> dict[str, object]:
    (entry,) = (entry for entry in _policies.describe() if entry["name"] == policy)
    return {param["name"]: param["default"] for param in entry["params"]}


def margin_of(estimates: NDArray[np.float64], least: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return half the 95 % band of the mean over seeds.

    Parameters
    ----------
    estimates : array of shape (seeds, n)
    least : array of shape (n,)
        Lower bound on the standard deviation of the mean.

    Returns
    -------
    array of shape (n,)
        nan if there is but one seed.
    """
    seeds = len(estimates)
    if seeds == 1:
        return np.full(estimates.shape[1], np.nan)
    seen = _student(seeds - 1) * estimates.std(axis=0, ddof=1) / np.sqrt(seeds)
    return np.asarray(np.maximum(seen, _Z995 * least))


def least_deviations(
    counted: NDArray[np.float64],
    seen: NDArray[np.float64] | float,
    ratio: NDArray[np.float64],
    squares: float,
    blocks: float,
    of_mean: NDArray[np.float64] | float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower bounds on the standard deviations of two estimates of a count.

    With m of what is counted and s references at each block, and a ratio r, the adjusted estimate
    has the variance of a sum of m over sampled blocks, the plain one that of m - r s. The root of
    the sum of m squared is at least that of equal m at every block, and of one at each that has
    any; that of m - r s, by the triangle inequality, r times that of s, less that of m.

    Parameters
    ----------
    counted : array of shape (n,)
        The count, by the adjusted estimate.
    seen : array of shape (n,)
        Standard deviation over the seeds.
    ratio : array of shape (n,)
        Ratio of the count to the references, by the plain estimate.
    squares : float
        Sum over the blocks of the square of their references.
    blocks : float
        How many blocks there are.
    of_mean : array of shape (n,)
        The variance of the mean over the seeds of a block's part, in squares of that.

    Returns
    -------
    adjusted, plain : array of shape (n,)
    """
    of_count = np.sqrt(of_mean * np.maximum(counted**2 / max(blocks, 1), counted))
    of_ratio = ratio * np.sqrt(of_mean * squares) - np.maximum(of_count, seen)
    return of_count, np.maximum(of_ratio, 0)


def rare_deviation(seen: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return a lower bound on the standard deviation of a small sum over sampled blocks.

    Few things seen, or none, may stand for more that were as likely: the band reaches up to the
    97.5 % limit of a Poisson count (the quantile of gamma as of Wilson and Hilferty, PNAS 1931).

    Parameters
    ----------
    seen : array of shape (n,)
        Total count of all samples.

    Returns
    -------
    array of shape (n,)
    """
    next_one = seen + 1.0
    limit = next_one * (1 - 1 / (9 * next_one) + _Z975 / (3 * np.sqrt(next_one))) ** 3
    return np.asarray((limit - seen) / _Z995)


def squares_of_places(workload: Workload, ops: str, place_bytes: int) -> NDArray[np.float64]:
    """Return, of reads and of writes, the sum over places of the square of what each has.

    Requests are cut where places, aligned stretches of so many bytes, begin, and the pieces
    counted. The sums are estimated, to about half a percent, by counters that places add to or
    take from, by their hash (Alon, Matias and Szegedy, STOC 1996; Charikar, Chen and
    Farach-Colton, ICALP 2002), so that their number does not matter.

    Parameters
    ----------
    workload : Workload
    ops : {'reads', 'all'}
        Which requests count.
    place_bytes : int

    Returns
    -------
    array of shape (2,)
    """
    counters = np.zeros((2, _COUNTERS))
    for number, vm in enumerate(workload.vms):
        _add_places(counters, number, vm, ops, np.uint64(place_bytes))
    return np.asarray((counters**2).sum(axis=1))


def _add_places(
    counters: NDArray[np.float64], number: int, vm: WorkloadVm, ops: str, place_bytes: np.uint64
) -> None:
    """Count the pieces of a VM, which has places of its own."""
    salt = _mixed(np.array([number], dtype=np.uint64))
    for _, of_vm, op, offset, length, *_ in vm.batches():
        kept = length > 0
        if vm.only is not None:
            kept &= of_vm == vm.only
        if ops == "reads":
            kept &= op == 0
        op, offset = op[kept], offset[kept]
        place = offset // place_bytes
        last = (offset + (length[kept] - np.uint32(1))) // place_bytes
        while len(place):
            hashed = _mixed(place ^ salt)
            counter = (hashed >> np.uint64(47) & np.uint64(2 * _COUNTERS - 2)) + op
            sign = 1.0 - 2.0 * (hashed & np.uint64(1))
            counters += np.bincount(counter, sign, 2 * _COUNTERS).reshape(-1, 2).T
            more = place < last
            place, last, op = place[more] + np.uint64(1), last[more], op[more]


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash numbers (the finalizer of SplitMix64, Steele, Lea and Flood, OOPSLA 2014)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ keys >> np.uint64(shift)) * np.uint64(factor)
    return np.asarray(keys ^ keys >> np.uint64(31))


def _student(freedom: int) -> float:
    if freedom <= len(_T995):
        return _T995[freedom - 1]
    # The expansion of Cornish and Fisher around the normal quantile.
    z = _Z995
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + float(sum(term / freedom ** (i + 1) for i, term in enumerate(terms)))
