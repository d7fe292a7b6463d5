"""Eviction policies: caches of any size under any of them, replayed from one trace."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import engine
from mcsim._core import policies as _policies
from mcsim.base.columns import keys_of, operations_of
from mcsim.base.errors import ConfigError
from mcsim.base.specs import ParamValue, as_declared, declared_by, parse_spec, split_specs, title
from mcsim.base.units import parse_bytes, parse_capacities
from mcsim.policies.python_policies import PolicyFactory, PythonSpec

__all__ = [
    "Caches",
    "PolicySpec",
    "default_memory",
    "load_policies",
    "memory_needed",
    "parse_policies",
    "policy_names",
    "simulate",
    "simulate_lines",
    "wrapper_names",
]


PolicyChoice = str | PolicyFactory | Sequence[str | PolicyFactory]
"""What `simulate` takes."""


def policy_names() -> list[str]:
    """List the eviction policies; `mcsim describe` tells their parameters.

    Examples
    --------
    >>> policy_names()[:4]
    ['lru', 'fifo', 'clock', 'sieve']
    """
    wrappers = wrapper_names()
    return [entry["name"] for entry in _policies.describe() if entry["name"] not in wrappers]


def wrapper_names() -> list[str]:
    """List the policies made of others, which their parameters name.

    Written as ``'talus:policy=lru'``, ``'slide:policy=arc(step=integer)'`` and
    ``'switching:candidates=lru+2q(kin=0.1,kout=0.3)'``: parameters of what is wrapped are in
    parentheses, policies to choose from have a `+` between them.

    Examples
    --------
    >>> wrapper_names()
    ['talus', 'slide', 'switching']
    """
    return _policies.wrappers()


def load_policies(library: str | os.PathLike[str]) -> list[str]:
    """Load eviction policies from a shared library; from now on they are like all others.

    Such a library is compiled against the headers of this mcsim, see `get_include`, and stays
    loaded. To load it again changes nothing; after it was built anew, it takes a new process.

    Parameters
    ----------
    library : path
        The file.

    Returns
    -------
    list of str
        The names of its policies.

    Raises
    ------
    ConfigError
        If it is no such library, was built for another mcsim, or has a policy whose name is
        taken; then none is added.
    """
    return _policies.load(os.fspath(library))


@dataclass(frozen=True)
class PolicySpec:
    """A policy as it is asked for: `NAME` or `NAME:PARAM=VALUE,…`."""

    name: str
    params: dict[str, str]

    def __str__(self) -> str:
        return title(self.name, self.params)

    @property
    def policy(self) -> str:
        """What the core knows it by."""
        return self.name

    def declared(self) -> dict[str, ParamValue]:
        """Return the parameters as the kinds that the policy declares."""
        return as_declared(self.params, declared_by(_policies.describe(), self.name))


def parse_policies(text: str) -> list[PolicySpec]:
    """Read policies divided by commas, as the parameters of each are.

    `all` is every one of `policy_names`.

    Raises
    ------
    ConfigError
        If there is no such policy or a value is missing.

    Examples
    --------
    >>> [str(spec) for spec in parse_policies("lru,arc:step=integer")]
    ['lru', 'arc:step=integer']
    """
    if text.strip() == "all":
        return [PolicySpec(name, {}) for name in policy_names()]
    names = [*policy_names(), *wrapper_names()]
    return [PolicySpec(*parse_spec(spec, "eviction policy", names)) for spec in split_specs(text)]


def _specs(policies: PolicyChoice) -> list[PolicySpec | PythonSpec]:
    specs: list[PolicySpec | PythonSpec] = []
    for given in policies if isinstance(policies, Sequence) else [policies]:
        specs += parse_policies(given) if isinstance(given, str) else [PythonSpec.of(given)]
    return specs


@dataclass(frozen=True)
class Caches:
    """Caches to simulate, as the core takes them.

    Attributes
    ----------
    blocks : ndarray of uint32
        The trace, its blocks numbered below `unique`.
    operations : ndarray of uint8 or None
        All are reads if there are none.
    """

    blocks: NDArray[np.uint32]
    unique: int
    operations: NDArray[np.uint8] | None
    specs: list[PolicySpec | PythonSpec]
    capacities: list[int]

    @classmethod
    def asked(
        cls,
        trace: ArrayLike | engine.Accesses,
        policies: PolicyChoice,
        sizes: Sequence[int | str],
        ops: ArrayLike | None = None,
    ) -> Caches:
        """Read what `simulate` is given."""
        specs = _specs([policies] if isinstance(policies, str) else policies)
        block_bytes = None
        if isinstance(trace, engine.Accesses):
            if ops is not None:
                raise ConfigError("ops: these accesses have theirs")
            blocks, unique, block_bytes = trace.ids, trace.id_count, trace.block_bytes
            begin = trace.request_begin.view(np.int64)
            lengths = begin[1:] - begin[:-1]
            operations: NDArray[np.uint8] | None = np.repeat(trace.request_op, lengths)
        else:
            blocks, unique = _policies.number(keys_of(trace).astype(np.uint64, copy=False))
            operations = None if ops is None else operations_of(ops)
        try:
            capacities = [
                capacity
                for size in ([sizes] if isinstance(sizes, str) else sizes)
                for capacity in parse_capacities(size, unique, block_bytes)
            ]
        except ValueError as error:
            raise ConfigError(f"sizes: {error}") from None
        return cls(blocks, unique, operations, specs, capacities)

    @property
    def configs(self) -> list[tuple[str | _policies.PythonPolicy, dict[str, ParamValue], int]]:
        """Policy, parameters and capacity of each: all sizes of the first policy, then others."""
        return [
            (spec.policy, spec.declared(), size) for spec in self.specs for size in self.capacities
        ]

    def table(self, columns: dict[str, NDArray[Any]]) -> np.recarray[Any, Any]:
        """Put policy and capacity before what was found, a row a cache."""
        policies = [str(spec) for spec in self.specs for _ in self.capacities]
        rows: dict[str, NDArray[Any]] = {
            "policy": np.array(policies, dtype=np.str_),
            "capacity": np.array(self.capacities * len(self.specs), dtype=np.int64),
        } | columns
        kinds = [(name, column.dtype) for name, column in rows.items()]
        table = np.recarray(len(policies), dtype=kinds)
        for name, column in rows.items():
            table[name] = column
        return table


def default_memory() -> int:
    """Return the bytes that caches may hold together unless told otherwise: half of all."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def threads_given(threads: int | None) -> int:
    """Return how many threads to use: all cores if it is not said."""
    if threads is None:
        return len(os.sched_getaffinity(0))
    if threads < 1:
        raise ConfigError(f"threads: at least 1, got {threads}")
    return threads


