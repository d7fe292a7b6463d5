"""Tables of prefix hits: a row a capacity."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
