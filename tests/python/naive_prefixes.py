"""KV caches in plain Python: prefixes are tuples of ids, one replay for each capacity."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

Prefix = tuple[int, ...]


@dataclass
class Counts:
    """Blocks and tokens that hit, and requests of which all blocks do."""

    blocks: int = 0
    tokens: int = 0
    full: int = 0

    def add(self, cached: int, length: int, tokens: int, block: int, full_hit: str) -> None:
        """Count a request of which `cached` of `length` blocks are cached."""
        is_full = 0 < length == cached
        hit_blocks, hit_tokens = cached, min(cached * block, tokens)
        if is_full and hit_tokens == tokens:
            if full_hit == "minus-one-block":
                hit_blocks, hit_tokens = cached - 1, (cached - 1) * block
            elif full_hit == "minus-one-token":
                hit_tokens -= 1
        self.blocks += hit_blocks
        self.tokens += hit_tokens
        self.full += is_full


def prefixes_of(chain: Sequence[int]) -> list[Prefix]:
    """Return what each block of a request stands for."""
    return [tuple(chain[: end + 1]) for end in range(len(chain))]


def replay(
    chains: Sequence[Sequence[int]],
    tokens: Sequence[int],
    block: int,
    capacity: int,
    *,
    order: str = "tail-first",
    full_hit: str = "all",
    warm_up: int = 0,
) -> Counts:
    """Replay one LRU cache of blocks."""
    cache: OrderedDict[Prefix, None] = OrderedDict()
    counts = Counts()
    for i, (chain, length) in enumerate(zip(chains, tokens, strict=True)):
        path = prefixes_of(chain)
        cached = next((k for k, node in enumerate(path) if node not in cache), len(path))
        if i >= warm_up:
            counts.add(cached, len(path), length, block, full_hit)
        for node in reversed(path) if order == "tail-first" else path:
            cache[node] = None
            cache.move_to_end(node)
            if len(cache) > capacity:
                cache.popitem(last=False)
    return counts


def replay_trie(
    chains: Sequence[Sequence[int]], tokens: Sequence[int], block: int, capacity: int
) -> Counts:
    """Replay a trie that evicts the leaf that was used longest ago, but none of the request."""
    used: dict[Prefix, int] = {}
    counts = Counts()
    for now, (chain, length) in enumerate(zip(chains, tokens, strict=True)):
        path = prefixes_of(chain)
        cached = next((k for k, node in enumerate(path) if node not in used), len(path))
        counts.add(cached, len(path), length, block, "all")
        own = set(path)
        for node in path[:cached]:
            used[node] = now
        for node in path[cached:]:
            if len(used) >= capacity:
                inner = {other[:-1] for other in used}
                leaves = [other for other in used if other not in inner and other not in own]
                if not leaves:
                    break
                del used[min(leaves, key=lambda leaf: (used[leaf], -len(leaf)))]
            used[node] = now
    return counts


def replay_tiers(chains: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[int]:
    """Return the blocks that hit in each tier, of tiers that move their victims to the next one."""
    tiers: list[OrderedDict[Prefix, None]] = [OrderedDict() for _ in sizes]
    hits = [0] * len(sizes)
    for chain in chains:
        path = prefixes_of(chain)
        for node in path:
            tier = next((k for k, cache in enumerate(tiers) if node in cache), None)
            if tier is None:
                break
            hits[tier] += 1
        for node in reversed(path):
            for cache in tiers:
                cache.pop(node, None)
            moved: Prefix | None = node
            for cache, size in zip(tiers, sizes, strict=True):
                if moved is None:
                    break
                cache[moved] = None
                moved = cache.popitem(last=False)[0] if len(cache) > size else None
    return hits
