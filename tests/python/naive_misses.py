"""A cache in plain Python that lists what it sends to the backend, block by block."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mcsim.traces.trace import Trace

READ, WRITE, DISCARD = range(3)

Sent = tuple[int, str, int, int]
"""Time, VM, operation and block."""


def sent_by(trace: Trace, block_bytes: int = 4096) -> list[Sent]:
    """Return the rows of a miss stream, block by block."""
    sent = []
    for batch in trace.batches():
        for time, vm, op, offset, length in zip(*(c.tolist() for c in batch[:5]), strict=True):
            assert offset % block_bytes == length % block_bytes == 0 < length
            first = offset // block_bytes
            blocks = range(first, first + length // block_bytes)
            sent += [(time, trace.vms[vm], op, block) for block in blocks]
    return sent


@dataclass
class NaiveCache:
    """One cache of whole blocks under LRU or FIFO, with a write mode."""

    capacity: int
    policy: str
    mode: str
    held: OrderedDict[tuple[str, int], bool] = field(default_factory=OrderedDict)
    """Blocks, the next victim first, and whether each is dirty."""
    known: set[tuple[str, int]] = field(default_factory=set)
    sent: list[Sent] = field(default_factory=list)

    def access(self, time: int, vm: str, op: int, block: int) -> None:
        key = vm, block
        self.known.add(key)
        if op == READ and key not in self.held:
            self.sent.append((time, vm, READ, block))
        if op == WRITE and self.mode != "back":
            self.sent.append((time, vm, WRITE, block))
        if op == WRITE and self.mode == "around":
            self.held.pop(key, None)
            return
        dirty = self.held.get(key, False) or (op == WRITE and self.mode == "back")
        is_hit = key in self.held
        self.held[key] = dirty
        if is_hit and self.policy == "lru":
            self.held.move_to_end(key)
        if len(self.held) > self.capacity:
            (of, victim), dirty = self.held.popitem(last=False)
            if dirty:
                self.sent.append((time, of, WRITE, victim))

    def discard(self, time: int, vm: str, blocks: Iterable[int]) -> None:
        for block in blocks:
            if (vm, block) in self.known:
                self.sent.append((time, vm, DISCARD, block))
            self.held.pop((vm, block), None)


def naive_misses(
    trace: Trace, cache_of: dict[str, NaiveCache], block_bytes: int = 4096, reads: bool = False
) -> list[Sent]:
    """Replay a trace through caches of VMs, which may share them."""
    sent: list[Sent] = []
    waiting: list[tuple[str, range]] = []
    columns = [np.concatenate(of) for of in zip(*trace.batches(), strict=True)]
    order = np.lexsort((columns[1], columns[0]))
    last = 0

    def flush(time: int) -> None:
        for vm, blocks in waiting:
            cache = cache_of[vm]
            cache.discard(time, vm, blocks)
            sent.extend(cache.sent)
            cache.sent.clear()
        waiting.clear()

    for time, v, op, offset, length in zip(*(c[order].tolist() for c in columns[:5]), strict=True):
        vm = trace.vms[v]
        if op == DISCARD:
            begin, end = -(-offset // block_bytes), (offset + length) // block_bytes
            waiting.append((vm, range(begin, end)))
            continue
        if op == WRITE and reads:
            continue
        flush(time)
        last = time
        if length == 0:
            continue
        for block in range(offset // block_bytes, (offset + length - 1) // block_bytes + 1):
            cache_of[vm].access(time, vm, op, block)
            sent.extend(cache_of[vm].sent)
            cache_of[vm].sent.clear()
    flush(last)
    return sent


def random_trace(seed: int, vms: Sequence[str] = ("a", "b", "c"), count: int = 3000) -> Trace:
    """Draw requests: hot and cold blocks, several at a time, reads, writes and discards."""
    draw = np.random.default_rng(seed)
    hot = draw.random(count) < 0.7
    offset = np.where(hot, draw.integers(0, 40, count), draw.integers(0, 400, count)) * 4096
    return Trace.from_arrays(
        np.sort(draw.integers(0, 10 * count, count)),
        offset + draw.integers(0, 2, count) * 512,
        draw.integers(0, 5 * 4096, count),
        op=draw.choice([READ, WRITE, DISCARD], count, p=[0.6, 0.37, 0.03]),
        vm=draw.integers(0, len(vms), count),
        vms=vms,
    )
