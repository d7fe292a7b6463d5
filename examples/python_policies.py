"""Eviction policies in Python, compared with the built-in ones: `python python_policies.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import mcsim as mc


class Lru(mc.PriorityPolicy):
    """Least recently used: the priority of a block is the time of its last access."""

    def priority(self, accesses: Any, last: Any, inserted: Any, now: Any) -> Any:
        return last


class Fifo(mc.PriorityPolicy):
    """First in, first out."""

    def priority(self, accesses: Any, last: Any, inserted: Any, now: Any) -> Any:
        return inserted


class Lfu(mc.PriorityPolicy):
    """Least frequently used; of equals mcsim takes the least recently used."""

    def priority(self, accesses: Any, last: Any, inserted: Any, now: Any) -> Any:
        return accesses


class Hyperbolic(mc.PriorityPolicy):
    """Least frequently used for its time in the cache: falls as time goes by."""

    refresh = 1000

    def priority(self, accesses: Any, last: Any, inserted: Any, now: Any) -> Any:
        return accesses / (now + 1 - inserted)


class Clock(mc.Policy):
    """Second chance: a hand goes round, unmarks what is marked and evicts what is not."""

    def __init__(self, ahead: int = 1) -> None:
        self.ahead = ahead

    def start(self, capacity: int, seed: int) -> None:
        self.marked = np.zeros(capacity, np.bool_)
        self.hand = 0

    def accessed(self, slots: Any, blocks: Any, hits: Any) -> None:
        self.marked[slots] = hits  # of a slot that comes several times the last one counts

    def victims(self, count: int) -> Any:
        chosen: list[Any] = []
        wanted = count
        while wanted > 0:
            window = self.marked[self.hand : self.hand + 4 * wanted]
            found = np.flatnonzero(~window)[:wanted]
            passed = found[-1] + 1 if len(found) == wanted else len(window)
            chosen.append(self.hand + found)
            window[:passed] = False
            wanted -= len(found)
            self.hand = (self.hand + passed) % len(self.marked)
            if self.hand == 0 and wanted < count:
                break  # once around, so that none is chosen twice
        return np.concatenate(chosen)


def main() -> None:
    rng = np.random.default_rng(1)
    trace = (20_000 * rng.random(500_000) ** 4).astype(np.int64)
    policies = [Lru, "lru", Fifo, "fifo", Lfu, "lfu", Hyperbolic, "hyperbolic", Clock(100), "clock"]
    for row in mc.simulate(trace, policies, [1000]):
        rate = row.accesses / row.seconds / 1e6
        print(f"{row.policy:<12}{row.hit_ratio:.4f}   {rate:5.1f} M accesses/s")


if __name__ == "__main__":
    main()
