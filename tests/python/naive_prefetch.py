"""Tiers of LRU lists of which one prefetches, in plain Python: each block is looked for in all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import naive_hosts as naive
from naive_replay import Block, Request, Workload


class Rule(Protocol):
    """Decides after each read what is prefetched."""

    def read(self, cache: Prefetching, request: Request, missed: set[int], used: set[int]) -> None:
        """Process a read of which some blocks missed, and some were prefetched before."""


class Prefetching(naive.Chain):
    """A chain in which one tier prefetches.

    `unread` has the prefetched blocks without an access, and `marked` those with a mark. Both lose
    a block as soon as no tier has it.
    """

    def __init__(
        self,
        workload: Workload,
        part_of: Sequence[int],
        targets: Sequence[Sequence[int]],
        modes: Sequence[str],
        tier: int,
        rule: Rule,
    ) -> None:
        super().__init__(part_of, targets, modes)
        self.tier, self.rule = tier, rule
        self.unread: set[Block] = set()
        self.marked: set[Block] = set()
        self.ends = [0] * workload.vms
        for of in workload.requests:
            self.ends[of.vm] = max(self.ends[of.vm], of.first + of.blocks)

    def has(self, vm: int, block: int) -> bool:
        return self.find((vm, block)) < self.backend

    def note(self, name: str, vm: int, times: int = 1) -> None:
        self.counts.add(f"prefetch{name}", vm, self.tier, times)

    def forget_lost(self) -> None:
        for block in [b for b in self.unread if not self.has(*b)]:
            self.unread.remove(block)
            self.note("_wasted", block[0])
        self.marked = {b for b in self.marked if self.has(*b)}

    def serve(self, request: Request) -> None:
        places, missed, used = [], set(), set()
        for block in request.touched:
            self.forget_lost()
            hit = self.has(*block)
            if block in self.unread:
                self.unread.remove(block)
                self.note("_wasted" if request.writes else "_used", request.vm)
                used.add(block[1])
            if not hit:
                missed.add(block[1])
            places.append(self.access(request, block))
        self.counts.waited(request, places)
        self.forget_lost()
        if not request.writes:
            self.rule.read(self, request, missed, used)
            self.forget_lost()

    def prefetch(self, request: Request, blocks: Iterable[int]) -> set[int]:
        """Read blocks of the VM that are nowhere; return those that were read."""
        vm, came = request.vm, set()
        part = self.part_of[vm]
        for at in blocks:
            asked = request.first <= at < request.first + request.blocks
            if asked or at >= self.ends[vm] or self.has(vm, at):
                continue
            if not self.targets[self.tier][part]:
                continue
            self.note("ed", vm)
            self.counts.add_vm("backend_reads", vm)
            self.counts.add("fills", vm, self.tier)
            self.held[self.tier][part].append((vm, at))
            self.unread.add((vm, at))
            self.settle(part)
            self.forget_lost()
            came.add(at)
        return came

    def release(self, vm: int) -> None:
        super().release(vm)
        self.forget_lost()

    def levels(self, vm: int) -> tuple[list[int], list[int], int]:
        self.note("_unread", vm, sum(b[0] == vm for b in self.unread))
        return super().levels(vm)


class OneAhead:
    """Each block that missed, or was prefetched and is read first, prefetches the next one."""

    def read(self, cache: Prefetching, request: Request, missed: set[int], used: set[int]) -> None:
        for _, block in request.touched:
            if block in missed or block in used:
                cache.prefetch(request, [block + 1])


class Stream:
    """Reads that go on where one of the last reads ended: the ends of streams, and their blocks."""

    def __init__(self, threshold: int = 16, least: int = 16, streams: int = 128) -> None:
        self.threshold, self.least, self.most = threshold, least, streams
        self.streams: dict[int, list[tuple[int, int]]] = {}  # by VM: the last one last

    def read(self, cache: Prefetching, request: Request, missed: set[int], used: set[int]) -> None:
        known = self.streams.setdefault(request.vm, [])
        end = request.first + request.blocks
        found = next((one for one in reversed(known) if one[0] == request.first), None)
        if found is not None:
            known.remove(found)
        elif len(known) == self.most:
            known.pop(0)
        length = 0 if found is None else found[1]
        known.append((end, length + request.blocks))
        if found is not None and length >= self.threshold:
            cache.prefetch(request, range(end, end + max(self.least, request.blocks)))


class Readahead:
    """Pages are read one after the other, and each one missing or marked asks for a window."""

    def __init__(self, most: int = 32, initial: int = 0) -> None:
        self.most, self.initial = most, initial
        self.windows: dict[int, tuple[int, int, int]] = {}  # start, size, size from the mark on
        self.position: dict[int, int] = {}  # after the last page read

    def read(self, cache: Prefetching, request: Request, missed: set[int], used: set[int]) -> None:
        absent = set(missed)  # pages of the request that no window has read so far
        for _, page in request.touched:
            self.reach(cache, request, page, missed, absent)
            self.position[request.vm] = page + 1

    def reach(
        self, cache: Prefetching, request: Request, page: int, missed: set[int], absent: set[int]
    ) -> None:
        vm, end = request.vm, request.first + request.blocks
        if page in absent:
            window = self.on_miss(cache, vm, page, end - page)
            if window is None:
                absent.clear()
                return
        elif (vm, page) in cache.marked:
            cache.marked.remove((vm, page))
            window = self.on_mark(cache, vm, page, end - page, absent, end)
            if window is None:
                return
        else:
            return
        start, size, ahead = self.windows[vm] = self.merged(page, *window)
        mark = start + size - ahead
        for at in range(start, start + size):
            new = cache.prefetch(request, [at])
            if at == mark and ahead and (at in new or at in missed) and cache.has(vm, at):
                cache.marked.add((vm, at))
            if at >= page:
                absent.discard(at)

    def grown(self, size: int) -> int:
        if size < self.most // 16:
            return 4 * size
        return 2 * size if size <= self.most // 2 else self.most

    def first(self, pages: int) -> int:
        if self.initial:
            return min(max(pages, self.initial), self.most)
        power = 1
        while power < pages:
            power *= 2
        if power <= self.most // 32:
            return 4 * power
        return 2 * power if power <= self.most // 4 else self.most

    def merged(self, page: int, start: int, size: int, ahead: int) -> tuple[int, int, int]:
        if page != start or size != ahead:
            return start, size, ahead
        more = self.grown(size)
        if size + more <= self.most:
            return start, size + more, more
        return start, self.most, self.most // 2

    def continued(self, vm: int, page: int) -> tuple[int, int, int] | None:
        """The window after the last one, if its mark or its end is reached."""
        start, size, ahead = self.windows.get(vm, (0, 0, 0))
        if page == 0 or page not in (start + size - ahead, start + size):
            return None
        new = self.grown(size)
        return start + size, new, new

    def from_here(self, page: int, pages: int) -> tuple[int, int, int]:
        size = self.first(pages)
        return page, size, size - pages if size > pages else size

    def on_mark(
        self, cache: Prefetching, vm: int, page: int, pages: int, absent: set[int], end: int
    ) -> tuple[int, int, int] | None:
        if page == 0:
            return self.from_here(page, pages)
        window = self.continued(vm, page)
        if window is not None:
            return window
        for hole in range(page + 1, page + 1 + self.most):
            if hole in absent or (hole >= end and not cache.has(vm, hole)):
                size = self.grown(hole - page + pages)
                return hole, size, size
        return None

    def on_miss(
        self, cache: Prefetching, vm: int, page: int, pages: int
    ) -> tuple[int, int, int] | None:
        if page == 0:
            return self.from_here(page, pages)
        window = self.continued(vm, page)
        if window is not None:
            return window
        sequential = vm in self.position and self.position[vm] in (page, page - 1)
        if pages > self.most or sequential:
            return self.from_here(page, pages)
        history = 0
        while history < min(page, self.most) and cache.has(vm, page - 1 - history):
            history += 1
        if history <= pages:
            return None
        if history == page:
            return page, min(2 * history + pages, self.most), 1
        return page, min(history + pages, self.most), 1
