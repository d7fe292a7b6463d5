"""Replay KV caches under eviction policies, of blocks or of leaves of a trie, and their bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mcsim._core import policies as _policies
from mcsim.base.arguments import list_of, seed_given, whole_number
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.sizes import parse_capacities
from mcsim.base.specs import split_specs
from mcsim.base.suggest import check_choice
from mcsim.base.threads import Pool, threads_given
from mcsim.locality.prefix_depths import (
    FullHit,
    count_hits,
    hits_without_limit,
    reductions_of,
    warm_up_requests,
)
from mcsim.locality.prefix_tables import PrefixCounts, prefix_table
from mcsim.locality.prefixes import MOST_BLOCK_BYTES, Order
from mcsim.policies import has_foresight
from mcsim.policies.specs import PolicySpec, parse_policies
from mcsim.tables.result_table import ResultTable
from mcsim.traces.chains import ChainTrace, number_values

PREFIX_BOUND = "bound"
"""Name of the upper bound on prefix hits."""

PREFIX_POLICIES = (*_policies.leaf_rules, "s3-fifo", "sieve", "arc", "w-tinylfu", PREFIX_BOUND)
"""Policies that are compared if none are given."""

Pin = Literal["none", "arrival-to-finish"]
"""When the blocks of a request cannot be evicted."""

Chains = tuple[NDArray[np.int64], NDArray[np.uint32], int]


def prefix_replay(
    trace: ChainTrace,
    policies: str | Sequence[str] = PREFIX_POLICIES,
    sizes: int | str | Sequence[int | str] = ("1%", "3%", "10%"),
    *,
    order: Order = "tail-first",
    full_hit: FullHit = "all",
    pin: Pin = "none",
    warm_up: int | str = 0,
    block_bytes: int | None = None,
    seed: int = 1,
    threads: int | None = None,
) -> ResultTable:
    """Replay a KV cache of each policy and size, and count prefix hits.

    A request first looks up all its blocks, and hits those before the first one that is not
    cached. It then touches its blocks, and inserts those that were missing.

    Parameters
    ----------
    trace : ChainTrace
        The requests.
    policies : str or sequence of str
        ``'leaf-lru'``, ``'leaf-lfu'`` and ``'leaf-fifo'`` evict only blocks without cached
        successors, none of them of the request. Policies of `policy_names`, with parameters, evict
        any block. ``'bound'`` is an upper bound on the hits of every policy.
    sizes : int, str, or a sequence
        Capacities in blocks, or shares of the distinct blocks such as ``'1%'``; with
        `block_bytes` also ``'80GiB'``.
    order : {'tail-first', 'head-first'}
        The order in which a request touches its blocks. Policies of leaves do not depend on it.
    full_hit : {'all', 'minus-one-block', 'minus-one-token'}
        As of `prefix_curve`.
    pin : {'none', 'arrival-to-finish'}
        Whether running requests pin their cached blocks, which are used once more when the request
        finishes. Needs `finish_times` of the trace, and policies of leaves; the bound holds for
        them, too.
    warm_up : int or str
        As of `prefix_curve`.
    block_bytes : int, optional
        Bytes of a block, for capacities in bytes.
    seed : int
        Seed of policies with random choices.
    threads : int, optional
        Caches at a time; all cores if not given.

    Returns
    -------
    ResultTable, shape (policies x sizes,)
        A row for each cache: ``policy`` and the columns of ``prefix_curve(...).table(...)``.

    Raises
    ------
    ConfigError
        If there is no such policy, a policy needs the future, or a parameter is wrong.

    Notes
    -----
    The bound has the most blocks that any cache of the size hits, even if it refuses blocks. It is
    Belady's MIN with refusals, on the blocks with heads first. A request that uses a block uses the
    blocks before it. So the interval between two uses of a block contains those of its
    predecessors, and an optimal set of intervals can be exchanged for prefixes. For tokens it is an
    upper bound.

    Examples
    --------
    >>> trace = mc.ChainTrace.from_arrays([0, 2, 3, 5], [7, 8, 9, 7, 8], block_tokens=16)
    >>> rows = mc.prefix_replay(trace, ["leaf-lru", "fifo", "bound"], [2])
    >>> rows[["policy", "hits"]].tolist()
    [('leaf-lru', 1), ('fifo', 1), ('bound', 2)]
    """
    check_choice("order", order, get_args(Order))
    check_choice("full_hit", full_hit, get_args(FullHit))
    check_choice("pin", pin, get_args(Pin))
    specs = prefix_policies(policies)
    if block_bytes is not None:
        whole_number("block_bytes", block_bytes, 1, MOST_BLOCK_BYTES)
    several = [sizes] if isinstance(sizes, (int, str)) else list_of("sizes", sizes, "sizes")
    with mistakes_in("sizes"):
        capacities = [
            capacity
            for size in several
            for capacity in parse_capacities(size, max(1, trace.distinct), block_bytes)
        ]
    counted = np.arange(len(trace)) >= warm_up_requests(warm_up, len(trace))
    finishes = None
    if pin != "none":
        finishes = finishes_of(trace, [spec.name for spec in specs])
    replays = _Replays(trace, order, full_hit, counted, finishes, seed_given(seed))
    with Pool(threads_given(threads)) as pool:
        jobs = [pool.submit(replays.counts, spec, size) for spec in specs for size in capacities]
    return _table(replays, specs, capacities, [job.result() for job in jobs], block_bytes)


def prefix_policies(policies: str | Sequence[str]) -> list[PolicySpec]:
    """Parse policies of `prefix_replay`.

    Parameters
    ----------
    policies : str or sequence of str

    Returns
    -------
    list of PolicySpec

    Raises
    ------
    ConfigError
        If there is no such policy, it needs the future, or it is given twice.
    """
    texts = [policies] if isinstance(policies, str) else list_of("policies", policies, "names")
    names = [name.strip() for text in texts for name in split_specs(text)]
    own = (*_policies.leaf_rules, PREFIX_BOUND)
    specs = []
    for name in names:
        try:
            specs += [PolicySpec(name, {})] if name in own else parse_policies(name)
        except ConfigError as error:
            raise ConfigError(f"policies: {error}; or one of {', '.join(own)}") from None
    if wrong := next((spec.name for spec in specs if has_foresight(spec.name)), None):
        raise ConfigError(f"policies: {wrong}: uses the future; `bound` is the upper bound")
    titles = [str(spec) for spec in specs]
    if twice := next((title for title in titles if titles.count(title) > 1), None):
        raise ConfigError(f"policies: {twice} is given twice")
    return specs


def finishes_of(
    trace: ChainTrace, policies: Sequence[str]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the requests in order of their finish, and how many finish before each arrives.

    Parameters
    ----------
    trace : ChainTrace
    policies : sequence of str
        Names of the policies, which must be those of leaves, or the bound.

    Returns
    -------
    order, before : ndarray of uint32, shape (requests,)

    Raises
    ------
    ConfigError
        If the trace has no finish times, or a policy evicts other blocks than leaves.
    """
    if trace.finish_times is None:
        raise ConfigError(f"{trace.label}: pin: the trace has no finish times")
    if trace.times is None:
        raise ConfigError(f"{trace.label}: pin: the trace has finish times, but no arrivals")
    pinning = (*_policies.leaf_rules, PREFIX_BOUND)
    if other := next((name for name in policies if name not in pinning), None):
        raise ConfigError(f"pin: not for {other}, which evicts any block; for {', '.join(pinning)}")
    order = np.argsort(trace.finish_times, kind="stable")
    before = np.searchsorted(trace.finish_times[order], trace.times, "left")
    return order.astype(np.uint32), before.astype(np.uint32)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Copy an array, so that each replay can use the same one."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


