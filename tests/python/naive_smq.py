"""dm-cache under smq, rule by rule: one request in flight, background work settled.

Trusts: the hits of Linux 6.1.176 in every request (experiment/test_dm_cache.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_SECOND = 1_000_000_000
_LEVELS = 64


class _Node:
    """An element of a level: a sentinel, or an entry."""


class _Entry(_Node):
    def __init__(self) -> None:
        self.level = 0
        self.dirty = False
        self.block = -1


class _Queue:
    """64 levels of entries, the oldest first; optionally with two sentinels in each level."""

    def __init__(self, top_levels: int = 0, *, sentinels: bool = False) -> None:
        self.levels: list[list[_Node]] = [[] for _ in range(_LEVELS)]
        self.count = 0
        self._top_levels = top_levels
        self._targets, self._targets_for = [0] * _LEVELS, 0
        self._old, self._young = _Node(), _Node()
        for level in self.levels if sentinels else ():
            level += [self._old, self._young]

    def push_oldest(self, entry: _Entry) -> None:
        self.levels[entry.level].insert(0, entry)
        self.count += 1

    def push(self, entry: _Entry) -> None:
        self.levels[entry.level].append(entry)
        self.count += 1

    def remove(self, entry: _Entry) -> None:
        self.levels[entry.level].remove(entry)
        self.count -= 1

    def oldest(self, levels: int = _LEVELS, *, behind_sentinels: bool = True) -> _Entry | None:
        """Return the head of the lowest level that has one."""
        for level in self.levels[:levels]:
            for node in level:
                if isinstance(node, _Entry):
                    return node
                if not behind_sentinels:
                    break
        return None

    def requeue(self, entry: _Entry, by: int) -> None:
        old, new = entry.level, min(_LEVELS - 1, entry.level + by)
        if by > 0 and old < _LEVELS - 1:
            self._swap_down(old, new)
        self.levels[old].remove(entry)
        entry.level = new
        self.levels[new].append(entry)

    def _swap_down(self, old: int, new: int) -> None:
        """Exchange the head of the upper level; keep its position among the sentinels."""
        after: list[_Node | None] = [self._old, self._young, None]
        for node in self.levels[new]:
            if isinstance(node, _Entry):
                break
            after.pop(0)
        else:
            return
        self.levels[new].remove(node)
        node.level = old
        lower, mark = self.levels[old], after[0]
        lower.insert(lower.index(mark) if mark in lower else len(lower), node)

    def change_sentinels(self) -> None:
        self._old, self._young = self._young, self._old
        for level in self.levels:
            level.remove(self._young)
            level.append(self._young)

    def redistribute(self, top: int = 0) -> None:
        if self.count != self._targets_for:
            self._targets_for = self.count
            lower = _spread(max(self.count - top, 0), _LEVELS - self._top_levels)
            self._targets = lower + _spread(top, self._top_levels)
        for index in range(_LEVELS - 1):
            level, above = self.levels[index], self.levels[index + 1]
            entries = [node for node in level if isinstance(node, _Entry)]
            want = self._targets[index]
            for _ in range(want - len(entries)):
                self._pull_down(index)
            for entry in reversed(entries[want:]):
                level.remove(entry)
                entry.level = index + 1
                above.append(entry)

    def _pull_down(self, index: int) -> None:
        """Move the head of the next level that has entries to this level."""
        for level in self.levels[index + 1 :]:
            for node in level:
                if isinstance(node, _Entry):
                    level.remove(node)
                    node.level = index
                    self.levels[index].append(node)
                    return


def _spread(count: int, levels: int) -> list[int]:
    return [count // levels + (i < count % levels) for i in range(levels)]


class Dumped(NamedTuple):
    """A block in the metadata of an earlier cache; its hint is the level it had."""

    cache_block: int
    origin_block: int
    dirty: bool
    hint: int | None


class NaiveSmq:
    """The cache; `request` returns whether a request within one block hits.

    Times are nanoseconds since the boot of the kernel.
    """

    def __init__(
        self,
        cache_blocks: int,
        origin_blocks: int,
        *,
        created: int = 1_005_000_000,
        hz: int = 100,
        mode: str = "writeback",
        policy: str = "smq",
        block_sectors: int = 64,
        migration_threshold: int = 2048,
        dump: Sequence[Dumped] = (),
    ) -> None:
        self.capacity, self.hz, self.mode, self.policy = cache_blocks, hz, mode, policy
        self.may_clean = block_sectors <= migration_threshold
        self.hot_capacity = max(cache_blocks // 4, 1024)
        self.region = 16
        while self.region > 1 and self.region * self.hot_capacity > origin_blocks:
            self.region //= 2
        self.table: dict[int, _Entry] = {}
        self.free = [_Entry() for _ in range(cache_blocks)]
        self.clean, self.dirty = _Queue(), _Queue(sentinels=True)
        self.hot, self.hot_table = _Queue(top_levels=8), dict[int, _Entry]()
        self.hot_hits, self.cache_hits = set[_Entry](), set[_Entry]()
        self.hot_hit_count = self.hot_miss_count = 0
        self.promote_level, self.jump = _LEVELS, 1
        self.jiffies = created * hz // _SECOND
        self.hot_deadline = self.cache_deadline = self.jiffies
        self.sentinel_deadline = self.jiffies + 10 * hz
        self.demotions: list[_Entry] = []
        self.write_backs: list[_Entry] = []
        self.last_traffic = self.jiffies
        self.counts = Counter[str]()
        self._load(dump)
        self._wake(self.jiffies)

    def _load(self, dump: Sequence[Dumped]) -> None:
        """Insert each block at the head of its level; without a hint, at one by its number."""
        entries = dict(enumerate(self.free))
        for of in sorted(dump):
            entry = entries.pop(of.cache_block)
            hashed = of.cache_block * 0x61C88647 % 2**32 // 2**23 % _LEVELS
            entry.level = hashed if of.hint is None else min(of.hint, _LEVELS - 1)
            entry.block, entry.dirty = of.origin_block, of.dirty
            self.table[entry.block] = entry
            (self.dirty if entry.dirty else self.clean).push_oldest(entry)
        self.free = list(entries.values())

    def request(self, time: int, block: int, write: bool = False, whole: bool = False) -> bool:
        """Serve a request; `whole`: it covers its block."""
        self.run_until(time)
        self.jiffies = time * self.hz // _SECOND
        entry = self.table.get(block)
        kind = "write" if write else "read"
        if entry is None:
            self._miss(block, kind, whole)
            return False
        self._hit(entry, write)
        self.counts[kind + " hits"] += 1
        return True

    def run_until(self, time: int) -> None:
        """Run the background work up to this time."""
        while self.next_wake <= time * self.hz // _SECOND:
            self._wake(self.next_wake)

    def _hit(self, entry: _Entry, write: bool) -> None:
        if entry not in self.cache_hits:
            self.cache_hits.add(entry)
            (self.dirty if entry.dirty else self.clean).requeue(entry, 1)
        if write and self.mode == "writeback" and not entry.dirty:
            self.clean.remove(entry)
            entry.dirty = True
            self.dirty.push(entry)
        if write and self.mode == "passthrough":
            self.clean.remove(entry)
            self._finish_demotion(entry)
        if write and self.mode == "writethrough" and not entry.dirty:
            self.last_traffic = self.jiffies
        else:
            self._tick()

    def _miss(self, block: int, kind: str, whole: bool) -> None:
        level = self._count_hotspot(block // self.region)
        self.last_traffic = self.jiffies
        whole = whole and kind == "write" and self.mode == "writeback"
        wanted = level >= self.promote_level or (whole and bool(self.free))
        wanted = wanted and self.policy == "smq" and self.mode != "passthrough"
        entry = self.free.pop() if wanted and self.free else None
        if entry is not None and whole:
            self._promote(entry, block, dirty=True)
            return
        if wanted and entry is None:
            self._ask_for_space()
        self.counts[kind + " misses"] += 1
        self._tick()
        if entry is not None:
            self._promote(entry, block)
        if wanted and not whole:
            self._work()

    def _promote(self, entry: _Entry, block: int, dirty: bool = False) -> None:
        entry.level, entry.block, entry.dirty = _LEVELS - 1, block, dirty
        self.table[block] = entry
        (self.dirty if dirty else self.clean).push(entry)
        self.counts["promotions"] += 1

    def _ask_for_space(self) -> None:
        entry = self.clean.oldest(_LEVELS // 2)
        if entry is None:
            entry = self.dirty.oldest(behind_sentinels=False)
            if entry is not None:
                self.dirty.remove(entry)
                self.write_backs.append(entry)
        elif len(self.demotions) < self.capacity // 4:
            self.clean.remove(entry)
            self.demotions.append(entry)

    def _count_hotspot(self, region: int) -> int:
        """Count a miss of the cache in its region; return the level of the region."""
        entry = self.hot_table.get(region)
        if entry is not None:
            if entry.level >= 48:
                self.hot_hit_count += 1
            else:
                self.hot_miss_count += 1
            self.hot.requeue(entry, 0 if entry in self.hot_hits else self.jump)
            self.hot_hits.add(entry)
            return entry.level
        self.hot_miss_count += 1
        if len(self.hot_table) < self.hot_capacity:
            entry = _Entry()
        else:
            entry = self.hot.oldest()
            assert entry is not None
            self.hot.remove(entry)
            del self.hot_table[entry.block]
        entry.block = region
        self.hot_table[region] = entry
        self.hot.push(entry)
        return entry.level

    def _tick(self) -> None:
        now = self.jiffies
        if now > self.sentinel_deadline:
            self.sentinel_deadline = now + 10 * self.hz
            self.dirty.change_sentinels()
        self.hot_hits.clear()
        counted = self.hot_hit_count + self.hot_miss_count
        confidence = 256 * self.hot_hit_count // counted if counted else 0
        case = (confidence >= 16) + (confidence >= 32)
        self.promote_level = (48, 32, 0)[case]
        if now > self.hot_deadline:
            self.hot_deadline = now + self.hz
            self.jump = (4, 2, 1)[case]
            self.hot.redistribute(min(self.hot_capacity // _LEVELS, self.capacity // self.region))
            self.hot_hit_count = self.hot_miss_count = 0
        if now > self.cache_deadline:
            self.cache_deadline = now + 60 * self.hz
            self.cache_hits.clear()
            self.dirty.redistribute()
            self.clean.redistribute()

    def _wake(self, jiffies: int) -> None:
        self.jiffies = jiffies
        step = 1 if self.hz < 63 else 8 if self.hz < 504 else 64  # of the kernel's timer wheel
        self.next_wake = (jiffies + self.hz + step) // step * step
        self._tick()
        self._work()

    def _work(self) -> None:
        while self.demotions:
            self._finish_demotion(self.demotions.pop())
        while self.write_backs:
            self._finish_write_back(self.write_backs.pop())
        idle = self.may_clean and self.jiffies > self.last_traffic + self.hz
        while idle and (oldest := self.dirty.oldest()) is not None:
            self.dirty.remove(oldest)
            self._finish_write_back(oldest)

    def _finish_demotion(self, entry: _Entry) -> None:
        del self.table[entry.block]
        self.free.append(entry)
        self.counts["demotions"] += 1

    def _finish_write_back(self, entry: _Entry) -> None:
        entry.dirty = False
        self.clean.push(entry)
        self.counts["write-backs"] += 1
