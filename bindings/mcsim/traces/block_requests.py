"""The requests of references to blocks, and the blocks that are discarded among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mcsim.traces.blocks import Blocks

Discards = tuple[NDArray[np.uint64], NDArray[np.uint32]]
"""The reference before which each discard comes, in order, and the number of its block."""

RequestColumns = tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32], int]
"""First reference of each request and the number of references; bytes and offset in the first
block, both empty without lengths; bytes of a block."""


def discards_of(blocks: Blocks) -> Discards | None:
    """Return the discards of blocks that have references among these; None without any."""
    accesses = blocks.accesses
    if not len(accesses.discard_block):
        return None
    if blocks.is_whole:
        discarded = accesses.discard_block.copy()
        return accesses.request_begin[accesses.discard_request], discarded
    number = np.full(accesses.id_count, -1, np.int64)
    number[blocks.whole_ids] = blocks.ids
    found = number[accesses.discard_block]
    kept = found >= 0
    before = np.searchsorted(blocks.positions, accesses.discard_request[kept])
    return _begin(blocks)[before], found[kept].astype(np.uint32)


def request_columns_of(blocks: Blocks) -> RequestColumns:
    """Return which references each request has, and its bytes."""
    of = blocks.accesses
    parts = [of.request_bytes, of.request_head]
    if not blocks.is_whole:
        parts = [part[blocks.positions] if len(part) else part for part in parts]
    return _begin(blocks), parts[0], parts[1], of.block_bytes


def _begin(blocks: Blocks) -> NDArray[np.uint64]:
    if blocks.is_whole:
        return blocks.accesses.request_begin
    return np.concatenate(([0], np.cumsum(blocks.lengths))).astype(np.uint64)
