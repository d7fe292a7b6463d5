"""The ARC of OpenZFS, rule by rule: records of one size, evictions that end before the next read.

Trusts: the counts of its source (zfs_arc_runs.py).
"""

from __future__ import annotations

from collections import Counter

_SECOND = 1_000_000_000
_HEADER, _BUFFER = 240, 368  # bytes of a header, and of what a cached buffer needs
_WHOLE = 1 << 32
PLACES = ("new", "mru", "mfu", "mru ghost", "mfu ghost")


class NaiveZfsArc:
    """The cache; `buffers` are those of the DMU, 1/32 of the ARC, which its size includes."""

    def __init__(
        self, target: int, record: int, *, overflow: int = 16 << 20, metadata: int = 0,
        other: int = 0, buffers: bool = True, hz: int = 250,
    ) -> None:  # fmt: skip
        self.target, self.record, self.overflow, self.hz = target, record, overflow, hz
        self.metadata, self.has_buffers = metadata, buffers
        self.size = metadata + other
        # Evictable records of each place, the oldest first; their time of access in ticks.
        self.lists: dict[str, list[int]] = {place: [] for place in PLACES[1:]}
        self.place: dict[int, str] = {}
        self.accessed: dict[int, int] = {}
        self.bytes = Counter[str]()
        self.buffers: list[int] = []  # the oldest first
        self.trim_at: int | None = None
        self.share = _WHOLE // 2  # of MRU
        self.ghost_hits = Counter[str]()
        self.ghosts_most = {"mru ghost": 0, "mfu ghost": 0}
        self.is_overflowing = False
        self.counts = Counter[str]()

    def holds(self, record: int) -> bool:
        return self.place.get(record) in ("mru", "mfu")

    def read(self, time: int, record: int) -> str:
        """Return where the record was."""
        self._run_until(time)
        place = self._access(time, record)
        self._settle()
        return place

    def write(self, time: int, record: int, *, whole: bool) -> bool:
        """Return whether the record was cached. A part of a missing one is read before."""
        self._run_until(time)
        hit = self.holds(record)
        if not whole:
            self._access(time, record)
        self._forget(record)
        self._access(time, record)
        self._settle()
        return hit

    def _run_until(self, time: int) -> None:
        if self.trim_at is None:
            self.trim_at = time + _SECOND
        while self.trim_at <= time:
            self._trim()
            self.trim_at += _SECOND

    def _access(self, time: int, record: int) -> str:
        now = time * self.hz // _SECOND
        was = self.place.get(record, "new")
        hit, is_buffered = self.holds(record), record in self.buffers
        if self.has_buffers and not is_buffered:
            self.size += _BUFFER
        if hit:
            self._note_hit(record, now)
        else:
            self._note_miss(record)
            self.accessed[record] = now
            self._add_copy(record)
        if is_buffered:
            self.buffers.remove(record)
            self.buffers.append(record)
            return was
        if hit:
            self.lists[self.place[record]].remove(record)
        self._add_copy(record)  # for the reader
        self.buffers.append(record)
        if not self.has_buffers:
            self.size += _BUFFER
            self._leave_buffers()
        elif len(self.buffers) * self.record > self.target >> 5:
            self._trim()
            self.trim_at = time + _SECOND
        return was

    def _note_hit(self, record: int, now: int) -> None:
        if self.place[record] == "mru":
            if now <= self.accessed[record] + self.hz // 16:
                return
            copies = 1
            if record in self.buffers:
                copies = 2
            else:
                self.lists["mru"].remove(record)
                self.lists["mfu"].append(record)
            self.bytes["mru"] -= copies * self.record
            self.bytes["mfu"] += copies * self.record
            self.place[record] = "mfu"
        self.accessed[record] = now

    def _note_miss(self, record: int) -> None:
        ghost = self.place.get(record)
        if ghost is None:
            self.size += _HEADER
            self.place[record] = "mru"
            return
        self.lists[ghost].remove(record)
        self.bytes[ghost] -= self.record
        self.ghost_hits[ghost] += self.record
        self.place[record] = "mfu"

    def _add_copy(self, record: int) -> None:
        if self.size >= self.target + self.overflow:
            self.is_overflowing = True
        self.size += self.record
        self.bytes[self.place[record]] += self.record

    def _trim(self) -> None:
        most = self.target >> 5
        while len(self.buffers) * self.record > most - most * 10 // 100:
            self._leave_buffers()

    def _leave_buffers(self) -> None:
        record = self.buffers.pop(0)
        self.size -= self.record + _BUFFER
        self.bytes[self.place[record]] -= self.record
        self.lists[self.place[record]].append(record)

    def _forget(self, record: int) -> None:
        place = self.place.pop(record, None)
        if place is None:
            return
        self.size -= _HEADER + (self.record if place in ("mru", "mfu") else 0)
        self.bytes[place] -= self.record
        if record in self.buffers:
            self.buffers.remove(record)
            self.size -= self.record + _BUFFER
            self.bytes[place] -= self.record
        else:
            self.lists[place].remove(record)

    def _settle(self) -> None:
        while self.is_overflowing:
            self.is_overflowing = self._evict() > 0 and self.size > self.target

    def _evict(self) -> int:
        self._move_share()
        data = self.bytes["mru"] + self.bytes["mfu"]
        fixed = self.size - data - self.metadata
        mru_most = (self.target - fixed - self.metadata) * (self.share >> 16) >> 16
        excess = self.size - self.target
        mru = self._take("mru", min(excess, self.bytes["mru"] - mru_most))
        mfu = self._take("mfu", excess - mru)
        for ghost, others in (("mru ghost", "mfu"), ("mfu ghost", "mru")):
            self.ghosts_most[ghost] = (self.bytes[others] + self.metadata) // 2
            self._take(ghost, self.bytes[ghost] - self.ghosts_most[ghost])
        return mru + mfu

    def _take(self, place: str, most: int) -> int:
        """Evict the oldest records until they have at least `most` bytes."""
        taken = 0
        while taken < most and self.lists[place]:
            record = self.lists[place].pop(0)
            taken += self.record
            self.bytes[place] -= self.record
            if place in ("mru", "mfu"):
                self.size -= self.record
                self.place[record] = f"{place} ghost"
                self.lists[f"{place} ghost"].append(record)
                self.bytes[f"{place} ghost"] += self.record
                self.counts["evicted"] += 1
            else:
                self.size -= _HEADER
                del self.place[record]
        return taken

    def _move_share(self) -> None:
        total = sum(self.ghosts_most.values())
        up, down = self.ghost_hits["mru ghost"], self.ghost_hits["mfu ghost"]
        self.ghost_hits.clear()
        if total < 32 or up + down == 0:
            return
        if up + down >= total // 16:
            scale = (up + down) // (total // 32)
            up, down = up // scale, down // scale
        rest = _WHOLE - self.share
        if self.share >= 4 * rest:
            up //= self.share // (2 * rest + 1)
        if rest >= 4 * self.share:
            down //= rest // (2 * self.share + 1)
        bits = min(64 - total.bit_length(), 32)
        unit = total >> (32 - bits)
        self.share += (up << bits) // unit - (down << bits) // unit
