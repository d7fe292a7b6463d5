"""Naive caches in bytes: lists of keys and their sizes, searched from end to end."""

from __future__ import annotations


class Twin:
    """A cache of objects: `sizes` has the resident ones, in the order of their insertion."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.sizes: dict[int, int] = {}
        self.now = 0

    def access(self, key: int, size: int) -> bool:
        self.now += 1
        if key in self.sizes:
            if size > self.capacity:
                self.remove(key)
                return True
            self.sizes[key] = size
            self.hit(key)
            return True
        if size <= self.capacity:
            self.miss(key, size)
        return False

    def room_for(self, size: int) -> None:
        while sum(self.sizes.values()) + size > self.capacity:
            self.evict()

    def miss(self, key: int, size: int) -> None:
        self.room_for(size)
        self.sizes[key] = size
        self.entered(key)

    def remove(self, key: int) -> None:
        del self.sizes[key]

    def hit(self, key: int) -> None: ...
    def entered(self, key: int) -> None: ...
    def evict(self) -> None:
        self.remove(next(iter(self.sizes)))


class Arc(Twin):
    """T1, T2, B1 and B2 are lists of keys, the oldest first; `ghosts` has the sizes of B1, B2."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.t1: list[int] = []
        self.t2: list[int] = []
        self.b1: list[int] = []
        self.b2: list[int] = []
        self.ghosts: dict[int, int] = {}
        self.target = 0.0
        self.hit_in_b2 = False

    def bytes_of(self, *lists: list[int]) -> int:
        known = self.sizes | self.ghosts
        return sum(known[key] for keys in lists for key in keys)

    def remove(self, key: int) -> None:
        super().remove(key)
        (self.t1 if key in self.t1 else self.t2).remove(key)

    def forget(self, ghosts: list[int]) -> None:
        del self.ghosts[ghosts.pop(0)]

    def hit(self, key: int) -> None:
        (self.t1 if key in self.t1 else self.t2).remove(key)
        self.t2.append(key)

    def miss(self, key: int, size: int) -> None:
        seen = key in self.ghosts
        self.hit_in_b2 = key in self.b2
        if seen:
            own, other = (self.b2, self.b1) if self.hit_in_b2 else (self.b1, self.b2)
            step = size * max(1.0, self.bytes_of(other) / self.bytes_of(own))
            moved = self.target + (-step if self.hit_in_b2 else step)
            self.target = min(max(moved, 0.0), float(self.capacity))
            own.remove(key)
            del self.ghosts[key]
            self.room_for(size)
        while not seen and self.bytes_of(self.t1, self.b1) + size > self.capacity:
            if self.b1:
                self.forget(self.b1)
            else:
                self.remove(self.t1[0])
        most = 2 * self.capacity - size
        while self.b2 and self.bytes_of(self.t1, self.t2, self.b1, self.b2) > most:
            self.forget(self.b2)
        self.room_for(size)
        self.sizes[key] = size
        (self.t2 if seen else self.t1).append(key)

    def evict(self) -> None:
        new = self.bytes_of(self.t1)
        above = new > self.target or (self.hit_in_b2 and new == self.target)
        from_t1 = bool(self.t1) and (above or not self.t2)
        victim = (self.t1 if from_t1 else self.t2)[0]
        self.ghosts[victim] = self.sizes[victim]
        self.remove(victim)
        (self.b1 if from_t1 else self.b2).append(victim)


