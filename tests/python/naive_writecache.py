"""dm-writecache, rule by rule: one request in flight, work in the background settled.

Trusts: the counts of Linux 6.1 (experiment/test_dm_writecache.py).
"""

from __future__ import annotations

from collections import Counter

_LONGEST_COPY = 256
_SECOND = 1_000_000_000


class _Entry:
    def __init__(self, at: int) -> None:
        self.at = at  # block of the cache
        self.block = -1  # of the origin
        self.sequence = 0  # of the commit that it waits for
        self.jiffy = 0  # of its insertion


class NaiveWritecache:
    """The cache; a request covers whole blocks. `counts` has what `dmsetup status` has."""

    def __init__(
        self, blocks: int, *, high: int = 50, low: int = 45, autocommit_blocks: int = 65_536,
        autocommit_time: int = _SECOND, pause: int = 3 * _SECOND, max_age: int = 0, hz: int = 100,
        created: int = 0,
    ) -> None:  # fmt: skip
        self.entries = [_Entry(at) for at in range(blocks)]
        self.free = set(range(blocks))
        self.next_free: int | None = 0
        self.copies: dict[int, list[_Entry]] = {}  # by block of the origin, the newest is last
        self.order: list[_Entry] = []  # the oldest insertion first
        self.start_below = (blocks * (100 - high) + 50) // 100
        self.stop_above = (blocks * (100 - low) + 50) // 100
        self.hz, self.pause = hz, pause * hz // _SECOND
        self.autocommit_blocks, self.autocommit_time = autocommit_blocks, autocommit_time
        self.max_age = max_age * hz // _SECOND
        self.sequence = self.uncommitted = self.jiffy = 0
        self.commit_at: int | None = None
        self.age_check_at: int | None = None
        if self.max_age:
            self.age_check_at = self._timer(created * hz // _SECOND, self.max_age // 16)
        self.last_around: int | None = None
        self.is_full = False
        self.counts = Counter[str]()

    def request(self, time: int, block: int, write: bool, length: int = 1) -> list[bool]:
        """Return whether each block hits. `time`: since the boot, in ns."""
        self.run_until(time * self.hz // _SECOND)
        hits: list[bool] = []
        while len(hits) < length:
            left = length - len(hits)
            serve = self._write if write else self._read
            hits += serve(block + len(hits), left)
        self._settle()
        return hits

    def run_until(self, jiffy: int) -> None:
        """Run timers, and write-backs that waited."""
        while True:
            work = self._resumes_at() if self.is_full else self.commit_at
            due = [at for at in (work, self.age_check_at) if at is not None]
            if not due or min(due) > jiffy:
                break
            self.jiffy = min(due)
            self._settle()
            if self.jiffy == self.age_check_at:
                self.age_check_at = self._timer(self.jiffy, self.max_age // 16)
                self.is_full = len(self.order) > 0
            self._settle()
        self.jiffy = jiffy

    def _timer(self, now: int, ticks: int) -> int:
        """Return when a timer expires; the timer wheel rounds up."""
        step = 1 if ticks < 63 else 8 if ticks < 504 else 64 if ticks < 4032 else 512
        return (now + ticks + step) // step * step

    def _newest(self, block: int) -> _Entry | None:
        return self.copies[block][-1] if block in self.copies else None

    def _read(self, block: int, left: int) -> list[bool]:
        hit = block in self.copies
        self.counts["reads"] += 1
        self.counts["read hits"] += hit
        return [hit]

    def _write(self, block: int, left: int) -> list[bool]:
        """Write the first blocks of the rest of a request."""
        entry = self._newest(block)
        if entry is not None:
            is_committed = entry.sequence < self.sequence
            self.counts["hits committed" if is_committed else "hits uncommitted"] += 1
            written = self._overwrite(entry, left)
        else:
            if not self.free:
                self.counts["writes"] += 1
                self.counts["writes around"] += 1
                self.last_around = self.jiffy
                return [False]
            self._insert(block)
            self.counts["writes allocate"] += 1
            written = self._append(block, left)
        self.counts["writes"] += written
        self.counts["writes allocate"] += written - 1
        if self.commit_at is None:
            self.commit_at = self._timer(self.jiffy, self.autocommit_time * self.hz // _SECOND)
        return [entry is not None] * written

    def _overwrite(self, entry: _Entry, left: int) -> int:
        """Return how many blocks are overwritten in place: neighbours in cache and origin."""
        written = 1
        while written < left:
            following = self.copies.get(entry.block + 1)
            if following is None or self.copies[entry.block][-1] is not entry:
                break
            if following[0].at != entry.at + 1:
                break
            entry = following[0]
            written += 1
        return written

    def _append(self, block: int, left: int) -> int:
        """Return how many blocks are written; those after the first are not looked up."""
        written = 1
        while written < left:
            before = self.copies[block + written - 1][-1].at
            if self.next_free != before + 1:
                break
            self._insert(block + written)
            written += 1
        return written

    def _insert(self, block: int) -> None:
        at = self.next_free
        assert at is not None
        self.free.remove(at)
        after = [each for each in self.free if each > at]
        self.next_free = min(after or self.free, default=None)
        entry = self.entries[at]
        entry.block, entry.sequence, entry.jiffy = block, self.sequence, self.jiffy
        self.copies.setdefault(block, []).append(entry)
        self.order.append(entry)
        self.uncommitted += 1
        self.counts["inserted"] += 1
        self.is_full |= len(self.free) <= self.start_below

    def _release(self, entry: _Entry) -> None:
        self.order.remove(entry)
        self.copies[entry.block].remove(entry)
        if not self.copies[entry.block]:
            del self.copies[entry.block]
        if not self.free:
            self.next_free = entry.at
        self.free.add(entry.at)

    def _commit(self) -> None:
        """Commit all entries, and release the older copies of their blocks."""
        self.uncommitted, self.commit_at = 0, None
        if not self.order or self.order[-1].sequence < self.sequence:
            return
        waiting = [entry for entry in self.order if entry.sequence == self.sequence]
        self.sequence += 1
        for entry in waiting:
            if entry.at in self.free:
                continue
            copies = self.copies[entry.block]
            if (place := copies.index(entry)) > 0:
                self._release(copies[place - 1])
                self.counts["replaced"] += 1

    def _settle(self) -> None:
        """Finish the work that requests or timers started."""
        if self.is_full:
            if self.jiffy < self._resumes_at():
                return
            self._write_back()
        is_due = self.commit_at is not None and self.commit_at <= self.jiffy
        if is_due or self.uncommitted >= self.autocommit_blocks:
            self._commit()

    def _resumes_at(self) -> int:
        """Return when write-back goes on after a write around the cache."""
        return 0 if self.last_around is None else self.last_around + self.pause

    def _write_back(self) -> None:
        self.is_full = False
        while self.order and (len(self.free) <= self.stop_above or self._is_old(self.order[0])):
            entry = self.order[0]
            if entry.sequence >= self.sequence:
                self._commit()
                continue
            run = self._run_of(entry)
            for each in run:
                self._release(each)
            self.counts["written back"] += len(run)

    def _is_old(self, entry: _Entry) -> bool:
        most = self.max_age - self.max_age // 16
        return self.max_age > 0 and self.jiffy - entry.jiffy >= most

    def _run_of(self, entry: _Entry) -> list[_Entry]:
        """Return an entry, and committed neighbours in cache and origin that are copied along."""
        run = [entry]
        while len(run) < _LONGEST_COPY:
            newest = self.copies[run[-1].block][-1]
            following = self.copies.get(newest.block + 1, [])
            if not following or following[0].at != newest.at + 1:
                break
            if following[0].sequence >= self.sequence:
                break
            run.append(following[0])
        return run
