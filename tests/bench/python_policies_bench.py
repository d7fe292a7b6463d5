"""Speed of eviction policies in Python, and of the built-in ones.

    python tests/bench/python_policies_bench.py [ACCESSES | FILE]

replays a Zipf stream (exponent 1 over a million blocks), or a file of 64-bit keys, through caches
of 200,000 blocks, one at a time, and prints the CPU time of each as accesses per second, the best
of three. The policies are those of `examples/python_policies.py`, and LRU of two more kinds.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

import mcsim as mc

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from python_policies import Clock, Fifo, Hyperbolic, Lfu, Lru

CAPACITY = 200_000
ROUNDS = 3


class OrderedLru(mc.Policy):
    """Python's own structures, one access at a time."""

    def start(self, capacity: int, seed: int) -> None:
        self.order: OrderedDict[int, None] = OrderedDict()

    def accessed(self, slots: Any, blocks: Any, hits: Any) -> None:
        for slot in slots.tolist():
            self.order[slot] = None
            self.order.move_to_end(slot)

    def victims(self, count: int) -> int:
        return self.order.popitem(last=False)[0]


class ArrayLru(mc.Policy):
    """Times by slot; the oldest are sought for many misses together."""

    ahead = 2000

    def start(self, capacity: int, seed: int) -> None:
        self.last = np.zeros(capacity, np.int64)
        self.now = 0

    def accessed(self, slots: Any, blocks: Any, hits: Any) -> None:
        self.last[slots] = np.arange(self.now, self.now + len(slots))
        self.now += len(slots)

    def victims(self, count: int) -> Any:
        count = min(count, len(self.last))
        oldest = np.argpartition(self.last, count - 1)[:count]
        return oldest[np.argsort(self.last[oldest])]


def zipf(accesses: int, blocks: int = 1_000_000) -> np.ndarray:
    rng = np.random.default_rng(1)
    share = np.cumsum(1 / np.arange(1, blocks + 1))
    return np.searchsorted(share, rng.random(accesses) * share[-1]).astype(np.uint64)


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else "5e6"
    trace = np.fromfile(given, np.uint64) if Path(given).is_file() else zipf(int(float(given)))
    groups: list[list[Any]] = [
        ["lru", Lru, ArrayLru, OrderedLru],
        ["fifo", Fifo],
        ["lfu", Lfu],
        ["clock", Clock(1), Clock(2000)],
        ["hyperbolic", Hyperbolic],
    ]
    print(f"{len(trace):,} accesses, {CAPACITY:,} blocks")
    for group in groups:
        for policy in group:
            rows = [mc.simulate(trace, policy, [CAPACITY], threads=1)[0] for _ in range(ROUNDS)]
            ahead = f" ahead={policy.ahead}" if isinstance(policy, Clock) else ""
            rate = len(trace) / min(row.seconds for row in rows) / 1e6
            print(f"{rows[0].policy + ahead:<18}{rows[0].hit_ratio:.5f}  {rate:7.2f} M accesses/s")


if __name__ == "__main__":
    main()
