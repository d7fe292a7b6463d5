"""Miniature simulation: hit ratios of large caches from small ones, given a sample of the trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import policies as _policies
from mcsim.base.arguments import list_of, seed_given, shortened, whole_number
from mcsim.base.errors import ConfigError
from mcsim.base.sizes import share_given
from mcsim.base.threads import threads_given
from mcsim.policies import BOUND_OF_SIZES
from mcsim.policies.bands import (
    least_deviations,
    margin_of,
    no_band_reasons,
    rare_deviation,
)
from mcsim.policies.caches import Caches
from mcsim.policies.deployed_caches import no_deployed
from mcsim.policies.simulation import memory_given
from mcsim.policies.specs import PolicyChoice
from mcsim.references.blocks import References
from mcsim.tables.result_table import ResultTable

Correction = Literal["auto", "none", "adj"]

_MOST_SEEDS = 10_000


def miniature(
    references: References,
    policies: PolicyChoice = "all",
    sizes: Sequence[int | str] = ("0.1%", "1%", "10%"),
    *,
    ops: ArrayLike | None = None,
    rate: float | str = 0.01,
    seeds: int | Sequence[int] = 5,
    min_blocks: int = 100,
    correction: Correction = "auto",
    seed: int = 1,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: Callable[[int], object] | None = None,
) -> ResultTable:
    """Estimate the counts of `simulate` from small caches.

    A cache of c blocks hits about as often as one of R c blocks, under the same policy, that is
    given the references to a share R of the blocks, picked by their hash. Parameters by number of
    accesses, not by size, are not scaled: for example LeCaR's learning rate.

    Two estimates come of a sample: its own ratio, and that ratio adjusted to how many references
    it should have had. If few blocks have many references, a sample may have too many or too few
    references, and the adjusted ratio is nearer. If blocks are alike, the sample's own is nearer.

    The band of either is by how much the seeds' estimates vary (Student's t), but never less than
    it must be: a few samples may agree by chance, or all lack the same few blocks. How the
    references are spread over the blocks is known, and so how much their number in a sample
    varies; and as the misses are spread over the blocks somehow, how much theirs does at least.

    A band does not cover bias. Under some policies a small cache differs from a large one, most
    where popular blocks change. These policies have an estimate, but no band.

    Parameters
    ----------
    references, policies, sizes, ops
        As of `simulate`.
    rate : float
        Share of the blocks that is sampled, in (0, 1].
    seeds : int or sequence of int
        Seeds of the hashes, each of which picks other blocks; a number n is seeds 1 to n. Every
        cache is simulated with each, and the mean is the estimate.
    min_blocks : int
        Smaller miniatures are too coarse: the rate of a small cache is doubled until it has so
        many, or the bytes of so many objects of the mean size. Where the samples of all seeds
        together would be as long as the trace, the cache is simulated once, at rate 1, and is
        exact.
    correction : {'auto', 'none', 'adj'}
        Which of the two estimates, for all caches: ``'none'`` the sample's own ratio, ``'adj'``
        the adjusted one, ``'auto'`` the one with the narrower bands. With one seed, which has
        none, ``'auto'`` is the adjusted one, with smaller worst errors.
    seed : int
        Seed of policies with random choices.
    threads : int, optional
        Caches at a time; all cores if not given.
    memory : int or str, optional
        As of `simulate`; the samples of one seed come on top, at 4 bytes a reference
        and one for its operation.
    progress : callable, optional
        ``progress(accesses_done)``, those of all miniatures together.

    Returns
    -------
    ResultTable, shape (policies x sizes,)
        A row for each cache, in requested order: ``policy``, ``capacity`` (blocks), ``hit_ratio``
        with its 95 % confidence band ``low`` and ``high`` (of the mean over the seeds; nan
        where there is none, and ``no_band`` has the reason), ``correction`` (``'none'`` or
        ``'adj'``, ``'exact'`` at rate 1), ``plain`` and ``adjusted`` (both estimates),
        ``rate``, ``blocks`` (of the miniature), ``sampled`` (references, mean over the seeds),
        ``writes`` (all of the trace), ``write_hits`` (of the whole cache, by the same
        estimate) with its band ``write_hits_low`` and ``write_hits_high``, ``bytes`` (the most
        that a miniature of it took), ``seconds`` (of CPU time, all seeds) and ``no_band``
        (empty where there is a band).

    Raises
    ------
    TypeError
        If the trace does not hold integers.
    ConfigError
        If an argument is wrong.

    Examples
    --------
    >>> rows = mc.miniature(range(1000), "lru", [10], rate=0.5)
    >>> rows[["rate", "blocks", "hit_ratio"]].tolist()
    [(1.0, 10, 0.0)]
    """
    asked: object = correction
    if not isinstance(asked, str) or asked not in get_args(Correction):
        raise ConfigError(f"correction: expected auto, none or adj, got {shortened(correction)}")
    chosen = seeds_of_samples(seeds)
    rate = share_given("rate", rate)
    min_blocks = whole_number("min_blocks", min_blocks)
    caches = Caches.asked(references, policies, sizes, ops)
    if any(spec.policy == BOUND_OF_SIZES for spec in caches.specs):
        raise ConfigError(f"policies: {BOUND_OF_SIZES} is a bound of whole caches, not miniatures")
    no_deployed(caches, "miniatures")
    if caches.warm_up:
        raise ConfigError(
            "references: these blocks have a warm-up, and miniatures do not support one"
        )
    found = replay_miniatures(caches, rate, chosen, min_blocks, seed, threads, memory, progress)
    columns = estimate_whole(caches, found, correction)
    columns["no_band"] = no_band_reasons(
        caches.spec_of_each, len(chosen), columns["rate"], sizes=caches.weights is not None
    )
    for name in ("low", "high", "write_hits_low", "write_hits_high"):
        columns[name][columns["no_band"] != ""] = np.nan
    return caches.table(columns)


def seeds_of_samples(seeds: int | Sequence[int]) -> list[int]:
    """Return the seeds of all samples: those given, or 1, 2, … if it is their number.

    Raises
    ------
    ConfigError
        If there is none, or one is not an integer of 64 bits.
    """
    if isinstance(seeds, Iterable):
        given = list_of("seeds", seeds, "whole numbers")
        chosen = [whole_number("seeds", seed, 0, 2**64 - 1) for seed in given]
    else:
        chosen = list(range(1, whole_number("seeds", seeds, 0, _MOST_SEEDS) + 1))
    if not chosen:
        raise ConfigError("seeds: expected at least one")
    return chosen


def replay_miniatures(
    caches: Caches,
    rate: float,
    seeds: Sequence[int],
    min_blocks: int = 100,
    seed: int = 1,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: Callable[[int], object] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the counts of all miniatures by column, each of shape (seeds, caches)."""
    if caches.weights is not None and len(caches.weights):
        min_blocks = math.ceil(min_blocks * float(caches.weights.mean()))
    flat = _policies.miniatures(
        caches.blocks,
        caches.unique,
        caches.configs,
        rate,
        min_blocks,
        list(seeds),
        caches.operations,
        seed_given(seed),
        threads_given(threads),
        memory_given(memory),
        progress,
        caches.discards,
        caches.weights,
        caches.times,
    )
    return {name: column.reshape(len(seeds), -1) for name, column in flat.items()}


