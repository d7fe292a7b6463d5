"""Replay of one trace through caches of any size under any eviction policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import policies as _policies
from mcsim.base.arguments import seed_given, whole_number
from mcsim.base.columns import keys_of
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.limits import memory_limit
from mcsim.base.threads import threads_given
from mcsim.base.units import parse_bytes
from mcsim.policies.bound_of_sizes import with_bounds
from mcsim.policies.caches import Caches
from mcsim.policies.deployed_caches import memory_with_deployed, no_deployed, with_deployed
from mcsim.policies.specs import PolicyChoice
from mcsim.references.blocks import Blocks, References
from mcsim.references.given import blocks_in
from mcsim.references.objects import refuse_bytes
from mcsim.tables.result_table import ResultTable


def default_memory() -> int:
    """Return the bytes of caches altogether if no limit is given: half of the memory."""
    return memory_limit() // 2


def memory_given(memory: int | str | None) -> int:
    """Parse a limit of memory; return `default_memory` if it is None."""
    if memory is None:
        return default_memory()
    with mistakes_in("memory"):
        return parse_bytes(memory)


def memory_needed(
    references: References,
    policies: PolicyChoice = "all",
    sizes: Sequence[int | str] = ("0.1%", "1%", "10%"),
    *,
    memory: int | str | None = None,
    one_pass: bool = True,
) -> ResultTable:
    """Compute the memory of each cache of `simulate`, without a replay.

    Parameters
    ----------
    references, policies, sizes, memory, one_pass
        As of `simulate`.

    Returns
    -------
    ResultTable, shape (policies x sizes,)
        ``policy``, ``capacity`` (blocks) and ``bytes``: exact, except for sizes that one pass
        counts, each of which has the upper limit of this pass.

    Raises
    ------
    ConfigError
        As of `simulate`.

    Examples
    --------
    >>> mc.memory_needed([1, 2, 3], "fifo", [2, 3]).capacity.tolist()
    [2, 3]
    """
    caches = Caches.asked(references, policies, sizes)
    needed = _policies.memory_needed(
        caches.blocks,
        caches.unique,
        caches.configs,
        memory_given(memory),
        bool(one_pass) and caches.discards is None and not caches.warm_up,
        weights=caches.weights,
    )
    found = memory_with_deployed(caches, {"bytes": needed})
    return caches.table({"bytes": with_bounds(caches, found)["bytes"]})


def simulate(
    references: References,
    policies: PolicyChoice = "all",
    sizes: Sequence[int | str] = ("0.1%", "1%", "10%"),
    *,
    ops: ArrayLike | None = None,
    seed: int = 1,
    threads: int | None = None,
    memory: int | str | None = None,
    one_pass: bool = True,
    warm_up: int = 0,
    progress: Callable[[int], object] | None = None,
) -> ResultTable:
    """Replay a trace through a separate cache of every policy and size.

    A discard (trim, delete) removes its blocks from every cache. It is not a reference.

    The caches share the trace and nothing else; they start empty and are made one at a time
    by each thread. Results do not depend on the number of threads.

    Parameters
    ----------
    references : Trace, sequence of Trace, Blocks, or array_like of int, shape (n,)
        The block of each access, in the order of the accesses. A trace stands for its reads, in
        blocks of 4 KiB: `Trace.blocks` has others.
    policies : str, Policy, PriorityPolicy or callable, or sequence of these
        Names of `policy_names` and `wrapper_names`, with parameters as on the command line:
        ``'arc(step=integer)'``; for objects with sizes also ``'belady-size'`` and ``'pfoo'``, a
        bound. Deployed caches, such as ``'dm-cache(block_kib=64)'``, replay the requests of a
        trace. Or written in Python: a class that derives from `Policy` or
        `PriorityPolicy`, an object of it, or a function that returns one.
    sizes : sequence of int or str
        Capacities in blocks, or ``'1%'`` of the distinct blocks; but for an array also
        ``'1GiB'``. ``'log(100, 10000, 5)'`` is five, in equal ratios from 100 to 10000. If one
        is in bytes and the trace has objects, all are: objects then take their bytes of the
        cache, and shares are of the bytes of all distinct objects.
    ops : array_like of int or bool, shape (n,), optional
        0 for a read, 1 for a write, which all but arrays have themselves. Only counted:
        writes come in as reads do.
    seed : int
        Seed of policies with random choices.
    threads : int, optional
        Caches at a time; all cores if not given.
    memory : int or str, optional
        Memory limit of all running caches, such as ``'4GiB'``; half of the machine's
        memory by default. `memory_needed` returns the memory of each.
    one_pass : bool
        Whether several sizes of a policy that is a stack algorithm are counted in one pass over
        the trace, if that takes less time than a replay each: LRU from reuse distances, MRU
        from a stack with swaps as updates (Mattson et al., 1970). The counts are the same.
        Without enough `memory` for the pass there are replays.
        OPT and perfect LFU are stack algorithms too, but their stacks have to be walked.
    warm_up : int
        Number of first accesses that fill the caches without being counted; there is no one
        pass then. `Trace.blocks` has warm-ups by time, and by other traces.
    progress : callable, optional
        ``progress(accesses_done)``, those of all caches together.

    Returns
    -------
    ResultTable, shape (policies x sizes,)
        A row for each cache, in the requested order: ``policy``, ``capacity`` (blocks, or
        bytes of objects),
        ``accesses``, ``hits``, ``misses``, ``hit_ratio``, ``request_hit_ratio`` (requests of
        which all blocks hit), ``byte_hit_ratio`` (bytes in blocks that hit; of blocks, if the
        trace has no lengths), ``writes``, ``write_hits``, ``evictions``, ``bytes`` (of its
        state) and ``seconds`` (of CPU time). Caches that one pass counted each have all of its
        bytes, and an equal share of its seconds. Columns
        are arrays of NumPy, and the table goes to Arrow, pandas and Polars.

    Raises
    ------
    TypeError
        If a column does not hold integers.
    ConfigError
        If there is no such policy or parameter, or a size or column is wrong.
    OutOfMemoryError
        If a cache alone needs more than `memory`; the message has the size that fits.

    Examples
    --------
    >>> rows = mc.simulate([1, 2, 3, 1, 2, 3], ["lru", "opt"], [2, 3])
    >>> rows[["policy", "capacity", "hits"]].tolist()
    [('lru', 2, 0), ('lru', 3, 3), ('opt', 2, 2), ('opt', 3, 3)]
    >>> mc.simulate([1, 2, 3, 1, 2, 3], "lru", [3], warm_up=3)[["accesses", "hits"]].tolist()
    [(3, 3)]
    """
    cores = threads_given(threads)
    caches = Caches.asked(references, policies, sizes, ops)
    if (warm_up := whole_number("warm_up", warm_up)) and caches.warm_up:
        raise ConfigError("warm_up: these blocks have theirs")
    found = _policies.simulate(
        caches.blocks,
        caches.unique,
        caches.configs,
        caches.operations,
        seed_given(seed),
        cores,
        memory_given(memory),
        bool(one_pass),
        progress,
        warm_up=warm_up or caches.warm_up,
        discards=caches.discards,
        requests=caches.requests,
        weights=caches.weights,
        times=caches.times,
    )
    found = with_deployed(caches, found, cores, progress)
    return caches.table(_counts(with_bounds(caches, found), {}))


def simulate_lines(
    references: References,
    policies: PolicyChoice = "all",
    sizes: Sequence[int | str] = ("0.1%", "1%", "10%"),
    *,
    line: int | None = None,
    ops: ArrayLike | None = None,
    seed: int = 1,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: Callable[[int], object] | None = None,
) -> ResultTable:
    """Replay a trace through sub-block caches: lines of blocks that are loaded one by one.

    Block b is in line ``b // line``. An access hits if its block is there. If not, this block
    alone is loaded, into its line if that is held (a partial miss) or into a new one; what is
    evicted is a line with all that it has. The policy sees lines. So `opt` is not an upper bound:
    it has the next use of a line, not of its blocks.

    Parameters
    ----------
    references
        As in `simulate`. `Blocks` have the lines of their creation.
    policies, ops, seed, threads, memory, progress
        As of `simulate`.
    sizes : sequence of int or str
        Capacities in blocks, as of `simulate`; what remains above whole lines is not used.
    line : int
        Blocks of a line; `Blocks` have theirs.

    Returns
    -------
    ResultTable, shape (policies x sizes,)
        As of `simulate`, with ``partial_misses`` and ``line_misses``, which together are the
        ``misses``, and ``loaded``, the blocks that were read for them: one each. ``capacity`` is
        that of the lines, in blocks; ``evictions`` are of blocks.

    Raises
    ------
    TypeError
        If a column does not hold integers.
    ConfigError
        As of `simulate`, and if not even a line fits.
    OutOfMemoryError
        As of `simulate`.

    Examples
    --------
    >>> rows = mc.simulate_lines([0, 1, 0, 5, 1], "lru", [4], line=4)
    >>> rows[["hits", "partial_misses", "line_misses"]].tolist()
    [(1, 1, 3)]
    """
    cores = threads_given(threads)
    lines, length = _in_lines(references, line)
    caches = Caches.asked(lines, policies, sizes, ops)
    no_deployed(caches, "lines")
    if not isinstance(lines, Blocks):
        unique = (int(lines.max(initial=0)) // length + 1) * length
        caches = replace(caches, blocks=lines, unique=unique)
    if small := [size for size in caches.capacities if size < length]:
        raise ConfigError(f"sizes: {small[0]} blocks are less than a line of {length}")
    caches = replace(caches, capacities=[size // length * length for size in caches.capacities])
    found = _policies.simulate(
        caches.blocks,
        caches.unique,
        caches.configs,
        caches.operations,
        seed_given(seed),
        cores,
        memory_given(memory),
        False,
        progress,
        length,
        warm_up=caches.warm_up,
        discards=caches.discards,
        requests=caches.requests,
    )
    misses = found["accesses"] - found["hits"]
    of_lines = {
        "partial_misses": found["partial_misses"],
        "line_misses": misses - found["partial_misses"],
        "loaded": misses,
    }
    return caches.table(_counts(found, of_lines))


def _counts(
    found: dict[str, NDArray[Any]], of_lines: dict[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Return the counts of the core and derived columns, with those of lines."""
    hits, accesses = found["hits"], found["accesses"]
    others = ("writes", "write_hits", "evictions", "bytes", "seconds")
    return {
        "accesses": accesses,
        "hits": hits,
        "misses": accesses - hits,
        "hit_ratio": hits / np.maximum(accesses, 1),
        **_request_ratios(found),
        **of_lines,
        **{name: found[name] for name in others},
    }


