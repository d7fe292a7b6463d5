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
        while not seen and self.bytes_of(self.t1, self.b1) + size > self.capacity:
            if self.b1:
                self.forget(self.b1)
            else:
                self.remove(self.t1[0])
        self.room_for(size)
        most = 2 * self.capacity - size
        while self.b2 and self.bytes_of(self.t1, self.t2, self.b1, self.b2) > most:
            self.forget(self.b2)
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
