"""Tiers with delayed hits, in plain Python: when the data of each block arrives, and from where."""

from __future__ import annotations

from collections.abc import Sequence

from naive_hosts import Chain
from naive_replay import Block, Request


class DelayedChain(Chain):
    """The chain of `naive_hosts.Chain`, in which fetches take time.

    `delays` says by tier whether it has delayed hits, `tier_ns` by tier and `backend_ns` by VM how
    long a read takes.
    """

    def __init__(
        self,
        part_of: Sequence[int],
        targets: Sequence[Sequence[int]],
        modes: Sequence[str],
        *,
        delays: Sequence[bool],
        tier_ns: Sequence[int],
        backend_ns: Sequence[int],
    ) -> None:
        super().__init__(part_of, targets, modes)
        self.delays, self.tier_ns, self.backend_ns = delays, tier_ns, backend_ns
        self.arrival: dict[Block, int] = {}  # time at which the data of a block is there
        self.origin: dict[Block, int] = {}  # where it comes from
        self.rest = 0  # how long the access waits for a fetch

    def read_ns(self, vm: int, place: int) -> int:
        return self.backend_ns[vm] if place == self.backend else self.tier_ns[place]

    def arrives(self, request: Request, block: Block) -> int:
        tier = self.find(block)
        is_fetched = block in self.arrival and tier < self.origin[block] and self.delays[tier]
        if request.writes or not is_fetched or self.arrival[block] <= request.time:
            return super().arrives(request, block)
        self.rest = self.arrival[block] - request.time
        self.counts.add_vm("accesses", request.vm)
        self.counts.add_vm("delayed_hits", request.vm)
        self.counts.add_vm("delayed_ns", request.vm, self.rest)
        return tier

    def serve(self, request: Request) -> None:
        kind, vm = "write" if request.writes else "read", request.vm
        places, rests = [], []
        for block in request.touched:
            found, self.rest = self.find(block), 0
            place = self.access(request, block)
            if self.rest:
                rests.append(self.rest)
                continue
            places.append(place)
            self.counts.add(f"{kind}s_served", vm, place)
            self.fetch(request, block, found)
        slowest = self.read_ns(vm, max(places)) if places else 0
        if rests and max(rests) > slowest:
            self.counts.add_vm("delayed_requests", vm)
            self.counts.add_vm("request_delay_ns", vm, max(rests))
        else:
            self.counts.add(f"{kind}_requests", vm, max(places))

    def fetch(self, request: Request, block: Block, found: int) -> None:
        """Begin the fetch of a read that moved the block into a tier with delayed hits."""
        now = self.find(block)
        if found == 0 and not request.writes:
            return
        self.arrival.pop(block, None)
        if not request.writes and now < found and self.delays[now]:
            self.arrival[block] = request.time + self.read_ns(request.vm, found)
            self.origin[block] = found
