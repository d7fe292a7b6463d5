"""bcache, rule by rule: one request in flight, work in the background settled.

Trusts: the hits of Linux 6.1.176, within 1 % (experiment/test_bcache.py).
"""

from __future__ import annotations

from collections import Counter, deque

from naive_bcache_cleaner import Cleaner

_NEW, _METADATA = 32_768, 65_535
_SECOND = 1_000_000_000


class _Bucket:
    def __init__(self) -> None:
        self.priority = self.sectors = 0
        self.pinned = False
        self.mark = ""  # "", "clean", "dirty" or "metadata"
        self.filled = 0  # units written since its allocation
        self.live = set[tuple[int, int]]()


class _Open:
    """A write point: a bucket that is being filled."""

    def __init__(self) -> None:
        self.bucket, self.free, self.end, self.task = -1, 0, -1, -1


class NaiveBcache:
    """The cache; `request` returns whether all of a request hits. The unit is a sector."""

    def __init__(
        self, buckets: int, bucket_sectors: int, *, mode: str = "writethrough",
        cutoff: int = 0, percent: int = 10, unit: int = 8, sync: bool = True,
        delay: int = 30 * _SECOND,
    ) -> None:  # fmt: skip
        self.size, self.unit, self.mode, self.cutoff = bucket_sectors, unit, mode, cutoff
        self.sync = sync
        self.buckets = [_Bucket() for _ in range(buckets)]
        self.index: dict[tuple[int, int], int] = {}
        self.reserve = (1 << (buckets - 1).bit_length()) // 1024
        self.priority_buckets = -(-3 * buckets // (bucket_sectors * 512 - 40))
        self.least = self.age = 0
        self.counts = Counter[str]()
        self.lists = {
            "priority": (deque[int](), self.priority_buckets), "btree": (deque[int](), 7),
            "moving": (deque[int](), _rounded(self.reserve)),
            "data": (deque[int](), _rounded(self.reserve)),
        }  # fmt: skip
        self.incoming, self.incoming_size = deque[int](), _rounded(4 * self.reserve)
        self.held: int | None = None
        self.is_filling = False
        self.available = buckets
        self.needs_gc = False
        self.until_gc = self.size * buckets // 16
        self.written_priorities: list[int] = []
        self.nodes: list[int] = []
        self.open = [_Open() for _ in range(128)]
        self.streams: dict[int, list[list[int]]] = {}
        self.tasks: dict[int, list[int]] = {}
        target = buckets * bucket_sectors * percent // 100
        self.cleaner = Cleaner(unit, target, delay, is_limited=percent > 0)
        self.dirty = self.cleaner.dirty
        self._start()

    def _start(self) -> None:
        journal = min(max(len(self.buckets) // 128, 2), 256)
        for bucket in self.buckets[: 1 + journal]:
            bucket.mark, bucket.priority = "metadata", _METADATA
        self.available -= 1 + journal
        for name in ("priority", "btree"):
            listed, limit = self.lists[name]
            while len(listed) < limit:
                listed.append(next(i for i in range(len(self.buckets)) if self._reusable(i)))
                self._invalidate(listed[-1])
        self._allocator()
        self._add_nodes()

    # Requests.

    def request(
        self, time: int, offset: int, write: bool = False, sectors: int = 8, task: int = 0
    ) -> bool:
        self.cleaner.run_until(time)
        units = [(task, offset + i) for i in range(0, sectors, self.unit)]
        bypass = self._bypasses(time, offset, sectors, write, task)
        if not bypass:
            self._grow_older(sectors)
        if write:
            is_hit = self._write(units, bypass, task)
        else:
            missed = self._lookup(units)
            is_hit = not missed
            if missed and not bypass:
                self._insert(missed, task, dirty=False)
        self.cleaner.request(time)
        return is_hit

    def _lookup(self, units: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Renew the priority of buckets that have data; return the first gap."""
        missed: list[tuple[int, int]] = []
        for unit in units:
            if unit in self.index:
                self.buckets[self.index[unit]].priority = _NEW
            elif not missed or missed[-1] == (unit[0], unit[1] - self.unit):
                missed.append(unit)
        return missed

    def _write(self, units: list[tuple[int, int]], bypass: bool, task: int) -> bool:
        found = not bypass and all(unit in self.index for unit in units)
        in_use = self.in_use()
        back = self.mode == "writeback" and not bypass
        back = back and in_use <= (70 if self.sync else 40)
        if bypass:
            for unit in units:
                self._remove(unit)
        else:
            self._insert(units, task, dirty=back)
        return found

    def _bypasses(self, time: int, offset: int, sectors: int, write: bool, task: int) -> bool:
        if self.in_use() > 95 or (write and self.mode == "writearound"):
            return True
        return self.cutoff > 0 and self._stream(time, offset, sectors, task) >= self.cutoff

    def _stream(self, time: int, offset: int, sectors: int, task: int) -> int:
        """Return the bytes of the stream, or the task's average if that is more."""
        streams = self.streams.setdefault(task, [])
        last = self.tasks.setdefault(task, [0, 0])  # average, stream of the last request
        for stream in reversed(streams):
            if stream[0] == offset and time < stream[1] + 5 * _SECOND:
                streams.remove(stream)
                break
        else:
            last[0] = (7 * last[0] + last[1]) // 8
            if len(streams) == 128:
                del streams[0]
            stream = [0, 0, 0]
        stream[0], stream[1] = offset + sectors, time
        stream[2] += 512 * sectors
        streams.append(stream)
        last[1] = stream[2]
        return max(last)

    def _grow_older(self, sectors: int) -> None:
        self.age -= sectors
        while self.age < 0:
            self.age += len(self.buckets) * self.size // 1024
            self.least = _METADATA
            for bucket in self.buckets:
                if 0 < bucket.priority < _METADATA and not bucket.pinned:
                    bucket.priority -= 1
                    self.least = min(self.least, bucket.priority)

    # The index.

    def _remove(self, unit: tuple[int, int]) -> None:
        bucket = self.index.pop(unit, None)
        if bucket is not None:
            self.buckets[bucket].live.remove(unit)
        self.cleaner.forget(unit)

    def discard(self, task: int, offset: int) -> None:
        self._remove((task, offset))

    def _insert(self, units: list[tuple[int, int]], task: int, dirty: bool) -> None:
        self.until_gc -= len(units) * self.unit
        if self.until_gc < 0:
            self.collect()
            self._add_nodes()
        while units:
            point = self._write_point(units[0][1], task)
            if point is None:
                for unit in units:
                    self._remove(unit)
                return
            fit = units[: point.free // self.unit]
            units = units[len(fit) :]
            bucket = self.buckets[point.bucket]
            if dirty:
                bucket.mark = "dirty"
            for unit in fit:
                self._remove(unit)
                self.index[unit] = point.bucket
                bucket.live.add(unit)
                bucket.filled += 1
                self.counts["written"] += 1
                if dirty:
                    self.dirty.add(unit)
            point.end, point.task = fit[-1][1] + self.unit, task
            point.free -= len(fit) * self.unit
            if point.free < self.unit:
                point.free = 0
                bucket.pinned = False

    def _write_point(self, start: int, task: int) -> _Open | None:
        """Return the point that ends at the start, the task's, or the least recent one."""
        mine = [point for point in self.open if point.task == task]
        ending = [point for point in mine if point.end == start]
        point = ending[-1] if ending else mine[0] if mine else self.open[0]
        if not point.free:
            bucket = self._allocate("data")
            if bucket is None:
                return None
            point.bucket, point.free = bucket, self.size
        self.open.remove(point)
        self.open.append(point)
        return point

    # Buckets.

    def in_use(self) -> int:
        return (len(self.buckets) - self.available) * 100 // len(self.buckets)

    def _allocate(self, purpose: str) -> int | None:
        if purpose == "data" and not self.lists["data"][0]:
            self._allocator()
        for name in ("data", purpose):
            if self.lists[name][0]:
                break
        else:
            return None
        number = self.lists[name][0].popleft()
        bucket = self.buckets[number]
        bucket.sectors = self.size
        bucket.mark = "clean" if purpose == "data" else "metadata"
        bucket.priority = _NEW if purpose == "data" else _METADATA
        self.available = max(0, self.available - 1)
        if purpose == "data":
            self._allocator()
        return number

    def _allocator(self) -> None:
        while True:
            while not self.is_filling and (self.held is not None or self.incoming):
                if self.held is None:
                    self.held = self.incoming.popleft()
                for name in ("priority", "btree", "moving", "data"):
                    if len(self.lists[name][0]) < self.lists[name][1]:
                        self.lists[name][0].append(self.held)
                        self.held = None
                        break
                else:
                    return
            self.is_filling = not self._fill_incoming()
            if self.is_filling:
                return
            self._write_priorities()

    def _fill_incoming(self) -> bool:
        self._invalidate_least()
        if len(self.incoming) < self.incoming_size:
            self.collect()
            self._invalidate_least()
        return len(self.incoming) == self.incoming_size

    def _write_priorities(self) -> None:
        before = self.written_priorities
        self.written_priorities = []
        for _ in range(self.priority_buckets):
            number = self._allocate("priority")
            assert number is not None
            self.buckets[number].pinned = False
            self.written_priorities.append(number)
            self.counts["priority writes"] += 1
        for number in before:
            self._free(number)

    def _free(self, number: int) -> None:
        bucket = self.buckets[number]
        bucket.mark, bucket.sectors = "", 0
        self.available = min(len(self.buckets), self.available + 1)

    def _reusable(self, number: int) -> bool:
        bucket = self.buckets[number]
        return not bucket.pinned and bucket.mark in ("", "clean")

    def _invalidate(self, number: int) -> None:
        bucket = self.buckets[number]
        bucket.priority, bucket.pinned, bucket.filled = _NEW, True, 0

    def _weight(self, number: int) -> int:
        bucket = self.buckets[number]
        base = (_NEW - self.least) // 8
        return (bucket.priority - self.least + base) * bucket.sectors % (1 << 32)

    def _invalidate_least(self) -> None:
        """Choose by weight; equal weights stay in the order of a heap of the kernel."""
        heap = _Heap({n: self._weight(n) for n in range(len(self.buckets)) if self._reusable(n)})
        for number in heap.weight:
            heap.offer(number, 8 * self.reserve)
        heap.turn()
        while heap.items and len(self.incoming) < self.incoming_size:
            number = heap.pop()
            self._drop_keys(number)
            self.incoming.append(number)

    def _drop_keys(self, number: int) -> None:
        for unit in list(self.buckets[number].live):
            self._remove(unit)
            self.counts["evicted"] += 1
        self._invalidate(number)

    def collect(self) -> None:
        """Collect garbage: count the live sectors of all buckets that are not open."""
        self.until_gc = self.size * len(self.buckets) // 16
        for bucket in self.buckets:
            if not bucket.pinned and bucket.mark != "metadata":
                bucket.mark, bucket.sectors = "", 0
        for bucket in self.buckets:
            if bucket.live and not bucket.pinned:
                bucket.sectors = self.unit * len(bucket.live)
            if bucket.live:
                is_dirty = bucket.live & self.dirty or (bucket.pinned and bucket.mark == "dirty")
                bucket.mark = "dirty" if is_dirty else "clean"
        self.available = sum(
            not bucket.pinned and bucket.mark in ("", "clean") for bucket in self.buckets
        )
        self.counts["collections"] += 1

    def _add_nodes(self) -> None:
        """Allocate nodes of the B-tree; the first two are its root and the uuids."""
        words, node = 24 * len(self.index), 512 * self.size
        wanted = 2 if 5 * words <= 4 * node else 3 + 10 * words // (7 * node)
        while len(self.nodes) < wanted:
            number = self._allocate("btree")
            if number is None:
                return
            self.buckets[number].pinned = False
            self.nodes.append(number)
            self._allocator()


def _rounded(size: int) -> int:
    return size if size <= 4 else (1 << (size - 1).bit_length()) - 1


class _Heap:
    """The numbers with the least weights; `up`: the greatest one is on top, else the least."""

    def __init__(self, weight: dict[int, int]) -> None:
        self.weight, self.up = weight, True
        self.items: list[int] = []

    def before(self, a: int, b: int) -> bool:
        x, y = self.weight[self.items[a]], self.weight[self.items[b]]
        return x > y if self.up else x < y

    def swap(self, a: int, b: int) -> None:
        self.items[a], self.items[b] = self.items[b], self.items[a]

    def offer(self, number: int, limit: int) -> None:
        if len(self.items) < limit:
            self.items.append(number)
            i = len(self.items) - 1
            while i and not self.before((i - 1) // 2, i):
                self.swap(i, (i - 1) // 2)
                i = (i - 1) // 2
            self.sink(i)
        elif self.weight[number] < self.weight[self.items[0]]:
            self.items[0] = number
            self.sink(0)

    def turn(self) -> None:
        self.up = False
        for i in reversed(range(len(self.items) // 2)):
            self.sink(i)

    def pop(self) -> int:
        self.swap(0, -1)
        number = self.items.pop()
        self.sink(0)
        return number

    def sink(self, i: int) -> None:
        while 2 * i + 1 < len(self.items):
            child = 2 * i + 1
            if child + 1 < len(self.items) and self.before(child + 1, child):
                child += 1
            if self.before(i, child):
                break
            self.swap(i, child)
            i = child
