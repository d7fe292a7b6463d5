"""Chain traces: requests that are ordered lists of blocks, as in KV caches of language models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import locality as _locality
from mcsim._core import policies as _policies
from mcsim.base.arguments import list_of, whole_number
from mcsim.base.errors import ConfigError, TraceError

if TYPE_CHECKING:
    from mcsim.traces.chain_lines import IdRule

_MOST_BLOCKS = 2**31 - 1
_ROOT = np.uint64(2**32 - 1)
_FEW = 64  # requests that reach a level of a trie and are numbered one at a time


@dataclass(frozen=True, eq=False)
class ChainTrace:
    """Requests that are chains of blocks: a block can only hit if all blocks before it do.

    `read_chains` reads one from a file, and `from_arrays` makes one from arrays. A block stands for
    its content and all blocks before it: equal contents after different prefixes are two blocks.

    Attributes
    ----------
    starts : ndarray of int64, shape (requests + 1,)
        Index in `blocks` of the first block of each request, and the end.
    blocks : ndarray of uint32, shape (n,)
        Numbers of the blocks, those of a request from head to tail.
    tokens : ndarray of int64, shape (requests,)
        Tokens of the prompt of each request.
    block_tokens : int
        Tokens of a block.
    times : ndarray of float64, shape (requests,), optional
        Arrival in seconds, never decreasing.
    finish_times : ndarray of float64, shape (requests,), optional
        End of each request in seconds, not before its arrival.
    tenant : ndarray of int32, shape (requests,), optional
        Index in `tenants`, whose caches may be apart.
    tenants : sequence of str
        Names of the tenants; empty if the trace has none.
    session : ndarray of int32, shape (requests,), optional
        Number of the session.
    output_tokens : ndarray of int64, shape (requests,), optional
        Tokens of each answer.
    label : str
        Name of the trace.
    notes : sequence of str
        Remarks of the reader.
    """

    starts: NDArray[np.int64]
    blocks: NDArray[np.uint32]
    tokens: NDArray[np.int64]
    block_tokens: int
    times: NDArray[np.float64] | None = None
    finish_times: NDArray[np.float64] | None = None
    tenant: NDArray[np.int32] | None = None
    tenants: Sequence[str] = ()
    session: NDArray[np.int32] | None = None
    output_tokens: NDArray[np.int64] | None = None
    label: str = "chains"
    notes: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return (
            f"<ChainTrace {self.label}: {len(self):,} requests, {len(self.blocks):,} blocks of "
            f"{self.block_tokens:,} tokens, {self.distinct:,} distinct>"
        )

    @classmethod
    def from_arrays(
        cls,
        starts: ArrayLike,
        ids: ArrayLike,
        *,
        block_tokens: int,
        tokens: ArrayLike | None = None,
        tenants: Sequence[str] | None = None,
    ) -> ChainTrace:
        """Make a trace of ids; those that follow different ids are told apart.

        Parameters
        ----------
        starts : array_like of int, shape (requests + 1,)
            Index in `ids` of the first block of each request, and the end.
        ids : array_like of int, shape (n,)
            Ids of the blocks, of their contents or of their prefixes.
        block_tokens : int
            Tokens of a block.
        tokens : array_like of int, shape (requests,), optional
            Tokens of each prompt; whole blocks if not given.
        tenants : sequence of str, optional
            Name of the tenant of each request.

        Returns
        -------
        ChainTrace
            The requests in this order.

        Raises
        ------
        ConfigError
            If lengths do not fit, or tokens do not fill the blocks.

        Examples
        --------
        >>> trace = mc.ChainTrace.from_arrays([0, 2, 4], [7, 8, 9, 8], block_tokens=16)
        >>> trace.distinct, trace.tokens.tolist()
        (4, [32, 32])
        """
        block = whole_number("block_tokens", block_tokens, 1, 2**31)
        at, flat = np.asarray(starts, np.int64), np.asarray(ids, np.uint64)
        if at.ndim != 1 or not at.size or at[0] or at[-1] != flat.size or (np.diff(at) < 0).any():
            raise ConfigError("starts: expected indices from 0 to the number of ids")
        counts = np.diff(at)
        length = counts * block if tokens is None else np.asarray(tokens, np.int64)
        if length.shape != counts.shape or not lengths_fit(counts, length, block).all():
            raise ConfigError("tokens: expected as many as fill the blocks of each request")
        trace = cls(at, chained(at, number_values(flat))[0], length, block)
        if tenants is None:
            return trace
        names = [str(name) for name in list_of("tenants", tenants, "names")]
        if len(names) != len(trace):
            raise ConfigError(f"tenants: {len(names):,} names for {len(trace):,} requests")
        every = list(dict.fromkeys(names))
        number = {name: i for i, name in enumerate(every)}
        codes = np.array([number[name] for name in names], np.int32)
        return replace(trace, tenant=codes, tenants=every)

    @cached_property
    def distinct(self) -> int:
        """Distinct blocks."""
        return int(np.count_nonzero(np.bincount(self.blocks))) if len(self.blocks) else 0

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Blocks of each request; shape (requests,)."""
        return np.diff(self.starts)

    def tenant_counts(self) -> list[int]:
        """Return the requests of each tenant, or of all if the trace has no tenants.

        Returns
        -------
        list of int
        """
        if self.tenant is None:
            return [len(self)]
        counts: list[int] = np.bincount(self.tenant, minlength=len(self.tenants)).tolist()
        return counts

    def of_tenant(self, name: str) -> ChainTrace:
        """Return the requests of a tenant.

        Parameters
        ----------
        name : str
            One of `tenants`.

        Returns
        -------
        ChainTrace
            A trace without tenants.

        Raises
        ------
        ConfigError
            If the trace has no such tenant.
        """
        if name not in self.tenants or self.tenant is None:
            raise ConfigError(f"no tenant {name!r} (one of {', '.join(self.tenants) or 'none'})")
        chosen = np.flatnonzero(self.tenant == self.tenants.index(name))
        return replace(self.taken(chosen), tenant=None, tenants=(), label=name, notes=())

    def taken(self, chosen: NDArray[np.int64]) -> ChainTrace:
        """Return some requests, in a new order.

        Parameters
        ----------
        chosen : ndarray of int64
            Their numbers.

        Returns
        -------
        ChainTrace
            Without a check of the order of times.
        """
        counts = self.lengths[chosen]
        starts = np.concatenate([[0], np.cumsum(counts)])
        index = np.repeat(self.starts[chosen] - starts[:-1], counts) + np.arange(starts[-1])

        def of(column: NDArray[Any] | None) -> Any:
            return None if column is None else column[chosen]

        return replace(
            self,
            starts=starts,
            blocks=self.blocks[index],
            tokens=self.tokens[chosen],
            times=of(self.times),
            finish_times=of(self.finish_times),
            tenant=of(self.tenant),
            session=of(self.session),
            output_tokens=of(self.output_tokens),
        )


