"""Tables of prefix hits, a row a capacity, and bytes of blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsim.base.arguments import whole_number
from mcsim.base.errors import ConfigError
from mcsim.tables.result_table import ResultTable


class PrefixCounts(NamedTuple):
    """Hits by cache, and what was counted.

    Attributes
    ----------
    blocks, tokens, full : ndarray of int64, shape (caches,)
        Blocks and tokens that hit, and requests of which all blocks do.
    all_blocks, all_tokens : int
        Blocks and tokens of the counted requests.
    """

    blocks: NDArray[np.int64]
    tokens: NDArray[np.int64]
    full: NDArray[np.int64]
    all_blocks: int
    all_tokens: int


def prefix_table(
    capacities: NDArray[np.int64],
    counts: PrefixCounts,
    block_bytes: int | None,
    policies: list[str] | None = None,
) -> ResultTable:
    """Make the table of caches.

    Parameters
    ----------
    capacities : ndarray of int64, shape (caches,)
        In blocks.
    counts : PrefixCounts
    block_bytes : int or None
        Bytes of a block, for a column with the size in bytes.
    policies : list of str, optional
        The policy of each cache, for a column.

    Returns
    -------
    ResultTable

    Raises
    ------
    ConfigError
        If a size in bytes is too large.
    """
    columns: dict[str, Any] = {
        "policy": policies,
        "capacity": capacities,
        "bytes": _bytes(capacities, block_bytes) if block_bytes else None,
        "hits": counts.blocks,
        "hit_ratio": counts.blocks / max(1, counts.all_blocks),
        "token_hits": counts.tokens,
        "token_hit_ratio": counts.tokens / max(1, counts.all_tokens),
        "full_hits": counts.full,
        "recomputed": counts.all_tokens - counts.tokens,
    }
    return ResultTable(
        {name: values for name, values in columns.items() if values is not None},
        "prefixes" if policies is None else "prefix-policies",
    )


def _bytes(sizes: NDArray[np.int64], block_bytes: int) -> NDArray[np.int64]:
    largest = int(sizes.max(initial=0))
    if largest * block_bytes >= 2**63:
        raise ConfigError(f"capacities: {largest:,} blocks of {block_bytes:,} bytes are too many")
    return sizes * block_bytes


def kv_bytes_per_token(layers: int, kv_heads: int, head_size: int, value_bytes: int = 2) -> int:
    """Return the bytes that the keys and values of a token take.

    Parameters
    ----------
    layers : int
        Layers with attention over all tokens.
    kv_heads : int
        Heads of keys and values in a layer; fewer than those of queries with grouped queries.
    head_size : int
        Values of a head.
    value_bytes : int
        Bytes of a value: 2 for BF16, 1 for FP8.

    Returns
    -------
    int

    Raises
    ------
    ConfigError
        If a number is not positive.

    Examples
    --------
    >>> from mcsim.locality.prefix_tables import kv_bytes_per_token
    >>> kv_bytes_per_token(32, 8, 128)
    131072
    """
    given = {"layers": layers, "kv_heads": kv_heads, "head_size": head_size}
    product = 2 * whole_number("value_bytes", value_bytes, 1, 64)
    for name, value in given.items():
        product *= whole_number(name, value, 1, 10**6)
    return product
