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
    """Least frequently used; mcsim breaks ties by least recently used."""

    def priority(self, accesses: Any, last: Any, inserted: Any, now: Any) -> Any:
        return accesses


class Hyperbolic(mc.PriorityPolicy):
    """Fewest accesses per time in the cache; the priority falls over time."""

    refresh = 1000

    def priority(self, accesses: Any, last: Any, inserted: Any, now: Any) -> Any:
        return accesses / (now + 1 - inserted)


class Clock(mc.Policy):
    """Second chance: a rotating hand unmarks marked blocks and evicts unmarked ones."""

    def __init__(self, ahead: int = 1) -> None:
        self.ahead = ahead

    def start(self, capacity: int, seed: int) -> None:
        self.marked = np.zeros(capacity, np.bool_)
        self.hand = 0

    def accessed(self, slots: Any, blocks: Any, hits: Any) -> None:
        self.marked[slots] = hits  # for a repeated slot the last value counts

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
                break  # after one round, so that no slot is chosen twice
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