def lengths_fit(
    blocks: NDArray[np.int64], tokens: NDArray[np.int64], block_tokens: int
) -> NDArray[np.bool_]:
    """Check that tokens fill the blocks of each request; a list may omit an incomplete last block.

    Parameters
    ----------
    blocks, tokens : ndarray of int64, shape (requests,)
    block_tokens : int

    Returns
    -------
    ndarray of bool, shape (requests,)
    """
    full = tokens // block_tokens
    return (tokens >= 0) & (full <= blocks) & (blocks <= -(-tokens // block_tokens))


def number_values(values: Any) -> NDArray[np.int32]:
    """Number integers or texts, from 0 in order of first appearance.

    Parameters
    ----------
    values : ndarray of uint64, or pyarrow.Array
        Values that are not null.

    Returns
    -------
    ndarray of int32

    Raises
    ------
    TraceError
        If there are too many values.
    """
    if len(values) > _MOST_BLOCKS:
        raise TraceError(f"{len(values):,} blocks; a chain trace has at most {_MOST_BLOCKS:,}")
    if not isinstance(values, np.ndarray):
        import pyarrow as pa
        import pyarrow.compute as pc

        if not pa.types.is_integer(values.type):
            codes: NDArray[np.int32] = pc.dictionary_encode(values).indices.to_numpy()
            return codes
        values = values.to_numpy().view(np.uint64)
    return _locality.number_keys(values).view(np.int32)


def chained(
    starts: NDArray[np.int64], numbers: NDArray[np.int32]
) -> tuple[NDArray[np.uint32], int]:
    """Number the blocks so that each number names a whole prefix.

    Parameters
    ----------
    starts : ndarray of int64
        As of `ChainTrace`.
    numbers : ndarray of int32
        Numbers of ids, which may follow different ids.

    Returns
    -------
    blocks : ndarray of uint32
        `numbers`, if each follows one id only.
    conflicts : int
        Ids that follow different ids.
    """
    blocks = numbers.view(np.uint32)
    conflicts = _policies.chain_conflicts((starts, blocks, int(numbers.max(initial=-1)) + 1))
    return (_trie_nodes(starts, numbers) if conflicts else blocks), conflicts


def _trie_nodes(starts: NDArray[np.int64], numbers: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Number the nodes of the trie of all requests: level by level, then the longest requests."""
    counts = np.diff(starts)
    longest_first = np.argsort(-counts, kind="stable")
    ends = np.searchsorted(-counts[longest_first], -np.arange(int(counts.max(initial=0))))
    nodes = np.empty(len(numbers), np.uint32)
    parents = np.full(len(counts), _ROOT)
    size = 0
    few = int(np.searchsorted(-ends, -_FEW, "right"))
    for level, end in enumerate(ends[:few]):
        at = starts[longest_first[:end]] + level
        keys = parents[:end] << np.uint64(32) | numbers[at].astype(np.uint64)
        found = number_values(keys).view(np.uint32) + np.uint32(size)
        nodes[at] = found
        parents[:end] = found
        size = int(found.max()) + 1
    number_of: dict[tuple[int, int], int] = {}
    for place, request in enumerate(longest_first[: ends[few] if few < len(ends) else 0]):
        node = int(parents[place])
        for index in range(int(starts[request]) + few, int(starts[request + 1])):
            key = (node, int(numbers[index]))
            nodes[index] = node = number_of.setdefault(key, size + len(number_of))
    return nodes


def read_chains(
    path: str | PathLike[str],
    *,
    ids: IdRule = "auto",
    block_tokens: int | None = None,
    fields: Mapping[str, str] | None = None,
    time_unit: float | None = None,
) -> ChainTrace:
    """Read a chain trace: JSON Lines, perhaps compressed, with a list of block ids in each line.

    Traces of Mooncake, Qwen-Bailian and LMCache, and logs of LiteLLM, are recognised by the fields
    of the first line. An id is an integer from 0 to 2^64 - 1, or text, which is not converted.

    Parameters
    ----------
    path : path-like
        The file; a name that ends in .gz, .bz2, .lz4 or .zst is decompressed.
    ids : {'auto', 'prefix', 'content'}
        Whether an id names a block with all blocks before it, or the content of one block. Contents
        are chained: the same id after different prefixes becomes different blocks. With
        ``'prefix'``, an id that follows two different ids is an error; with ``'auto'``, the ids
        are then chained, and a note counts them.
    block_tokens : int, optional
        Tokens of a block; if not given, as of the field ``block_size`` or ``chunk_size``, or else
        512 for ``hash_ids``, 16 for Qwen-Bailian and 256 for LMCache.
    fields : mapping of str to str, optional
        Names of the fields ``ids``, ``tokens``, ``output``, ``time``, ``finish`` (when the request
        ends), ``block_tokens``, ``tenant`` and ``session`` where they are not those of a known
        collection.
    time_unit : float, optional
        Seconds of a unit of time; 0.001 for Mooncake, 1 for others if not given.

    Returns
    -------
    ChainTrace
        The requests in order of time; equal times keep the order of the file.

    Raises
    ------
    ConfigError
        If a parameter is wrong, or the first line has no ids.
    TraceError
        If a line breaks a rule; the message has its number.
    OSError
        If the file cannot be read.
    """
    from mcsim.traces.chain_files import read

    return read(path, ids=ids, block_tokens=block_tokens, fields=fields or {}, time_unit=time_unit)
