"""Caches that decide nothing about space, in plain Python: lists of blocks, each looked through."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from naive_replay import Block, Counts, Request


class Tiers:
    """Blocks by tier, each in one of them; those of VMs that are gone leave."""

    def __init__(self, capacities: Sequence[int]) -> None:
        self.capacities = list(capacities)
        self.backend = len(capacities)
        self.counts = Counts(capacities)

    def lists(self) -> list[list[list[Block]]]:
        """By tier, all that it holds."""
        raise NotImplementedError

    def find(self, block: Block) -> int:
        """The tier that has the block, or the backend."""
        tiers = (k for k, of in enumerate(self.lists()) if any(block in held for held in of))
        return next(tiers, self.backend)

    def arrives(self, request: Request, block: Block) -> int:
        """Count an access, and what the backend does for it; the tier that has the block."""
        tier = self.find(block)
        self.counts.found(request.vm, request.writes, tier)
        if tier == self.backend and not request.writes:
            self.counts.add_vm("backend_reads", request.vm)
        return tier

    def release(self, vm: int) -> None:
        for tier, held in enumerate(self.lists()):
            for blocks in held:
                for block in [b for b in blocks if b[0] == vm]:
                    blocks.remove(block)
                    self.counts.add("invalidations", vm, tier)

    def ring(self, timer: int, times: int) -> None:
        raise AssertionError("nothing to decide")

    def levels(self, vm: int) -> tuple[list[int], list[int], int]:
        held = [sum(b[0] == vm for blocks in of for b in blocks) for of in self.lists()]
        return held, self.granted(vm), 0

    def granted(self, vm: int) -> list[int]:
        return self.capacities


class Chain(Tiers):
    """An LRU stack for each part, cut where its tiers end; victims go down.

    A tier in which a part has no space is bypassed.

    `part_of` says by VM which part it has, `targets` by tier and part how large that is, and
    `modes` by VM what becomes of its writes.
    """

    def __init__(
        self, part_of: Sequence[int], targets: Sequence[Sequence[int]], modes: Sequence[str]
    ) -> None:
        super().__init__([sum(of_tier) for of_tier in targets])
        self.part_of, self.targets, self.modes = part_of, [list(t) for t in targets], modes
        self.held: list[list[list[Block]]] = [[[] for _ in of_tier] for of_tier in targets]
        self.dirty: list[Block] = []

    def lists(self) -> list[list[list[Block]]]:
        return self.held

    def serve(self, request: Request) -> None:
        self.counts.waited(request, [self.access(request, block) for block in request.touched])

    def access(self, request: Request, block: Block) -> int:
        """Serve an access; return what the VM waits for."""
        vm, mode, part = request.vm, self.modes[request.vm], self.part_of[request.vm]
        found = self.find(block)
        if request.writes and mode == "around":
            self.counts.found(vm, True, self.backend)
            self.counts.add_vm("backend_writes", vm)
            if found < self.backend:
                self.held[found][part].remove(block)
                self.counts.add("invalidations", vm, found)
            return self.backend
        self.arrives(request, block)
        to = next((k for k in range(found) if self.targets[k][part] > 0), found)
        if to < self.backend:
            self.comes_in(request, block, found, to)
        if not request.writes:
            return found
        if mode == "through" or to == self.backend:
            self.counts.add_vm("backend_writes", vm)
            return self.backend
        if block not in self.dirty:
            self.dirty.append(block)
            self.counts.add_vm("dirtied", vm)
        return to

    def comes_in(self, request: Request, block: Block, found: int, to: int) -> None:
        """Move the block from the tier that had it to the fastest with room, or leave it there."""
        part = self.part_of[request.vm]
        if found < self.backend:
            self.held[found][part].remove(block)
        if found == to:
            self.counts.add("updates", request.vm, to, int(request.writes))
        elif found < self.backend:
            self.counts.add("moved_up", request.vm, found)
            self.counts.add("promotions", request.vm, to)
        else:
            self.counts.add("fills", request.vm, to)
        self.held[to][part].append(block)
        self.settle(part)

    def settle(self, part: int) -> None:
        for tier, of_tier in enumerate(self.held):
            while len(of_tier[part]) > self.targets[tier][part]:
                block = of_tier[part].pop(0)
                below = range(tier + 1, self.backend)
                to = next((k for k in below if self.targets[k][part] > 0), self.backend)
                if to == self.backend:
                    self.counts.add("evictions", block[0], tier)
                    self.write_back(block, tier)
                    continue
                self.counts.add("moved_down", block[0], tier)
                self.counts.add("copied_out", block[0], tier)
                self.counts.add("demotions", block[0], to)
                self.held[to][part].append(block)

    def write_back(self, block: Block, tier: int) -> None:
        """Read the block from the tier, if it is dirty, and write it to the backend."""
        if block in self.dirty:
            self.dirty.remove(block)
            self.counts.add("copied_out", block[0], tier)
            self.counts.add_vm("write_backs", block[0])
            self.counts.add_vm("backend_writes", block[0])

    def release(self, vm: int) -> None:
        for block in [b for b in self.dirty if b[0] == vm]:
            self.write_back(block, self.find(block))
        super().release(vm)

    def granted(self, vm: int) -> list[int]:
        return [of_tier[self.part_of[vm]] for of_tier in self.targets]

    def levels(self, vm: int) -> tuple[list[int], list[int], int]:
        held, granted, _ = super().levels(vm)
        return held, granted, sum(b[0] == vm for b in self.dirty)


class Remoca(Chain):
    """The last tier is lost at the first timer's first ring, and there again at the second's."""

    def __init__(self, vms: int, capacities: Sequence[int], mode: str) -> None:
        super().__init__([0] * vms, [[blocks] for blocks in capacities], [mode] * vms)

    def ring(self, timer: int, times: int) -> None:
        if times == 1:
            self.targets[-1][0] = 0 if timer == 0 else self.capacities[-1]
            self.settle(0)


class Classes(Tiers):
    """Blocks by class: who comes in where there is no room, and who has to leave for it."""

    def __init__(
        self, capacities: Sequence[int], always: int, class_of: Callable[[Request], int]
    ) -> None:
        super().__init__(capacities)
        self.always, self.class_of = always, class_of
        self.held: list[list[Block]] = [[] for _ in capacities]
        self.of_class: dict[Block, int] = {}  # by the request that touched it last
        self.hits_of_class = [0] * 8

    def lists(self) -> list[list[list[Block]]]:
        return [[blocks] for blocks in self.held]

    def serve(self, request: Request) -> None:
        places = []
        for block in request.touched:
            found = self.arrives(request, block)
            self.of_class[block] = self.class_of(request)
            self.hits_of_class[self.class_of(request)] += found < self.backend
            if request.writes:
                self.counts.add_vm("backend_writes", request.vm)
            if found < self.backend:
                self.held[found].remove(block)
            self.comes_in(request, block, found)
            places.append(self.backend if request.writes else found)
        self.counts.waited(request, places)

    def taker(self, block: Block, tier: int) -> int:
        """The first tier from there on that has room, or has to let it in."""
        wanted = self.of_class[block] < self.always
        while tier < self.backend:
            has_room = len(self.held[tier]) < self.capacities[tier]
            if has_room or (wanted and self.capacities[tier]):
                break
            tier += 1
        return tier

    def comes_in(self, request: Request, block: Block, found: int) -> None:
        to = self.taker(block, 0)
        if to == self.backend:
            return
        if to == found:
            self.counts.add("updates", request.vm, to, int(request.writes))
        elif found < self.backend:
            self.counts.add("moved_up", request.vm, found)
            self.counts.add("promotions", request.vm, to)
        else:
            self.counts.add("fills", request.vm, to)
        self.put(block, to)

    def put(self, block: Block, tier: int) -> None:
        """The least recent of the class that matters least makes room."""
        if len(self.held[tier]) == self.capacities[tier]:
            last = max(self.of_class[b] for b in self.held[tier])
            victim = next(b for b in self.held[tier] if self.of_class[b] == last)
            self.held[tier].remove(victim)
            to = self.taker(victim, tier + 1)
            if to == self.backend:
                self.counts.add("evictions", victim[0], tier)
            else:
                self.counts.add("moved_down", victim[0], tier)
                self.counts.add("copied_out", victim[0], tier)
                self.counts.add("demotions", victim[0], to)
                self.put(victim, to)
        self.held[tier].append(block)


class LegacyLru(Tiers):
    """The Multi-Cache authors' two tiers: what leaves the first is lost, for it is the block that
    is asked for that comes into the second."""

    def __init__(self, capacities: Sequence[int]) -> None:
        super().__init__(capacities)
        self.held: list[list[Block]] = [[], []]

    def lists(self) -> list[list[list[Block]]]:
        # It looks in the second tier first.
        return [[self.held[0]], [self.held[1]]]

    def serve(self, request: Request) -> None:
        places = []
        for block in request.touched:
            found = 1 if block in self.held[1] else 0 if block in self.held[0] else 2
            self.counts.found(request.vm, request.writes, found)
            if request.writes or found == 2:
                kind = "backend_writes" if request.writes else "backend_reads"
                self.counts.add_vm(kind, request.vm)
            self.comes_in(request, block, found)
            places.append(self.backend if request.writes else found)
        self.counts.waited(request, places)

    def comes_in(self, request: Request, block: Block, found: int) -> None:
        first, second = self.held
        if self.capacities[0] == 0:
            if found == 1:
                self.counts.add("updates", request.vm, 1, int(request.writes))
                second.remove(block)
                second.append(block)
            else:
                self.comes_into_second(request, block)
            return
        if found == 0:
            self.counts.add("updates", request.vm, 0, int(request.writes))
            first.remove(block)
            first.append(block)
            return
        if found == 1:
            self.counts.add("moved_up", request.vm, 1)
            second.remove(block)
            if block in first:
                return
        self.counts.add("promotions" if found == 1 else "fills", request.vm, 0)
        first.append(block)
        if len(first) > self.capacities[0]:
            self.counts.add("evictions", first.pop(0)[0], 0)
            self.comes_into_second(request, block)

    def comes_into_second(self, request: Request, block: Block) -> None:
        if self.capacities[1] == 0:
            return
        second = self.held[1]
        self.counts.add("fills", request.vm, 1)
        second.append(block)
        if len(second) > self.capacities[1]:
            self.counts.add("evictions", second.pop(0)[0], 1)
