"""KV caches in plain Python: prefixes are tuples of ids, one replay for each capacity."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

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
    chains: Sequence[Sequence[int]],
    tokens: Sequence[int],
    block: int,
    capacity: int,
    *,
    rule: str = "leaf-lru",
    running: Sequence[tuple[float, float]] | None = None,
) -> Counts:
    """Replay a trie that evicts leaves, but none of the request; `running` requests are pinned."""
    key = {
        "leaf-lru": lambda uses: uses[-1][0],
        "leaf-lfu": lambda uses: (sum(counts for _, counts in uses), uses[-1][0]),
        "leaf-fifo": lambda uses: uses[0][0],
    }[rule]
    used: dict[Prefix, list[tuple[int, bool]]] = {}
    pinned: list[tuple[float, int, list[Prefix]]] = []
    counts, now = Counts(), 0
    for i, (chain, length) in enumerate(zip(chains, tokens, strict=True)):
        arrival, finish = (i, i) if running is None else running[i]
        pinned.sort()
        while pinned and pinned[0][0] < arrival:
            now += 1
            for node in pinned.pop(0)[2]:
                used[node].append((now, False))
        path, now = prefixes_of(chain), now + 1
        cached = next((k for k, node in enumerate(path) if node not in used), len(path))
        counts.add(cached, len(path), length, block, "all")
        for node in path[:cached]:
            used[node].append((now, True))
        stays = {node for _, _, nodes in pinned for node in nodes} | set(path)
        for node in path[cached:]:
            if len(used) >= capacity:
                inner = {other[:-1] for other in used}
                leaves = [other for other in used if other not in inner | stays]
                if not leaves:
                    break
                del used[min(leaves, key=lambda leaf: key(used[leaf]))]
            used[node] = [(now, True)]
        if running is not None:
            pinned.append((finish, i, [node for node in path if node in used]))
    return counts


def most_hits(chains: Sequence[Sequence[int]], capacity: int, *, misses_last: bool = False) -> int:
    """Return the most blocks that any cache can hit in prefixes, of all contents it can have."""
    best: dict[frozenset[Prefix], int] = {frozenset(): 0}
    for chain in chains:
        path = prefixes_of(chain)
        after: dict[frozenset[Prefix], int] = {}
        for held, hits in best.items():
            run = next((k for k, node in enumerate(path) if node not in held), len(path))
            run = min(run, len(path) - 1) if misses_last and path else run
            known = held | set(path)
            for count in range(min(capacity, len(known)) + 1):
                for chosen in map(frozenset, combinations(known, count)):
                    after[chosen] = max(after.get(chosen, 0), hits + run)
        best = after
    return max(best.values())


def replay_tiers(chains: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[int]:
    """Return the blocks that hit in each tier, of tiers that move their victims to the next one."""
    tiers: list[OrderedDict[Prefix, None]] = [OrderedDict() for _ in sizes]
    hits = [0] * len(sizes)
    for chain in chains:
        path = prefixes_of(chain)
        count_tiers(path, tiers, hits)
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


def replay_inclusive(chains: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[int]:
    """Return the blocks that hit in each tier, of tiers that all store and touch each block."""
    tiers: list[OrderedDict[Prefix, None]] = [OrderedDict() for _ in sizes]
    hits = [0] * len(sizes)
    for chain in chains:
        path = prefixes_of(chain)
        count_tiers(path, tiers, hits)
        for node in reversed(path):
            for cache, size in zip(tiers, sizes, strict=True):
                put(cache, size, node)
    return hits


def replay_copies(chains: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[int]:
    """Return the blocks that hit in each tier, of tiers that copy their victims to the next one."""
    tiers: list[OrderedDict[Prefix, None]] = [OrderedDict() for _ in sizes]
    hits = [0] * len(sizes)
    for chain in chains:
        path = prefixes_of(chain)
        count_tiers(path, tiers, hits)
        for node in reversed(path):
            source = next((cache for cache in tiers if node in cache), None)
            if source is not None:
                source.move_to_end(node)
            copied: Prefix | None = node
            for cache, size in zip(tiers, sizes, strict=True):
                if copied is not None:
                    copied = put(cache, size, copied)
    return hits


def count_tiers(
    path: Sequence[Prefix], tiers: Sequence[OrderedDict[Prefix, None]], hits: list[int]
) -> None:
    """Count each block of the cached prefix at the first tier that has it."""
    for node in path:
        tier = next((k for k, cache in enumerate(tiers) if node in cache), None)
        if tier is None:
            break
        hits[tier] += 1


def put(cache: OrderedDict[Prefix, None], size: int, node: Prefix) -> Prefix | None:
    """Touch or insert a block; return the victim."""
    cache[node] = None
    cache.move_to_end(node)
    return cache.popitem(last=False)[0] if len(cache) > size else None


def replay_parts(
    chains: Sequence[Sequence[int]], tenants: Sequence[int], parts: Sequence[Sequence[int]]
) -> list[int]:
    """Return the blocks that hit by request, in LRU parts of tenants; `parts` at each request."""
    caches: list[OrderedDict[Prefix, None]] = [OrderedDict() for _ in parts[0]]
    hits = []
    for chain, tenant, sizes in zip(chains, tenants, parts, strict=True):
        for cache, size in zip(caches, sizes, strict=True):
            while len(cache) > size:
                cache.popitem(last=False)
        path, cache = prefixes_of(chain), caches[tenant]
        hits.append(next((k for k, node in enumerate(path) if node not in cache), len(path)))
        for node in reversed(path):
            put(cache, sizes[tenant], node)
    return hits