def estimate_whole(
    caches: Caches, found: dict[str, NDArray[Any]], correction: Correction
) -> dict[str, NDArray[Any]]:
    """Estimate the counts of whole caches, with bands under every policy, verified or not."""
    rates = found["rate"][0]
    written = (
        caches.blocks[:0] if caches.operations is None else caches.blocks[caches.operations != 0]
    )
    unique = caches.unique
    plain, adjusted = _both(found["accesses"], found["hits"], rates, caches.blocks, unique)
    plain_writes, adjusted_writes = _both(
        found["writes"], found["write_hits"], rates, written, unique
    )
    if correction == "auto":
        narrower = (plain.margin**2).sum() < (adjusted.margin**2).sum()
        correction = "none" if narrower else "adj"
    hits, low, high = (plain if correction == "none" else adjusted).band()
    write_hits, fewest, most = (plain_writes if correction == "none" else adjusted_writes).band()
    accesses = max(len(caches.blocks), 1)
    return {
        "hit_ratio": hits / accesses,
        "low": low / accesses,
        "high": high / accesses,
        "correction": np.where(rates == 1, "exact", correction),
        "plain": plain.mean / accesses,
        "adjusted": adjusted.mean / accesses,
        "rate": rates,
        "blocks": found["capacity"][0],
        "sampled": found["accesses"].mean(axis=0),
        "writes": np.full(len(rates), len(written), dtype=np.int64),
        "write_hits": write_hits,
        "write_hits_low": fewest,
        "write_hits_high": most,
        "bytes": found["bytes"].max(axis=0),
        # Caches at rate 1 are replayed once for all seeds.
        "seconds": np.where(rates == 1, found["seconds"][0], found["seconds"].sum(axis=0)),
    }