class LruK(Twin):
    """LRU-2: `times` has the last two accesses of resident objects and ghosts, 0 for none."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.times: dict[int, tuple[int, int]] = {}
        self.ghosts: dict[int, int] = {}

    def hit(self, key: int) -> None:
        self.times[key] = (self.now, self.times[key][0])

    def miss(self, key: int, size: int) -> None:
        self.room_for(size)
        self.ghosts.pop(key, None)
        self.sizes[key] = size
        self.times[key] = (self.now, self.times.get(key, (0, 0))[0])

    def remove(self, key: int) -> None:
        super().remove(key)
        del self.times[key]

    def evict(self) -> None:
        victim = min(self.sizes, key=lambda key: (self.times[key][1], self.times[key][0]))
        self.ghosts[victim] = self.sizes.pop(victim)
        while sum(self.ghosts.values()) > self.capacity:
            oldest = next(iter(self.ghosts))
            del self.ghosts[oldest], self.times[oldest]


class Lirs(Twin):
    """`stack` is S and `queue` is Q, both with the oldest first; `ghosts` has sizes of ghosts."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.stack: list[int] = []
        self.queue: list[int] = []
        self.lir: set[int] = set()
        self.ghosts: dict[int, int] = {}
        self.last = -1
        hir = min(max(2, int(0.05 * capacity)), max(1, capacity - 1))
        self.most_lir = capacity - hir

    def lir_bytes(self) -> int:
        return sum(self.sizes[key] for key in self.lir)

    def remove(self, key: int) -> None:
        super().remove(key)
        for keys in (self.stack, self.queue):
            if key in keys:
                keys.remove(key)
        self.lir.discard(key)
        self.prune()

    def hit(self, key: int) -> None:
        if key == self.last:
            return
        self.last = key
        stacked = key in self.stack
        if stacked:
            self.stack.remove(key)
        self.stack.append(key)
        if key not in self.lir:
            self.queue.remove(key)
            if stacked:
                self.make_lir(key)
            else:
                self.queue.append(key)
        self.limit_stack()

    def miss(self, key: int, size: int) -> None:
        self.last = key
        self.room_for(size)
        stacked = key in self.ghosts
        if stacked:
            self.stack.remove(key)
            del self.ghosts[key]
        self.sizes[key] = size
        self.stack.append(key)
        if stacked or self.lir_bytes() + size <= self.most_lir:
            self.make_lir(key)
        else:
            self.queue.append(key)
        self.limit_stack()

    def make_lir(self, key: int) -> None:
        self.lir.add(key)
        while self.lir_bytes() > self.most_lir:
            self.demote()

    def demote(self) -> None:
        lowest = self.stack.pop(0)
        self.lir.remove(lowest)
        self.queue.append(lowest)
        self.prune()

    def prune(self) -> None:
        while self.stack and self.stack[0] not in self.lir:
            self.ghosts.pop(self.stack.pop(0), None)

    def limit_stack(self) -> None:
        self.prune()
        known = self.sizes | self.ghosts
        while sum(known[key] for key in self.stack) > 5 * self.capacity:
            others = [key for key in self.stack if key not in self.lir]
            if not others:
                return
            self.stack.remove(others[0])
            self.ghosts.pop(others[0], None)

    def evict(self) -> None:
        if not self.queue:
            self.demote()
        victim = self.queue.pop(0)
        if victim in self.stack:
            self.ghosts[victim] = self.sizes[victim]
        del self.sizes[victim]