def _request_ratios(found: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return hit ratios of requests and bytes; references without either count for one each."""
    ratios = {}
    for name, hits, all_of in (
        ("request_hit_ratio", "request_hits", "requests"),
        ("byte_hit_ratio", "byte_hits", "request_bytes"),
    ):
        of = (hits, all_of) if found[all_of].any() else ("hits", "accesses")
        ratios[name] = found[of[0]] / np.maximum(found[of[1]], 1)
    return ratios


def _in_lines(references: References, line: int | None) -> tuple[NDArray[np.uint32] | Blocks, int]:
    """Return blocks by ids that lie side by side in a line, and the length of a line."""
    if isinstance(references, Blocks):
        refuse_bytes(references, "simulate_lines")
        if line not in (None, references.line):
            raise ConfigError(f"line: these blocks were made with lines of {references.line}")
        return references, references.line
    line = whole_number("line", line, 1, 2**32 - 1)
    if (blocks := blocks_in(references, line=line)) is not None:
        return blocks, line
    keys = keys_of(cast(ArrayLike, references)).astype(np.uint64, copy=False)
    numbers, unique = _policies.number(keys // np.uint64(line))
    if unique * line >= 2**32 - 1:
        raise ConfigError(f"line: {unique} lines of {line} blocks are more than there are ids")
    return numbers * np.uint32(line) + (keys % np.uint64(line)).astype(np.uint32), line
