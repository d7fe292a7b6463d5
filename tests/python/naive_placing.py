"""Systems that place extents, in plain Python: scores in dictionaries, every epoch sorted anew."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

from naive_replay import Block, Counts, Request

from mcsim._core import engine

Extent = tuple[int, int]  # a VM, and the number of an extent in it
Tiers = list[tuple[engine.Device, int]]


class Placer:
    """Extents with scores, each in a tier or, as all are at first, in the backend.

    A member says what a request adds to the score of an extent that it touches, what scores are
    worth an epoch later, and perhaps where extents are wanted: else the highest in the fastest
    tier, as far as there is room.
    """

    def __init__(self, tiers: Tiers, extent: int, block_bytes: int = 4096, **params: Any) -> None:
        self.tiers, self.extent, self.block_bytes, self.params = tiers, extent, block_bytes, params
        self.backend = len(tiers)
        self.capacities = [blocks for _, blocks in tiers]
        self.counts = Counts(self.capacities)
        self.score: dict[Extent, float] = {}
        self.at: dict[Extent, int] = {}
        self.number: dict[Extent, int] = {}  # in the order in which they were first touched
        self.area = int(Fraction(str(params.get("write_area", 0.0))) * self.capacities[0])
        self.most_dirty = int(Fraction(str(params.get("high_water", 1.0))) * self.area)
        self.written: list[Block] = []  # the area's, the one written last last
        self.dirty: list[Block] = []  # of these, the oldest dirty block first
        self.moved = 0

    def adds(self, request: Request, blocks: int) -> float:
        raise NotImplementedError

    def fade(self) -> None:
        raise NotImplementedError

    def rank(self, extent: Extent) -> tuple[float, int, int]:
        return -self.score[extent], extent[0], self.number[extent]

    def room(self, tier: int) -> int:
        return (self.capacities[tier] - (self.area if tier == 0 else 0)) // self.extent

    def wanted(self) -> dict[Extent, int]:
        # With equal scores, the extent in the faster tier is first.
        best = sorted(
            (e for e, score in self.score.items() if score > 0),
            key=lambda e: (-self.score[e], self.at[e], *self.rank(e)[1:]),
        )
        places = [tier for tier in range(self.backend) for _ in range(self.room(tier))]
        return dict.fromkeys(self.at, self.backend) | dict(zip(best, places, strict=False))

    def serve(self, request: Request) -> None:
        by_extent = Counter((vm, block // self.extent) for vm, block in request.touched)
        places = []
        for extent, blocks in by_extent.items():
            if extent not in self.at:
                self.number[extent] = len(self.number)
                self.score[extent], self.at[extent] = 0.0, self.backend
            for block in request.touched:
                if block[1] // self.extent == extent[1]:
                    places.append(self.place_of(block, request.writes, self.at[extent]))
            self.score[extent] += self.adds(request, blocks)
        self.counts.waited(request, places)

    def place_of(self, block: Block, writes: bool, tier: int) -> int:
        """Device that serves an access: that of its extent, or the write area."""
        vm = block[0]
        if tier < self.backend:
            self.counts.found(vm, writes, tier)
            self.counts.add("updates", vm, tier, int(writes))
            return tier
        if block in self.written and not writes:
            self.counts.found(vm, writes, 0)
            return 0
        if not writes or self.area == 0:
            self.counts.found(vm, writes, self.backend)
            self.counts.add_vm("backend_writes" if writes else "backend_reads", vm)
            return self.backend
        if block in self.written:
            self.counts.found(vm, writes, 0)
            self.counts.add("updates", vm, 0)
            self.written.remove(block)
        else:
            if len(self.written) == self.area:
                self.leaves(self.written[0], "evictions")
            self.counts.found(vm, writes, self.backend)
            self.counts.add("fills", vm, 0)
        self.written.append(block)
        if block not in self.dirty:
            self.dirty.append(block)
            self.counts.add_vm("dirtied", vm)
        if len(self.dirty) > self.most_dirty:
            self.write_back(self.dirty[0])
        return 0

    def write_back(self, block: Block) -> None:
        self.dirty.remove(block)
        self.counts.add("copied_out", block[0], 0)
        self.counts.add_vm("write_backs", block[0])
        self.counts.add_vm("backend_writes", block[0])

    def leaves(self, block: Block, how: str) -> None:
        if block in self.dirty:
            self.write_back(block)
        self.written.remove(block)
        self.counts.add(how, block[0], 0)

    def ring(self, timer: int, times: int) -> None:
        """An epoch ends: everything goes where it is wanted, if it may."""
        before = dict(self.at)
        self.place(self.wanted())
        for extent, to in self.at.items():
            if to != before[extent]:
                self.count_move(extent, before[extent], to)
        self.fade()

    def place(self, wanted: dict[Extent, int]) -> None:
        """The highest scores first, as far as the rate goes.

        In a full tier, the extent of the least score that belongs elsewhere moves to the backend.
        """
        allowed = float("inf")
        if rate := self.params.get("rate"):
            allowed = int(rate * self.params["epoch"] / 1e9 / self.extent)
        moved: set[Extent] = set()
        for extent in sorted(self.at, key=self.rank):
            to = wanted[extent]
            if to in (self.backend, self.at[extent]):
                continue
            there = [other for other, tier in self.at.items() if tier == to]
            out = []
            if len(there) == self.room(to):
                out = sorted((e for e in there if wanted[e] != to), key=self.rank)[-1:]
                if not out:
                    continue
            if len(moved | {extent, *out}) > allowed:
                break
            moved |= {extent, *out}
            for victim in out:
                self.at[victim] = self.backend
            self.at[extent] = to

    def count_move(self, extent: Extent, before: int, to: int) -> None:
        vm, add = extent[0], self.counts.add
        self.moved += 1
        for block in [b for b in self.written if (b[0], b[1] // self.extent) == extent]:
            self.leaves(block, "invalidations")
        if before == self.backend:
            self.counts.add_vm("backend_reads", vm, self.extent)
            add("fills", vm, to, self.extent)
            return
        add("copied_out", vm, before, self.extent)
        if to == self.backend:
            self.counts.add_vm("backend_writes", vm, self.extent)
            add("evictions", vm, before, self.extent)
            return
        down = to > before
        add("moved_down" if down else "moved_up", vm, before, self.extent)
        add("demotions" if down else "promotions", vm, to, self.extent)

    def release(self, vm: int) -> None:
        for block in [b for b in self.written if b[0] == vm]:
            self.leaves(block, "invalidations")
        for extent in [e for e in self.at if e[0] == vm]:
            if self.at[extent] < self.backend:
                self.counts.add("invalidations", vm, self.at[extent], self.extent)
            del self.at[extent], self.score[extent]

    def levels(self, vm: int) -> tuple[list[int], list[int], int]:
        held = [0] * self.backend
        for extent, tier in self.at.items():
            if extent[0] == vm and tier < self.backend:
                held[tier] += self.extent
        held[0] += sum(b[0] == vm for b in self.written)
        return held, self.capacities, sum(b[0] == vm for b in self.dirty)


class Hystor(Placer):
    """A cost by the size of the request, 2^max(0, 7 - floor(log2 N)) of N sectors; they add up."""

    def adds(self, request: Request, blocks: int) -> float:
        sectors = request.blocks * self.block_bytes // 512
        cost = 128
        while sectors >= 2 and cost > 1:
            sectors //= 2
            cost //= 2
        return cost

    def fade(self) -> None:
        while max(self.score.values(), default=0) >= self.params.get("saturation", 65_535):
            self.score = {extent: cost / 2 for extent, cost in self.score.items()}


class Vfrm(Placer):
    """Counts of blocks, or of small reads, of which an epoch leaves a share."""

    def adds(self, request: Request, blocks: int) -> float:
        if self.params.get("counts", "blocks") == "blocks":
            return blocks
        return float(not request.writes and request.blocks * self.block_bytes <= 16 * 1024)

    def fade(self) -> None:
        memory = self.params.get("memory", 0.5)
        self.score = {extent: count * memory for extent, count in self.score.items()}


class Edt(Placer):
    """Every extent where it costs least, by room or by operations; tiers take turns."""

    def __init__(self, tiers: Tiers, extent: int, disk: engine.Device, **params: Any) -> None:
        super().__init__(tiers, extent, **params)
        self.disk = disk

    def adds(self, request: Request, blocks: int) -> float:
        return float(1 - self.params["memory"])

    def fade(self) -> None:
        self.score = {extent: rate * self.params["memory"] for extent, rate in self.score.items()}

    def price(self, place: int, operations: float) -> float:
        """The greater of an extent's shares of capacity and operations."""
        device, extents = self.device(place)
        gb = self.extent * self.block_bytes / 1e9
        busy = device.busy_ns(self.block_bytes) / self.params["epoch"]
        return max(1 / extents, operations * busy) * extents * gb * device.dollars_per_gb

    def device(self, place: int) -> tuple[engine.Device, float]:
        if place == self.backend:
            gb = self.extent * self.block_bytes / 1e9
            return self.disk, self.params["drive_gb"] / gb
        return self.tiers[place][0], float(self.room(place))

    def wanted(self) -> dict[Extent, int]:
        wanted = dict.fromkeys(self.at, self.backend)
        for tier in range(self.backend):
            device, room = self.device(tier)
            operations = (
                self.params["busy"] * self.params["epoch"] / device.busy_ns(self.block_bytes)
            )
            saves = {}
            for extent, rate in self.score.items():
                if wanted[extent] == self.backend and rate > 0 and room >= 1:
                    slower = range(tier + 1, self.backend)
                    others = [k for k in slower if self.room(k) > 0]
                    elsewhere = min(self.price(k, rate) for k in [*others, self.backend])
                    saves[extent] = elsewhere - self.price(tier, rate)
            best = sorted(saves, key=lambda e: (-saves[e], self.at[e], *self.rank(e)[1:]))
            for extent in best:
                if saves[extent] > 0 and room >= 1 and self.score[extent] <= operations:
                    wanted[extent] = tier
                    room -= 1
                    operations -= self.score[extent]
        return wanted