class QdLpFifo(Twin):
    """`new` is the small FIFO and `main` the CLOCK, both with the oldest first."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.new: list[int] = []
        self.main: list[int] = []
        self.uses: dict[int, int] = {}
        self.ghosts: dict[int, int] = {}
        self.most_main = capacity - min(capacity, max(1, capacity // 10))

    def remove(self, key: int) -> None:
        super().remove(key)
        (self.new if key in self.new else self.main).remove(key)

    def hit(self, key: int) -> None:
        self.uses[key] = min(3, self.uses[key] + 1)

    def miss(self, key: int, size: int) -> None:
        known = self.ghosts.pop(key, None) is not None
        self.room_for(size)
        self.sizes[key] = size
        self.uses[key] = 0
        if known and size <= self.most_main:
            self.promote(key)
        else:
            self.new.append(key)

    def promote(self, key: int) -> None:
        while sum(self.sizes[other] for other in [*self.main, key]) > self.most_main:
            self.evict_main()
        self.main.append(key)
        self.uses[key] = 0

    def evict(self) -> None:
        if not self.new:
            return self.evict_main()
        oldest, most = self.new[0], self.capacity * 9 // 10
        size = self.sizes[oldest]
        if self.uses[oldest] > 0 and size <= self.most_main:
            return self.promote(self.new.pop(0))
        self.remove(oldest)
        if size <= most:
            while sum(self.ghosts.values()) + size > most:
                del self.ghosts[next(iter(self.ghosts))]
            self.ghosts[oldest] = size
        return None

    def evict_main(self) -> None:
        while self.uses[self.main[0]] > 0:
            self.uses[self.main[0]] -= 1
            self.main.append(self.main.pop(0))
        self.remove(self.main[0])


class FoyerS3Fifo(Twin):
    """`names` has ghosts and their sizes, the oldest first; an accessed ghost stays one."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.new: list[int] = []
        self.main: list[int] = []
        self.names: dict[int, int] = {}
        self.uses: dict[int, int] = {}

    def hit(self, key: int) -> None:
        self.uses[key] = min(3, self.uses[key] + 1)

    def entered(self, key: int) -> None:
        self.uses[key] = 0
        (self.main if key in self.names else self.new).append(key)

    def leave(self, key: int) -> None:
        (self.new if key in self.new else self.main).remove(key)
        super().remove(key)

    def remove(self, key: int) -> None:
        self.names.pop(key, None)
        self.leave(key)

    def evict(self) -> None:
        if sum(self.sizes[key] for key in self.new) > self.capacity // 10:
            while self.new:
                oldest = self.new[0]
                if self.uses[oldest] < 2:
                    self.remember(oldest)
                    return self.leave(oldest)
                self.main.append(self.new.pop(0))
        while self.main and self.uses[self.main[0]] > 0:
            self.uses[self.main[0]] -= 1
            self.main.append(self.main.pop(0))
        return self.leave((self.main or self.new)[0])

    def remember(self, key: int) -> None:
        while self.names and sum(self.names.values()) + self.sizes[key] > self.capacity:
            del self.names[next(iter(self.names))]
        self.names[key] = self.sizes[key]


class WTinyLfu(Twin):
    """Three lists, the oldest first, and exact counts in place of a sketch."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.window: list[int] = []
        self.probation: list[int] = []
        self.protected: list[int] = []
        self.most_window = max(1, min(int(0.01 * capacity), capacity - 1))
        self.most_protected = max(1, int(0.8 * (capacity - self.most_window)))
        self.counts: dict[int, int] = {}
        self.counted = 0

    def bytes_of(self, keys: list[int]) -> int:
        return sum(self.sizes[key] for key in keys)

    def remove(self, key: int) -> None:
        super().remove(key)
        for keys in (self.window, self.probation, self.protected):
            if key in keys:
                keys.remove(key)

    def count(self, key: int, size: int) -> None:
        if self.counts.get(key, 0) == 15:
            return
        self.counts[key] = self.counts.get(key, 0) + 1
        self.counted += size
        if self.counted >= 10 * self.capacity:
            self.counted = 5 * self.capacity
            self.counts = {key: count // 2 for key, count in self.counts.items()}

    def wins(self, candidate: int, victim: int) -> bool:
        return self.counts[candidate] > self.counts[victim]

    def hit(self, key: int) -> None:
        self.count(key, self.sizes[key])
        if key in self.window:
            self.window.remove(key)
            self.window.append(key)
            return
        (self.probation if key in self.probation else self.protected).remove(key)
        self.protected.append(key)
        while self.bytes_of(self.protected) > self.most_protected:
            self.probation.append(self.protected.pop(0))

    def miss(self, key: int, size: int) -> None:
        self.count(key, size)
        large = size > self.most_window
        main = self.probation or self.protected
        full = sum(self.sizes.values()) + size > self.capacity
        if full and large and main and not self.wins(key, main[0]):
            return
        while sum(self.sizes.values()) + size > self.capacity:
            self.compete(0 if large else size)
        self.sizes[key] = size
        (self.probation if large else self.window).append(key)
        while self.bytes_of(self.window) > self.most_window:
            self.probation.append(self.window.pop(0))

    def compete(self, entering: int) -> None:
        main = self.probation or self.protected
        loser = (main or self.window)[0]
        if main and entering and self.bytes_of(self.window) + entering > self.most_window:
            candidate = self.window[0]
            if self.wins(candidate, loser):
                self.probation.append(self.window.pop(0))
            else:
                loser = candidate
        self.remove(loser)
