"""Open CAS, rule by rule: one queue, one request in flight, work in the background settled.

Trusts: requests, occupancy and dirty lines of OCF v26.03.1 and later (experiment/test_open_cas.py).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from naive_opencas_lines import LISTS, CoreLine, Line, Places, core_of, freed_first, list_of
from naive_opencas_streams import NaiveStreams

CREATED = 86_400_000_000_000
"""Time since the boot at which the cache was created."""

_SECOND = 1_000_000_000
_CLEANED_AT_ONCE = 32


class NaiveOpenCas:
    """The cache of core devices with blocks of 4 KiB.

    `counts` has requests by outcome: hit, partial, miss, pass.
    """

    def __init__(
        self, lines: int, *, writes: str = "through", line_blocks: int = 1,
        promotion: str = "always", hits: int = 3, trigger: int = 80, cutoff: str = "full",
        threshold: int = 1 << 20, promoted_after: int = 8, cleaning: str = "alru", wake: int = 20,
        stale: int = 120, flush: int = 100, idle_ms: int = 10_000, ratio: int = 100,
        inertia: int = 128 << 20, created: int = CREATED,
    ) -> None:  # fmt: skip
        self.lines = [Line(number) for number in range(lines)]
        self.writes, self.line_blocks = writes, line_blocks
        self.promotion, self.hits = promotion, hits
        self.trigger = -(-trigger * lines // 100)
        self.streams = NaiveStreams(cutoff, threshold, promoted_after)
        self.free: list[list[Line]] = [[] for _ in range(LISTS)]  # the oldest is last
        self.clean: list[list[Line]] = [[] for _ in range(LISTS)]
        self.dirty: list[list[Line]] = [[] for _ in range(LISTS)]
        for number in freed_first(lines):
            self.free[list_of(self.lines[number])].insert(0, self.lines[number])
        self.cached: dict[CoreLine, Line] = {}
        self.turn = 0
        self.ring: deque[CoreLine] = deque()  # of nhit, the oldest first
        self.seen: dict[CoreLine, int] = {}
        self.cleaning, self.wake, self.stale, self.flush = cleaning, wake, stale, flush
        self.idle_ms, self.ratio, self.inertia = idle_ms, ratio, inertia
        self.aged: list[Line] = []  # the last write first
        self.now = self.next_wake = created
        self.active_ms = created // 1_000_000
        self.cleaned_at = 0
        self.above_ratio = False
        self.counts = Counter[str]()

    @property
    def occupancy(self) -> int:
        return len(self.lines) - sum(map(len, self.free))

    @property
    def valid_blocks(self) -> int:
        return sum(len(line.valid) for line in self.lines)

    @property
    def dirty_blocks(self) -> int:
        return sum(len(line.dirty) for line in self.lines)

    @property
    def dirty_lines(self) -> int:
        return sum(map(len, self.dirty))

    def request(self, time: int, block: int, write: bool, length: int = 1, core: int = 0) -> str:
        """Return the outcome. `time`: since the boot, in ns."""
        self.run_until(time)
        self.request_blocks = range(block, block + length)
        last = (block + length - 1) // self.line_blocks
        self.core_lines = [(core, line) for line in range(block // self.line_blocks, last + 1)]
        self.to_clean: list[Line] = []
        free = len(self.lines) - self.occupancy
        self.is_cut = self.streams.cuts_off(core, block, length, write, free, len(self.core_lines))
        found = sum(len(self._blocks_in(line) & line.valid) for line in self._mapped())
        outcome = self._serve(write)
        self.block_hits = 0 if outcome == "pass" else found
        self.streams.update(core, block, length, write)
        self.counts[outcome] += 1
        return outcome

    def _serve(self, write: bool) -> str:
        passes = self.writes == "pass" or self.is_cut or len(self.core_lines) > len(self.lines)
        if not passes and self.writes in ("back", "only"):
            self._touch()
            hits = self._hits()
            if write and self._is_mapped():
                self._be_active()
                return self._write_back(hits)
            if not write and hits == len(self.core_lines):
                return "hit"
        self._be_active()
        if passes:
            return self._write_invalidate() if write else self._pass()
        if not write:
            return self._read_only_writes() if self.writes == "only" else self._read()
        if self.writes == "around":
            self._touch()
            if self._hits() < len(self.core_lines):
                return self._write_invalidate()
        hits = self._hits()
        if not self._map():
            return self._write_invalidate()
        return self._write_back(hits) if self.writes in ("back", "only") else self._through(hits)

    def _be_active(self) -> None:
        self.active_ms = self.now // 1_000_000

    # Requests

    def _blocks_in(self, line: Line) -> set[int]:
        assert line.core is not None
        first = line.core[1] * self.line_blocks
        return {
            block - first
            for block in range(first, first + self.line_blocks)
            if block in self.request_blocks
        }

    def _mapped(self) -> list[Line]:
        return [self.cached[core] for core in self.core_lines if core in self.cached]

    def _is_mapped(self) -> bool:
        return len(self._mapped()) == len(self.core_lines)

    def _is_hit(self, line: Line) -> bool:
        return self._blocks_in(line) <= line.valid

    def _hits(self) -> int:
        return sum(map(self._is_hit, self._mapped()))

    def _outcome(self, hits: int) -> str:
        return "hit" if hits == len(self.core_lines) else "partial" if hits else "miss"

    def _validate(self) -> None:
        for line in self._mapped():
            line.valid |= self._blocks_in(line)

    def _read(self) -> str:
        hits = self._hits()
        if not self._map():
            return self._pass(forced=True)
        if hits < len(self.core_lines):
            self._clean(self._mapped())
            self._validate()
        return self._outcome(hits)

    def _read_only_writes(self) -> str:
        self._touch()
        return self._outcome(self._hits())

    def _through(self, hits: int) -> str:
        self._validate()
        return self._outcome(hits)

    def _write_back(self, hits: int) -> str:
        self._validate()
        lines = self._mapped()
        for line in lines:
            if not line.dirty:
                self._move(line, self.clean, self.dirty)
            line.dirty |= self._blocks_in(line)
        for line in lines:
            self._age(line)
        return self._outcome(hits)

    def _write_invalidate(self) -> str:
        self._touch()
        lines = self._mapped()
        self._clean([*self.to_clean, *lines])
        was_hit = self._hits() == len(self.core_lines)
        for line in lines:
            line.valid -= self._blocks_in(line)
            if not line.valid:
                self._release(line)
        if not was_hit:
            self._touch()
        return "pass"

    def _pass(self, forced: bool = False) -> str:
        self._touch()
        lines = self._mapped()
        is_dirty = all(self._is_hit(line) and self._blocks_in(line) <= line.dirty for line in lines)
        if self.is_cut and not forced and self._is_mapped() and is_dirty:
            return self._read()
        self._clean([*self.to_clean, *lines])
        return "pass"

    # Space

    def _touch(self, lines: Iterable[Line] | None = None) -> None:
        """Move lines, by default all of the request, out of the colder half of their lists."""
        for line in self._mapped() if lines is None else lines:
            if not self._is_hot(line):
                of = self._lists(line)
                of.remove(line)
                of.insert(0, line)

    def _lists(self, line: Line) -> list[Line]:
        return (self.dirty if line.dirty else self.clean)[list_of(line)]

    def _is_hot(self, line: Line) -> bool:
        of = self._lists(line)
        return of.index(line) < len(of) // 2

    def _move(self, line: Line, source: Sequence[list[Line]], target: Sequence[list[Line]]) -> None:
        place = list_of(line)
        source[place].remove(line)
        target[place].insert(0, line)

    def _map(self) -> bool:
        """Map all lines of the request to cache lines. Return whether that was possible."""
        mapped = self._mapped()
        if not self._is_mapped():
            if not self._is_promoted() and not mapped:
                return False
            needed = [core for core in self.core_lines if core not in self.cached]
            taken = self._take(needed)
            if len(taken) < len(needed):
                for line in taken:
                    self._release(line)
                self._find_cold()
                return False
            for core in self.core_lines:
                if core in self.seen:
                    self.seen[core] = 0
        self._touch(mapped)
        return True

    def _is_promoted(self) -> bool:
        if self.promotion == "always" or self.occupancy < self.trigger:
            return True
        promoted = True
        for core in self.core_lines:
            if core in self.seen:
                self.seen[core] += 1
                promoted &= self.seen[core] >= self.hits
                continue
            promoted = False
            if len(self.ring) == 2 * len(self.lines):
                del self.seen[self.ring.popleft()]
            self.ring.append(core)
            self.seen[core] = 1
        return promoted

    def _take(self, needed: Sequence[CoreLine]) -> list[Line]:
        """Map lines to free ones if there are enough, or else to clean lines that leave."""
        is_free = len(self.lines) - self.occupancy >= len(needed)
        lists = self.free if is_free else self.clean
        places = self._places()
        taken: list[Line] = []
        for core in needed:
            line = self._following(taken[-1]) if taken and not is_free else None
            if line is not None:
                next(places)
            else:
                line = self._oldest(lists, places)
            if line is None:
                break
            self._unmap(line)
            self._move(line, lists, self.clean)
            line.core = core
            self.cached[core] = line
            taken.append(line)
        return taken

    def _places(self) -> Places:
        self.turn += 1
        return Places((self.turn - 2) % LISTS)

    def _oldest(self, lists: Sequence[list[Line]], places: Places) -> Line | None:
        while places.left:
            place = next(places)
            for line in reversed(lists[place]):
                if line.core not in self.core_lines:
                    return line
            places.drop(place)
        return None

    def _following(self, line: Line) -> Line | None:
        """Return the cache line behind, if it may be evicted."""
        if line.number + 1 == len(self.lines):
            return None
        found = self.lines[line.number + 1]
        is_free = found in self.free[list_of(found)]
        if is_free or found.core in self.core_lines or found.dirty or self._is_hot(found):
            return None
        return found

    def _release(self, line: Line) -> None:
        self._unmap(line)
        self._move(line, self.clean, self.free)

    def _unmap(self, line: Line) -> None:
        if line.core is not None:
            del self.cached[line.core]
        line.core = None
        line.valid.clear()

    # Cleaning

    def _clean(self, lines: Iterable[Line]) -> None:
        for line in lines:
            if line.dirty:
                self._move(line, self.dirty, self.clean)
                self.counts["blocks cleaned"] += len(line.dirty)
                line.dirty.clear()
                self.aged.remove(line)
                self.counts["cleaned"] += 1

    def _find_cold(self) -> None:
        """Choose the oldest dirty lines of all lists in turn, to be cleaned."""
        self.turn += 1  # for the class of prefetched lines, which is empty
        places = self._places()
        left = [list(of) for of in self.dirty]
        while len(self.to_clean) < _CLEANED_AT_ONCE and places.left:
            place = next(places)
            if left[place]:
                self.to_clean.append(left[place].pop())
            else:
                places.drop(place)
        self.to_clean.sort(key=core_of)

    def _age(self, line: Line) -> None:
        if line in self.aged:
            self.aged.remove(line)
        self.aged.insert(0, line)
        line.changed = self.now // _SECOND

    def run_until(self, time: int) -> None:
        """Run the cleaner."""
        while self.next_wake <= time:
            self.now = self.next_wake
            while self.cleaning == "alru":
                exceeds = self._exceeds_ratio()
                if not exceeds and not self._is_time():
                    break
                before = self.now + _SECOND if exceeds else self.now - self.stale * _SECOND
                if not self._clean_aged(before // _SECOND):
                    self.cleaned_at = self.now // _SECOND
                    break
            self.next_wake = self.now + self.wake * _SECOND
        self.now = time

    def _clean_aged(self, before: int) -> bool:
        chosen = []
        for line in reversed(self.aged):
            if line.changed >= before or len(chosen) == self.flush:
                break
            chosen.append(line)
        self._clean(sorted(chosen, key=core_of))
        return len(chosen) > 0

    def _is_time(self) -> bool:
        is_idle = self.now // 1_000_000 - self.active_ms >= self.idle_ms
        return is_idle and self.now // _SECOND - self.cleaned_at > self.wake

    def _exceeds_ratio(self) -> bool:
        if self.ratio == 100:
            return False
        most = len(self.lines) // 100 * self.ratio
        if self.above_ratio:
            inertia = self.inertia // (4096 * self.line_blocks)
            if inertia >= most:
                return True
            most -= inertia
        self.above_ratio = self.dirty_lines >= most
        return self.above_ratio
