"""One LRU cache in plain Python."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable


def lru_hits(blocks: Iterable[int], capacity: int, counted_from: int = 0) -> int:
    """Hits of the accesses to these blocks, of which the first may only warm the cache."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for i, block in enumerate(blocks):
        hits += block in cache and i >= counted_from
        cache[block] = None
        cache.move_to_end(block)
        if len(cache) > capacity:
            cache.popitem(last=False)
    return hits
