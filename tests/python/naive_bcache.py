"""bcache, rule by rule: one request in flight, work in the background settled.

Trusts: the hits of Linux 6.1.176, within 1 % (experiment/test_bcache.py).
"""

from __future__ import annotations

from collections import Counter, deque

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
        self.sync, self.percent = sync, percent
        self.buckets = [_Bucket() for _ in range(buckets)]
        self.index: dict[tuple[int, int], int] = {}
        self.dirty = set[tuple[int, int]]()
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
        self.available = buckets
        self.needs_gc = False
        self.until_gc = self.size * buckets // 16
        self.written_priorities: list[int] = []
        self.nodes: list[int] = []
        self.open = [_Open() for _ in range(128)]
        self.streams: dict[int, list[list[int]]] = {}
        self.tasks: dict[int, list[int]] = {}
        self.cleaner = _Cleaner(self, buckets * bucket_sectors * percent // 100, delay)
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
        for _ in range(2):  # the root and the uuids
            self._add_node()

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
        self.dirty.discard(unit)
        self.cleaner.batch.pop(unit, None)

    def discard(self, task: int, offset: int) -> None:
        self._remove((task, offset))

    def _insert(self, units: list[tuple[int, int]], task: int, dirty: bool) -> None:
        self.until_gc -= len(units) * self.unit
        if self.until_gc < 0:
            self.collect()
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
            while self.held is not None or self.incoming:
                if self.held is None:
                    self.held = self.incoming.popleft()
                for name in ("priority", "btree", "moving", "data"):
                    if len(self.lists[name][0]) < self.lists[name][1]:
                        self.lists[name][0].append(self.held)
                        self.held = None
                        break
                else:
                    return
            if not self._fill_incoming():
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

    def _add_node(self) -> None:
        number = self._allocate("btree")
        if number is not None:
            self.buckets[number].pinned = False
            self.nodes.append(number)
        self._allocator()

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
        heap: list[int] = []
        weight = {n: self._weight(n) for n in range(len(self.buckets)) if self._reusable(n)}
        for number in weight:
            if len(heap) < 8 * self.reserve:
                heap.append(number)
                _raise(heap, len(heap) - 1, lambda a, b: weight[a] < weight[b])
            elif weight[number] < weight[heap[0]]:
                heap[0] = number
                _sink(heap, 0, lambda a, b: weight[a] < weight[b])
        for i in reversed(range(len(heap) // 2)):
            _sink(heap, i, lambda a, b: weight[a] > weight[b])
        while heap and len(self.incoming) < self.incoming_size:
            heap[0], heap[-1] = heap[-1], heap[0]
            number = heap.pop()
            _sink(heap, 0, lambda a, b: weight[a] > weight[b])
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
        while len(self.nodes) < 1 + self._wanted_nodes():
            before = len(self.nodes)
            self._add_node()
            if len(self.nodes) == before:
                break

    def _wanted_nodes(self) -> int:
        share = 24 * len(self.index) / (512 * self.size)
        return 1 if share <= 0.8 else 2 + int(share / 0.7)


class _Cleaner:
    """The controller of write-back. `batch`: units in the order of their addresses."""

    def __init__(self, cache: NaiveBcache, target: int, delay: int) -> None:
        self.cache, self.target, self.delay = cache, target, delay
        self.batch: dict[tuple[int, int], None] = {}
        self.is_whole = False
        self.cursor = (0, 0)
        self.rate, self.integral, self.quiet = 1024, 0, 0
        self.is_full_rate = False
        self.next_write: int | None = None
        self.next_round = 5 * _SECOND

    def request(self, time: int) -> None:
        """Note a request, after it was served."""
        self.quiet = 0
        if self.is_full_rate:
            self.is_full_rate, self.rate = False, 8
        if self.cache.dirty and self.next_write is None:
            self.next_write = time

    def run_until(self, time: int) -> None:
        while True:
            if self.next_round <= time and (
                self.next_write is None or self.next_round <= self.next_write
            ):
                self._round()
            elif self.next_write is not None and self.next_write <= time:
                self._write(self.next_write)
            else:
                return

    def _round(self) -> None:
        self.next_round += 5 * _SECOND
        if not self.cache.dirty or self.cache.percent == 0:
            return
        self.quiet += 1
        if self.quiet >= 6:
            self.is_full_rate = True
            return
        error = self.cache.unit * len(self.cache.dirty) - self.target
        if error > 0 or self.integral > 0:
            self.integral += 5 * error
        self.rate = max(8, int(error / 40) + int(self.integral / 10_000))

    def _write(self, time: int) -> None:
        if not self.batch:
            self._collect_batch()
        if not self.batch:
            self.next_write = None
            return
        unit = next(iter(self.batch))
        del self.batch[unit]
        self.cache.dirty.remove(unit)
        self.cache.counts["write-backs"] += 1
        self.next_write = time
        if self.cache.percent > 0 and not self.is_full_rate:
            self.next_write += self.cache.unit * _SECOND // self.rate
        if not self.batch and self.is_whole:
            self.next_write = max(self.next_write, time + self.delay)

    def _collect_batch(self) -> None:
        """Take the next 500 dirty units in the order of addresses, from the cursor on."""
        ordered = sorted(self.cache.dirty)
        ordered = [unit for unit in ordered if unit >= self.cursor] + [
            unit for unit in ordered if unit < self.cursor
        ]
        self.batch = dict.fromkeys(ordered[:500])
        self.is_whole = len(ordered) <= 500
        if ordered:
            self.cursor = (ordered[:500][-1][0], ordered[:500][-1][1] + 1)


def _rounded(size: int) -> int:
    return size if size <= 4 else (1 << (size - 1).bit_length()) - 1


def _raise(heap, i, before) -> None:  # type: ignore[no-untyped-def]
    while i and not before(heap[i], heap[(i - 1) // 2]):
        parent = (i - 1) // 2
        heap[i], heap[parent] = heap[parent], heap[i]
        i = parent
    _sink(heap, i, before)


def _sink(heap, i, before) -> None:  # type: ignore[no-untyped-def]
    while 2 * i + 1 < len(heap):
        child = 2 * i + 1
        if child + 1 < len(heap) and before(heap[child], heap[child + 1]):
            child += 1
        if before(heap[child], heap[i]):
            break
        heap[i], heap[child] = heap[child], heap[i]
        i = child
