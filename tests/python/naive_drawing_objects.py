"""Naive caches in bytes under policies that draw random numbers, with the generator of the core."""

from __future__ import annotations

import math

from tests.python.naive_objects import Twin

_MASK = (1 << 64) - 1


def _mixed(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def _rotated(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & _MASK


class Random:
    """xoshiro256** (Blackman and Vigna, 2018), as a component of seed 1 draws from it."""

    def __init__(self, component: str) -> None:
        seed = _mixed(1)
        for letter in component:
            seed = _mixed(seed ^ ord(letter))
        self.state = [_mixed(seed + i) for i in range(4)]

    def word(self) -> int:
        s = self.state
        result = (_rotated((s[1] * 5) & _MASK, 7) * 9) & _MASK
        shifted = (s[1] << 17) & _MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = _rotated(s[3], 45)
        return result

    def uniform(self) -> float:
        return (self.word() >> 11) * 2.0**-53

    def below(self, bound: int) -> int:
        return (self.word() * bound) >> 64


class Hyperbolic(Twin):
    """Five objects are drawn; the last member takes the number of one that leaves."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.random = Random("hyperbolic")
        self.members: list[int] = []
        self.uses: dict[int, int] = {}
        self.came: dict[int, int] = {}
        self.time = 0

    def hit(self, key: int) -> None:
        self.time += 1
        self.uses[key] += 1

    def miss(self, key: int, size: int) -> None:
        self.time += 1
        self.room_for(size)
        self.sizes[key] = size
        self.members.append(key)
        self.uses[key], self.came[key] = 1, self.time

    def remove(self, key: int) -> None:
        super().remove(key)
        self.members[self.members.index(key)] = self.members[-1]
        self.members.pop()

    def priority(self, key: int) -> float:
        return self.uses[key] / ((self.time - self.came[key]) * self.sizes[key])

    def evict(self) -> None:
        drawn = [self.members[self.random.below(len(self.members))] for _ in range(5)]
        self.remove(min(drawn, key=self.priority))


class Experts:
    """Two experts with weights that sum to 1; a loss multiplies a weight by e^-loss."""

    def __init__(self, component: str) -> None:
        self.random = Random(component)
        self.first = 0.5

    def choose_first(self) -> bool:
        return self.random.uniform() < self.first

    def penalize(self, first: bool, loss: float) -> None:
        kept = math.exp(-loss)
        one = self.first * kept if first else self.first
        other = 1 - self.first if first else (1 - self.first) * kept
        self.first = min(max(one / (one + other), 0.01), 0.99)


class LeCar(Twin):
    """`sizes` is in the order of use; the histories have the sizes of ghosts, the oldest first."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.experts = Experts("lecar")
        self.of_lru: dict[int, int] = {}
        self.of_lfu: dict[int, int] = {}
        self.uses: dict[int, int] = {}
        self.evicted: dict[int, int] = {}
        self.bytes = 0

    def hit(self, key: int) -> None:
        self.bytes += self.sizes[key]
        self.sizes[key] = self.sizes.pop(key)
        self.uses[key] += 1

    def miss(self, key: int, size: int) -> None:
        self.bytes += size
        by_lru = key in self.of_lru
        if by_lru or key in self.of_lfu:
            age = (self.bytes - self.evicted[key]) / self.capacity
            self.experts.penalize(by_lru, 0.45 * 0.005**age)
            del (self.of_lru if by_lru else self.of_lfu)[key]
        else:
            self.uses[key] = 0
        self.room_for(size)
        self.sizes[key] = size
        self.uses[key] += 1

    def evict(self) -> None:
        lru = next(iter(self.sizes))
        lfu = min(self.sizes, key=lambda key: self.uses[key])
        by_lru = self.experts.choose_first()
        victim = lru if by_lru else lfu
        size = self.sizes.pop(victim)
        most = self.capacity // 2
        if lru == lfu or size > most:
            return
        history = self.of_lru if by_lru else self.of_lfu
        while sum(history.values()) + size > most:
            del history[next(iter(history))]
        history[victim] = size
        self.evicted[victim] = self.bytes


class Cacheus(Twin):
    """`s`, `q` and the histories have the oldest first; `new` has the keys not hit since Q."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.experts = Experts("cacheus")
        self.s: list[int] = []
        self.q: list[int] = []
        self.of_lru: dict[int, int] = {}
        self.of_lfu: dict[int, int] = {}
        self.demoted: set[int] = set()
        self.new: set[int] = set()
        self.rank: dict[int, tuple[int, int]] = {}  # uses, and the last one with a minus sign
        self.most_s = max(0, capacity - max(1, int(0.01 * capacity + 0.5)))
        self.rate = self.rate_before = self.hit_rate_before = self.first_rate = 0.0
        self.accesses = self.hits = self.bytes = self.idle = 0

    def bytes_of(self, keys: list[int]) -> int:
        return sum(self.sizes[key] for key in keys)

    def remove(self, key: int) -> None:
        super().remove(key)
        (self.s if key in self.s else self.q).remove(key)
        self.demoted.discard(key)

    def learn(self, size: int) -> None:
        self.accesses += 1
        self.bytes += size
        if self.bytes < self.capacity:
            return
        if self.first_rate == 0:
            objects = self.capacity * self.accesses / self.bytes
            self.rate = self.first_rate = math.sqrt(2 * math.log(2) / objects)
        hit_rate = self.hits / self.accesses
        gain, move = hit_rate - self.hit_rate_before, self.rate - self.rate_before
        self.rate_before, self.hit_rate_before = self.rate, hit_rate
        self.accesses = self.hits = self.bytes = 0
        if move != 0:
            by = abs(self.rate * move)
            self.rate = min(max(self.rate + (by if gain * move > 0 else -by), 0.001), 1.0)
            self.idle = 0
        elif hit_rate == 0 or gain <= 0:
            self.idle += 1
            if self.idle == 10:
                self.rate, self.idle = min(max(self.first_rate, 0.001), 1.0), 0

    def step(self, *, s_grows: bool, size: int) -> int:
        new, demoted = sum(key in self.new for key in self.of_lru), len(self.demoted)
        more, less = (new, demoted) if s_grows else (demoted, new)
        return max(1, int(more / max(1, less) + 0.5)) * size

    def hit(self, key: int) -> None:
        size = self.sizes[key]
        self.learn(size)
        self.hits += 1
        self.rank[key] = (self.rank[key][0] + 1, -self.now)
        self.new.discard(key)
        if key in self.s:
            self.s.remove(key)
        else:
            if key in self.demoted:
                step = self.step(s_grows=True, size=size)
                self.most_s = min(self.capacity - size, self.most_s + step)
            self.demoted.discard(key)
            self.q.remove(key)
            self.shrink_s(self.most_s - size)
        self.s.append(key)

    def miss(self, key: int, size: int) -> None:
        self.learn(size)
        if key in self.of_lru or key in self.of_lfu:
            self.come_back(key, size)
            return
        fills_s = self.bytes_of(self.s) + size <= self.most_s and not self.q
        fits = sum(self.sizes.values()) + size <= self.capacity
        fills_q = fits and self.bytes_of(self.q) + size <= self.capacity - self.most_s
        self.room_for(size)
        self.sizes[key] = size
        self.rank[key] = (1, -self.now)
        (self.s if fills_s else self.q).append(key)
        self.new.discard(key)
        if not (fills_s or fills_q):
            self.new.add(key)
            self.shrink_s(self.most_s - 1)

    def come_back(self, key: int, size: int) -> None:
        by_lru = key in self.of_lru
        del (self.of_lru if by_lru else self.of_lfu)[key]
        if by_lru and key in self.new:
            most_q = self.capacity - self.most_s + self.step(s_grows=False, size=size)
            self.most_s = self.capacity - min(self.capacity - size, most_q)
        self.experts.penalize(by_lru, self.rate)
        self.room_for(size)
        self.sizes[key] = size
        self.rank[key] = (self.rank[key][0] + 1, -self.now)
        self.new.discard(key)
        self.s.append(key)
        self.shrink_s(self.most_s - 1)

    def shrink_s(self, most: int) -> None:
        while self.s and self.bytes_of(self.s) > most:
            self.demoted.add(self.s[0])
            self.q.append(self.s.pop(0))

    def evict(self) -> None:
        lru = (self.q or self.s)[0]
        lfu = min(self.sizes, key=lambda key: self.rank[key])
        by_lru = self.experts.choose_first()
        victim = lru if by_lru else lfu
        size = self.sizes[victim]
        self.remove(victim)
        most = self.capacity // 2
        if lru == lfu or size > most:
            return
        history = self.of_lru if by_lru else self.of_lfu
        while sum(history.values()) + size > most:
            del history[next(iter(history))]
        history[victim] = size
