"""Naive caches in bytes under policies that choose among samples, with the draws of the core."""

from __future__ import annotations

import numpy as np
from tests.python.naive_drawing_objects import Random
from tests.python.naive_objects import Twin


class Drawing(Twin):
    """`members` has the keys in the order of draws; the last one takes the place of a victim."""

    NAME = ""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.random = Random(self.NAME)
        self.members: list[int] = []
        self.accesses = 0

    def remove(self, key: int) -> None:
        super().remove(key)
        self.members[self.members.index(key)] = self.members[-1]
        self.members.pop()

    def drawn(self, count: int) -> list[int]:
        return [self.members[self.random.below(len(self.members))] for _ in range(count)]


class SampledLru(Drawing):
    """Redis, allkeys-lru: a second per access; `pool` has ranks and keys, the best one last."""

    NAME = "sampled-lru"

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.last: dict[int, int] = {}
        self.pool: list[tuple[int, int]] = []

    def rank(self, key: int) -> int:
        return self.accesses - self.last[key]

    def use(self, key: int) -> None:
        self.last[key] = self.accesses

    def hit(self, key: int) -> None:
        self.accesses += 1
        self.use(key)

    def miss(self, key: int, size: int) -> None:
        self.accesses += 1
        super().miss(key, size)

    def entered(self, key: int) -> None:
        self.members.append(key)
        self.use(key)

    def evict(self) -> None:
        for key in self.drawn(5):
            rank = self.rank(key)
            if len(self.pool) == 16:
                if self.pool[0][0] >= rank:
                    continue
                self.pool.pop(0)
            at = sum(other < rank for other, _ in self.pool)
            self.pool.insert(at, (rank, key))
        while self.pool:
            key = self.pool.pop()[1]
            if key in self.sizes:
                return self.remove(key)
        return self.evict()


class SampledLfu(SampledLru):
    """Redis, allkeys-lfu: a count of at most 255, less one for every minute without an access."""

    NAME = "sampled-lfu"

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.count: dict[int, int] = {}

    def decayed(self, key: int) -> int:
        return max(0, self.count[key] - (self.accesses // 60 - self.last[key] // 60))

    def rank(self, key: int) -> int:
        return 255 - self.decayed(key)

    def hit(self, key: int) -> None:
        self.accesses += 1
        self.count[key] = self.decayed(key)
        if self.random.uniform() < 1 / (max(0, self.count[key] - 5) * 10 + 1):
            self.count[key] += 1
        self.use(key)

    def entered(self, key: int) -> None:
        super().entered(key)
        self.count[key] = 5


class Lhd(Drawing):
    """The program of the authors with 32 ages and updates every 40 accesses."""

    NAME = "lhd"
    AGES, PERIOD, CLASSES = 32, 40, 16

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        ages = np.arange(1, self.AGES + 1, dtype=np.float32)
        first = np.arange(17, 17 + self.CLASSES, dtype=np.float32)
        self.densities = first[:, None] / ages
        self.hits = np.zeros_like(self.densities)
        self.evictions = np.zeros_like(self.densities)
        self.time: dict[int, int] = {}
        self.hit_ages: dict[int, tuple[int, int]] = {}  # the last one, and the one before
        self.explorers: dict[int, int] = {}  # and their sizes
        self.budget = capacity // 100
        self.recent: list[int | None] = [None] * 8
        self.admitted = self.updates = 0
        self.shift = 10
        self.victims = self.objects = self.mass = np.float32(0)

    def age(self, key: int) -> int:
        return min(self.AGES - 1, (self.accesses - self.time[key]) >> self.shift)

    def class_of(self, key: int) -> int:
        age, log = sum(self.hit_ages[key]), 0
        if age == 0:
            return self.CLASSES - 1
        while age < self.AGES and log < self.CLASSES - 1:
            age, log = 2 * age, log + 1
        return log

    def density(self, key: int) -> np.float32:
        age = self.age(key)
        if age == self.AGES - 1:
            return np.finfo(np.float32).min
        density = self.densities[self.class_of(key), age] / np.float32(self.sizes[key])
        return density + np.float32(1) if key in self.explorers else density

    def remove(self, key: int) -> None:
        super().remove(key)
        self.budget += self.explorers.pop(key, 0)
        self.recent = [None if other == key else other for other in self.recent]

    def evict(self) -> None:
        offered = self.drawn(8)
        offered += [key for key in self.recent if key is not None]
        victim = min(offered, key=self.density)
        kept = np.float32(0.9)
        self.victims = kept * self.victims + (np.float32(1) - kept) * self.density(victim)
        self.evictions[self.class_of(victim), self.age(victim)] += 1
        self.remove(victim)

    def hit(self, key: int) -> None:
        age = self.age(key)
        self.hits[self.class_of(key), age] += 1
        self.budget += self.explorers.pop(key, 0)
        self.hit_ages[key] = (age, self.hit_ages[key][0])
        self.update(key, is_new=False)

    def entered(self, key: int) -> None:
        self.members.append(key)
        self.hit_ages[key] = (0, self.AGES)
        self.update(key, is_new=True)

    def update(self, key: int, *, is_new: bool) -> None:
        self.time[key] = self.accesses
        explores = self.random.word() % 32 == 0
        if explores and self.budget > 0 and self.updates < 50:
            self.explorers[key] = self.sizes[key]
            self.budget -= self.sizes[key]
        if is_new and not explores and self.density(key) < self.victims:
            self.recent[self.admitted % 8] = key
            self.admitted += 1
        self.accesses += 1
        if self.accesses % self.PERIOD == 0:
            self.reconfigure()

    def reconfigure(self) -> None:
        kept = np.float32(0.9)
        self.hits *= kept
        self.evictions *= kept
        self.objects = self.objects * kept + np.float32(len(self.sizes))
        self.mass = self.mass * kept + np.float32(1)
        if self.updates in (5, 25):
            self.coarsen()
            self.objects *= np.float32(8)
            self.mass *= np.float32(8)
        self.updates += 1
        for of in range(self.CLASSES):
            hits = np.cumsum(self.hits[of, ::-1], dtype=np.float32)[::-1]
            events = self.evictions[of, -1] + self.hits[of, -1]
            lifetime = events
            for age in range(self.AGES - 2, -1, -1):
                events += self.hits[of, age] + self.evictions[of, age]
                lifetime += events
                has_events = events > np.float32(1e-5)
                self.densities[of, age] = hits[age] / lifetime if has_events else 0

    def coarsen(self) -> None:
        wanted = self.objects / self.mass / (np.float32(0.01) * np.float32(self.AGES))
        shift = 1
        while 1 << shift < wanted:
            shift += 1
        by = shift - self.shift
        self.shift = shift
        self.hits, self.evictions = (
            np.array([self.rescaled(old, by) for old in counts])
            for counts in (self.hits, self.evictions)
        )

    def rescaled(self, old: np.ndarray, by: int) -> np.ndarray:
        counts = np.zeros_like(old)
        if by >= 0:
            for age in range(self.AGES >> by << by if by else self.AGES):
                counts[age >> by] += old[age]
            if by:
                counts[-1] = old[-1]
            return counts
        counts[-1] = old[-1]
        for age in range(self.AGES >> -by, self.AGES - 1):
            counts[-1] += old[age]
        for age in range(self.AGES - 1):
            counts[age] = old[age >> -by] / np.float32(1 << -by)
        return counts