def memory_given(memory: int | str | None) -> int:
    """Return bytes, those of `default_memory` if it is not said."""
    if memory is None:
        return default_memory()
    try:
        return memory if isinstance(memory, int) else parse_bytes(memory)
    except ValueError as error:
        raise ConfigError(f"memory: {error}") from None


def memory_needed(
    trace: ArrayLike | engine.Accesses,
    policies: PolicyChoice = "all",
    sizes: Sequence[int | str] = ("0.1%", "1%", "10%"),
    *,
    memory: int | str | None = None,
    one_pass: bool = True,
) -> np.recarray[Any, Any]:
    """Tell what each cache of `simulate` will hold, without replaying anything.

    Parameters
    ----------
    trace, policies, sizes, memory, one_pass
        As of `simulate`.

    Returns
    -------
    recarray, shape (policies x sizes,)
        ``policy``, ``capacity`` (blocks) and ``bytes``: exact, but for the sizes that one pass
        counts, each of which has the most that this pass may hold.

    Examples
    --------
    >>> memory_needed([1, 2, 3], "fifo", [2, 3]).capacity.tolist()
    [2, 3]
    """
    caches = Caches.asked(trace, policies, sizes)
    needed = _policies.memory_needed(
        caches.blocks, caches.unique, caches.configs, memory_given(memory), one_pass
    )
    return caches.table({"bytes": needed})


