"""The controller of bcache's write-back, rule by rule.

Trusts: the rules of drivers/md/bcache/writeback.c, Linux 6.1.
"""

from __future__ import annotations

_SECOND = 1_000_000_000
_Unit = tuple[int, int]
"""VM and sector."""


class Cleaner:
    """The controller of write-back; `target` is in sectors."""

    def __init__(self, unit: int, target: int, delay: int, *, is_limited: bool) -> None:
        self.unit, self.target, self.delay, self.is_limited = unit, target, delay, is_limited
        self.dirty = set[_Unit]()
        self.batch: dict[_Unit, None] = {}  # in the order of addresses
        self.written = 0
        self.is_whole = False
        self.cursor = (0, 0)
        self.rate, self.integral, self.quiet = 1024, 0, 0
        self.is_full_rate = False
        self.next_write: int | None = None
        self.next_round = 5 * _SECOND

    def forget(self, unit: _Unit) -> None:
        self.dirty.discard(unit)
        self.batch.pop(unit, None)

    def request(self, time: int) -> None:
        """Note a request, after it was served."""
        self.quiet = 0
        if self.is_full_rate:
            self.is_full_rate, self.rate = False, 8
        if self.dirty and self.next_write is None:
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
        if not self.dirty or not self.is_limited:
            return
        self.quiet += 1
        if self.quiet >= 6:
            self.is_full_rate = True
            return
        error = self.unit * len(self.dirty) - self.target
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
        self.dirty.remove(unit)
        self.written += 1
        self.next_write = time
        if self.is_limited and not self.is_full_rate:
            self.next_write += self.unit * _SECOND // self.rate
        if not self.batch and self.is_whole:
            self.next_write = max(self.next_write, time + self.delay)

    def _collect_batch(self) -> None:
        """Take the next 500 dirty units in the order of addresses, from the cursor on."""
        ordered = sorted(self.dirty)
        ordered = [unit for unit in ordered if unit >= self.cursor] + [
            unit for unit in ordered if unit < self.cursor
        ]
        self.batch = dict.fromkeys(ordered[:500])
        self.is_whole = len(ordered) <= 500
        if ordered:
            self.cursor = (ordered[:500][-1][0], ordered[:500][-1][1] + 1)
