"""Eviction policies: caches of any size under any of them, replayed from one trace."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import engine
from mcsim._core import policies as _policies
from mcsim.columns import keys_of, operations_of
from mcsim.errors import ConfigError
from mcsim.specs import ParamValue, as_declared, declared_by, parse_spec, split_specs, title
from mcsim.units import parse_blocks

__all__ = ["PolicySpec", "parse_policies", "policy_names", "simulate", "sizes_in_blocks"]


def policy_names() -> list[str]:
    """List the eviction policies; `mcsim describe` tells their parameters.

    Examples
    --------
    >>> policy_names()[:4]
    ['lru', 'fifo', 'clock', 'sieve']
    """
    return [entry["name"] for entry in _policies.describe()]


@dataclass(frozen=True)
class PolicySpec:
    """A policy as it is asked for: `NAME` or `NAME:PARAM=VALUE,…`."""

    name: str
    params: dict[str, str]

    def __str__(self) -> str:
        return title(self.name, self.params)

    def declared(self) -> dict[str, ParamValue]:
        """Return the parameters as the kinds that the policy declares."""
        return as_declared(self.params, declared_by(_policies.describe(), self.name))


def parse_policies(text: str) -> list[PolicySpec]:
    """Read policies divided by commas, as the parameters of each are; `all` is every one.

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
    return [
        PolicySpec(*parse_spec(spec, "eviction policy", policy_names()))
        for spec in split_specs(text)
    ]


def simulate(
    trace: ArrayLike | engine.Accesses,
    policies: str | Sequence[str] = "all",
    sizes: Sequence[int | str] = ("0.1%", "1%", "10%"),
    *,
    ops: ArrayLike | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> np.recarray[Any, Any]:
    """Replay a trace through a cache of every policy and size, each by itself.

    The caches share the trace and nothing else; they start empty and are made one at a time
    by each thread. What comes out does not depend on the number of threads.

    Parameters
    ----------
    trace : array_like of int, shape (n,), or engine.Accesses
        The block of each access, in the order of the accesses.
    policies : str or sequence of str
        Of `policy_names`, with parameters as on the command line: ``'arc:step=integer'``.
    sizes : sequence of int or str
        Capacities in blocks, or ``'1%'`` of the distinct blocks; with `engine.Accesses` also
        ``'1GiB'``.
    ops : array_like of int or bool, shape (n,), optional
        0 for a read, 1 for a write, which `engine.Accesses` have themselves. Only counted:
        writes come in as reads do.
    seed : int
        Of policies that draw.
    threads : int, optional
        Caches at a time; all cores if not given.
    progress : callable, optional
        ``progress(accesses_done)``, those of all caches together.

    Returns
    -------
    recarray, shape (policies x sizes,)
        A row a cache, in the order asked for: ``policy``, ``capacity`` (blocks),
        ``accesses``, ``hits``, ``misses``, ``hit_ratio``, ``writes``, ``write_hits``,
        ``evictions``, ``bytes`` (of its state) and ``seconds`` (of CPU time). pandas and
        Polars take it as it is.

    Raises
    ------
    TypeError
        If a column does not hold integers.
    ConfigError
        If there is no such policy or parameter, or a size or column is wrong.

    Examples
    --------
    >>> rows = simulate([1, 2, 3, 1, 2, 3], ["lru", "opt"], [2, 3])
    >>> rows[["policy", "capacity", "hits"]].tolist()
    [('lru', 2, 0), ('lru', 3, 3), ('opt', 2, 2), ('opt', 3, 3)]
    """
    specs = parse_policies(policies if isinstance(policies, str) else ",".join(policies))
    cores = len(os.sched_getaffinity(0)) if threads is None else threads
    if cores < 1:
        raise ConfigError(f"threads: at least 1, got {threads}")
    if isinstance(trace, engine.Accesses):
        if ops is not None:
            raise ConfigError("ops: these accesses have theirs")
        blocks, unique, block_bytes = trace.ids, trace.id_count, trace.block_bytes
        begin = trace.request_begin.view(np.int64)
        lengths = begin[1:] - begin[:-1]
        operations: NDArray[np.uint8] | None = np.repeat(trace.request_op, lengths)
    else:
        blocks, unique = _policies.number(keys_of(trace).astype(np.uint64, copy=False))
        block_bytes = None
        operations = None if ops is None else operations_of(ops)
    capacities = sizes_in_blocks(sizes, unique, block_bytes)
    configs = [(spec.name, spec.declared(), size) for spec in specs for size in capacities]
    columns = _policies.simulate(blocks, unique, configs, operations, seed, cores, progress)
    hits, accesses = columns["hits"], columns["accesses"]
    rows = {
        "policy": np.array([str(spec) for spec in specs for _ in capacities], dtype=np.str_),
        "capacity": np.array([size for _, _, size in configs], dtype=np.int64),
        "accesses": accesses,
        "hits": hits,
        "misses": accesses - hits,
        "hit_ratio": hits / np.maximum(accesses, 1),
        "writes": columns["writes"],
        "write_hits": columns["write_hits"],
        "evictions": columns["evictions"],
        "bytes": columns["bytes"],
        "seconds": columns["seconds"],
    }
    kinds = [(name, column.dtype) for name, column in rows.items()]
    table = np.recarray(len(configs), dtype=kinds)
    for name, column in rows.items():
        table[name] = column
    return table


def sizes_in_blocks(sizes: Sequence[int | str], unique: int, block_bytes: int | None) -> list[int]:
    """Return capacities in blocks of sizes such as `250000`, `1%` or `1GiB`.

    Parameters
    ----------
    unique : int
        The distinct blocks of which percentages are; what they come to is 1 or more.
    block_bytes : int, optional
        Size of a block; if not given there are no sizes in bytes.
    """
    return [_size_in_blocks(size, unique, block_bytes) for size in sizes]


def _size_in_blocks(size: int | str, unique: int, block_bytes: int | None) -> int:
    try:
        if isinstance(size, str) and size.strip().endswith("%"):
            share = float(size.strip().removesuffix("%")) / 100
            if not 0 <= share <= 1:
                raise ValueError(f"expected 0% to 100%, got {size!r}")
            return max(1, round(share * unique))
        # With blocks of no size every one in bytes is refused.
        blocks = parse_blocks(size, block_bytes or 1 << 62)
    except ValueError as error:
        raise ConfigError(f"sizes: {error}") from None
    if blocks < 1:
        raise ConfigError(f"sizes: at least 1 block, got {size!r}")
    return blocks