def simulate(
    trace: ArrayLike | engine.Accesses,
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
) -> np.recarray[Any, Any]:
    """Replay a trace through a cache of every policy and size, each by itself.

    The caches share the trace and nothing else; they start empty and are made one at a time
    by each thread. What comes out does not depend on the number of threads.

    Parameters
    ----------
    trace : array_like of int, shape (n,), or engine.Accesses
        The block of each access, in the order of the accesses.
    policies : str, Policy, PriorityPolicy or callable, or sequence of these
        Of `policy_names` and `wrapper_names`, with parameters as on the command line:
        ``'arc:step=integer'``. Or written in Python: a class that derives from `Policy` or
        `PriorityPolicy`, an object of it, or a function that returns one.
    sizes : sequence of int or str
        Capacities in blocks, or ``'1%'`` of the distinct blocks; with `engine.Accesses` also
        ``'1GiB'``. ``'100:10000:5'`` is five, in equal ratios from 100 to 10000.
    ops : array_like of int or bool, shape (n,), optional
        0 for a read, 1 for a write, which `engine.Accesses` have themselves. Only counted:
        writes come in as reads do.
    seed : int
        Of policies that draw.
    threads : int, optional
        Caches at a time; all cores if not given.
    memory : int or str, optional
        What the caches at work may hold together, such as ``'4GiB'``; half of the machine's
        memory if not given. `memory_needed` tells what each takes.
    one_pass : bool
        Whether several sizes of a policy that is a stack algorithm are counted in one pass over
        the trace, if that takes less time than a replay each: LRU from reuse distances, MRU
        from a stack whose update is a swap (Mattson et al., 1970). The counts are the same.
        Without enough `memory` for the pass there are replays.
        OPT and perfect LFU are stack algorithms too, but their stacks have to be walked.
    warm_up : int
        So many accesses at the beginning fill the caches and are not counted; there is no one
        pass then. To warm up by another trace, put it before this one.
    progress : callable, optional
        ``progress(accesses_done)``, those of all caches together.

    Returns
    -------
    recarray, shape (policies x sizes,)
        A row a cache, in the order asked for: ``policy``, ``capacity`` (blocks),
        ``accesses``, ``hits``, ``misses``, ``hit_ratio``, ``writes``, ``write_hits``,
        ``evictions``, ``bytes`` (of its state) and ``seconds`` (of CPU time). Caches that one
        pass counted each have all of its bytes, and an equal share of its seconds. pandas and
        Polars take it as it is.

    Raises
    ------
    TypeError
        If a column does not hold integers.
    ConfigError
        If there is no such policy or parameter, or a size or column is wrong.
    OutOfMemoryError
        If a cache alone needs more than `memory`; it says what would fit.

    Examples
    --------
    >>> rows = simulate([1, 2, 3, 1, 2, 3], ["lru", "opt"], [2, 3])
    >>> rows[["policy", "capacity", "hits"]].tolist()
    [('lru', 2, 0), ('lru', 3, 3), ('opt', 2, 2), ('opt', 3, 3)]
    >>> simulate([1, 2, 3, 1, 2, 3], "lru", [3], warm_up=3)[["accesses", "hits"]].tolist()
    [(3, 3)]
    """
    cores = threads_given(threads)
    if warm_up < 0:
        raise ConfigError(f"warm_up: expected a number of accesses, got {warm_up}")
    caches = Caches.asked(trace, policies, sizes, ops)
    found = _policies.simulate(
        caches.blocks,
        caches.unique,
        caches.configs,
        caches.operations,
        seed,
        cores,
        memory_given(memory),
        one_pass,
        progress,
        warm_up=warm_up,
    )
    hits, accesses = found["hits"], found["accesses"]
    return caches.table(
        {
            "accesses": accesses,
            "hits": hits,
            "misses": accesses - hits,
            "hit_ratio": hits / np.maximum(accesses, 1),
        }
        | {name: found[name] for name in ("writes", "write_hits", "evictions", "bytes", "seconds")}
    )