@dataclass(frozen=True)
class _Estimate:
    """How many of the references hit, by seed and cache."""

    count: int
    """Number of references."""
    by_seed: NDArray[np.float64]
    """Shape (seeds, caches)."""
    least: NDArray[np.float64]
    """The standard deviation of the mean over the seeds is at least this; shape (caches,)."""

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean over the seeds."""
        return np.asarray(self.by_seed.mean(axis=0))

    @property
    def margin(self) -> NDArray[np.float64]:
        """Half the 95 % band of the mean; nan if there is but one seed."""
        return margin_of(self.by_seed, self.least)

    def band(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and its band, within 0 and all references."""
        low, high = (np.clip(self.mean + side * self.margin, 0, self.count) for side in (-1, 1))
        return self.mean, low, high


def _both(
    sampled: NDArray[np.int64],
    hits: NDArray[np.int64],
    rate: NDArray[np.float64],
    blocks: NDArray[np.uint32],
    unique: int,
) -> tuple[_Estimate, _Estimate]:
    """Return both estimates, plain and adjusted, of how many references to `blocks` hit."""
    count, seeds = len(blocks), len(hits)
    squares, touched = _policies.spread(blocks, unique)
    plain = hits * (count / np.maximum(sampled, 1))
    adjusted = np.clip(count - (sampled - hits) / rate, 0, count)
    of_adjusted, of_plain = least_deviations(
        count - adjusted.mean(axis=0),
        adjusted.std(axis=0, ddof=1) / np.sqrt(seeds) if seeds > 1 else 0,
        1 - plain.mean(axis=0) / max(count, 1),
        squares,
        float(touched),
        (1 - rate) / rate / seeds,
    )
    of_hits = rare_deviation(hits.sum(axis=0)) * count / np.maximum(sampled.sum(axis=0), 1)
    of_hits[rate == 1] = 0
    return (
        _Estimate(count, plain, np.maximum(of_plain, of_hits)),
        _Estimate(count, adjusted, np.maximum(of_adjusted, of_hits)),
    )


def rates_of(
    capacities: Sequence[int], rate: float, seeds: int, min_blocks: int = 100
) -> list[float]:
    """Return the rate at which `miniature` simulates a cache of each capacity.

    Examples
    --------
    >>> from mcsim.policies.miniatures import rates_of
    >>> rates_of([10, 5_000, 1_000_000], 0.01, seeds=5)
    [1.0, 0.02, 0.01]
    """
    return [_policies.miniature_rate(capacity, rate, min_blocks, seeds) for capacity in capacities]