@dataclass(frozen=True)
class _Replays:
    """Inputs that all replays of a trace share."""

    trace: ChainTrace
    order: Order
    full_hit: FullHit
    counted: NDArray[np.bool_]
    finishes: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None
    seed: int

    @cached_property
    def chains(self) -> Chains:
        trace = self.trace
        return _frozen(trace.starts), _frozen(trace.blocks), int(trace.blocks.max(initial=0)) + 1

    @cached_property
    def reductions(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return reductions_of(self.trace, self.full_hit)

    def counts(self, spec: PolicySpec, capacity: int) -> tuple[int, int, int]:
        """Return hits of blocks and tokens, and full hits."""
        if spec.name == PREFIX_BOUND:
            return self.bound(capacity)
        if spec.name in _policies.leaf_rules:
            hits = _policies.trie_prefix_hits(self.chains, spec.name, capacity, self.finishes)
        else:
            heads = self.order == "head-first"
            hits = _policies.prefix_hits(
                self.chains, spec.policy, spec.declared(), capacity, self.seed, heads
            )
        return count_hits(self.trace, hits, self.reductions, self.counted)

    def bound(self, capacity: int) -> tuple[int, int, int]:
        """Return upper bounds on these counts."""
        blocks, unique = self._stream
        found = _policies.simulate(blocks, unique, [("opt", {"refuse": True}, capacity)])
        hits = int(found["hits"][0])
        _, tokens, full = self._ceiling
        return hits, min(hits * self.trace.block_tokens, tokens), full

    @cached_property
    def _ceiling(self) -> tuple[int, int, int]:
        """The counts of an unlimited cache."""
        hits = hits_without_limit(self.trace)
        return count_hits(self.trace, hits, self.reductions, self.counted)

    @cached_property
    def _stream(self) -> tuple[NDArray[np.uint32], int]:
        """The blocks, numbered anew at each access that is no hit even if the block is cached."""
        trace = self.trace
        is_lost = ~np.repeat(self.counted, trace.lengths)
        is_lost[trace.starts[1:][self.reductions[0] > 0] - 1] = True
        if not is_lost.any():
            return self.chains[1:]
        by_block = np.argsort(trace.blocks, kind="stable")
        version = np.empty(len(by_block), np.uint64)
        version[by_block] = np.cumsum(is_lost[by_block])
        # Versions of different blocks differ by the block.
        numbers = number_values(version << np.uint64(32) | trace.blocks).view(np.uint32)
        return numbers, int(numbers.max(initial=0)) + 1


def _table(
    replays: _Replays,
    specs: Sequence[PolicySpec],
    capacities: Sequence[int],
    counts: Sequence[Sequence[int]],
    block_bytes: int | None,
) -> ResultTable:
    trace, counted = replays.trace, replays.counted
    blocks, tokens, full = np.array(counts, np.int64).reshape(-1, 3).T
    return prefix_table(
        np.tile(np.array(capacities, np.int64), len(specs)),
        PrefixCounts(
            blocks, tokens, full,
            int(trace.lengths[counted].sum()),
            int(trace.tokens[counted].sum()),
        ),
        block_bytes,
        [str(spec) for spec in specs for _ in capacities],
    )  # fmt: skip