def simulate_lines(
    trace: ArrayLike | engine.Accesses,
    policies: PolicyChoice = "all",
    sizes: Sequence[int | str] = ("0.1%", "1%", "10%"),
    *,
    line: int | None = None,
    ops: ArrayLike | None = None,
    seed: int = 1,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: Callable[[int], object] | None = None,
) -> np.recarray[Any, Any]:
    """Replay a trace through sub-block caches: lines of blocks that are loaded one by one.

    Block b is in line ``b // line``. An access hits if its block is there. If not, this block
    alone is loaded, into its line if that is held (a partial miss) or into a new one; what is
    evicted is a line with all that it has. The policy sees lines: of `opt` this means that it
    is no bound, for it knows when a line is next used, and not what of it.

    Parameters
    ----------
    trace : array_like of int, shape (n,), or engine.Accesses
        The block of each access. Of `engine.Accesses` the lines are those by which they were
        interned.
    policies, ops, seed, threads, memory, progress
        As of `simulate`.
    sizes : sequence of int or str
        Capacities in blocks, as of `simulate`; what remains above whole lines is not used.
    line : int
        Blocks of a line.

    Returns
    -------
    recarray, shape (policies x sizes,)
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
    >>> rows = simulate_lines([0, 1, 0, 5, 1], "lru", [4], line=4)
    >>> rows[["hits", "partial_misses", "line_misses"]].tolist()
    [(1, 1, 3)]
    """
    cores = threads_given(threads)
    lines, length = _in_lines(trace, line)
    caches = Caches.asked(lines, policies, sizes, ops)
    if not isinstance(lines, engine.Accesses):
        caches = replace(caches, blocks=lines, unique=int(lines.max(initial=0)) // length + 1)
        caches = replace(caches, unique=caches.unique * length)
    if small := [size for size in caches.capacities if size < length]:
        raise ConfigError(f"sizes: {small[0]} blocks are less than a line of {length}")
    caches = replace(caches, capacities=[size // length * length for size in caches.capacities])
    found = _policies.simulate(
        caches.blocks,
        caches.unique,
        caches.configs,
        caches.operations,
        seed,
        cores,
        memory_given(memory),
        False,
        progress,
        length,
    )
    misses = found["accesses"] - found["hits"]
    counts = {
        "accesses": found["accesses"],
        "hits": found["hits"],
        "misses": misses,
        "hit_ratio": found["hits"] / np.maximum(found["accesses"], 1),
        "partial_misses": found["partial_misses"],
        "line_misses": misses - found["partial_misses"],
        "loaded": misses,
    }
    others = ("writes", "write_hits", "evictions", "bytes", "seconds")
    return caches.table(counts | {name: found[name] for name in others})


def _in_lines(
    trace: ArrayLike | engine.Accesses, line: int | None
) -> tuple[NDArray[np.uint32] | engine.Accesses, int]:
    """Return blocks by ids that lie side by side in a line, and the length of a line."""
    if isinstance(trace, engine.Accesses):
        if line not in (None, trace.line_blocks):
            raise ConfigError(
                f"line: these accesses were interned by lines of {trace.line_blocks}, not {line}"
            )
        return trace, trace.line_blocks
    if line is None or line < 1:
        raise ConfigError(f"line: expected at least one block, got {line}")
    keys = keys_of(trace).astype(np.uint64, copy=False)
    numbers, unique = _policies.number(keys // np.uint64(line))
    if unique * line >= 2**32 - 1:
        raise ConfigError(f"line: {unique} lines of {line} blocks are more than there are ids")
    return numbers * np.uint32(line) + (keys % np.uint64(line)).astype(np.uint32), line
