"""Requests of a cache device, matched with the events of the devices below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from mcsim.traces.block_events import (
    COMPLETED,
    DISCARD,
    META,
    QUEUED,
    REMAPPED,
    SECTOR,
    WRITE,
    BlockEvents,
)

BCACHE_SHIFT = 16
"""Sectors of the superblock before the data of a backing device of bcache."""


@dataclass
class Request:
    """A request of the cache device."""

    time: int
    sector: int
    bytes: int
    writes: bool
    done: int | None = None
    cached: int = 0  # bytes that were mapped to the cache
    reaches_origin: bool = False

    @property
    def is_cached(self) -> bool:
        """Whether the cache had, or took, the whole request."""
        return self.cached >= self.bytes


@dataclass
class Copies:
    """Bytes of each request of a device that no request of the cache device caused."""

    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    metadata: list[int] = field(default_factory=list)

    def add(self, category: int, size: int) -> None:
        """Count a request."""
        if category & META:
            self.metadata.append(size)
        else:
            (self.writes if category & WRITE else self.reads).append(size)


class Matching:
    """The requests of a cache device, matched to events of the devices below.

    Attributes
    ----------
    requests : list of Request
        Those with data, in the order of time.
    copies : dict
        By device: requests that are copies, or metadata.
    left_out : int
        Flushes and discards of the cache device.
    linked : Counter
        By device: events that belong to a request.
    """

    def __init__(self, upper: BlockEvents, below: Mapping[str, BlockEvents]) -> None:
        self.upper, self.below = upper, below
        self.requests: list[Request] = []
        self.copies = {name: Copies() for name in below}
        self.left_out = 0
        self.linked: Counter[str] = Counter()
        self._in_flight: list[Request] = []

    def match_remaps(self) -> None:
        """Match by remap events, which the device mapper writes to the devices below."""
        remapped: dict[str, Counter[tuple[int, int, int]]] = {
            name: Counter() for name in self.below
        }
        for name, event, category, sector, size, time, source in self._events():
            if name == "":
                self._follow(event, category, sector, size, time)
                continue
            key = (sector, size, category & WRITE)
            if event == REMAPPED:
                remapped[name][key] += 1
                if source is not None and (request := self._at(source, category)) is not None:
                    self.linked[name] += 1
                    request.cached += size * (name == "cache")
                    request.reaches_origin |= name == "origin"
            elif event == QUEUED:
                if remapped[name][key]:
                    remapped[name][key] -= 1
                elif size:
                    self.copies[name].add(category, size)

    def match_bcache(self) -> None:
        """Match by sectors and completions of the backing device, as bcache writes no remaps."""
        own: Counter[tuple[int, int, int]] = Counter()
        for name, event, category, sector, size, time, _ in self._events():
            if name == "":
                self._follow(event, category, sector, size, time)
                continue
            key = (sector, size, category & WRITE)
            if event == QUEUED:
                request = None
                if name == "origin":
                    own[key] += 1
                    request = self._at(sector - BCACHE_SHIFT, category)
                if request is not None:
                    request.reaches_origin = True
                elif size:
                    self.copies[name].add(category, size)
            elif event == COMPLETED and name == "origin":
                if own[key]:
                    own[key] -= 1
                else:
                    self.linked[name] += self._complete(sector - BCACHE_SHIFT, size, category, time)

    def _follow(self, event: int, category: int, sector: int, size: int, time: int) -> None:
        """Process an event of the cache device."""
        if event == QUEUED and (size == 0 or category & DISCARD):
            self.left_out += 1
        elif event == QUEUED:
            self.requests.append(Request(time, sector, size, bool(category & WRITE)))
            self._in_flight.append(self.requests[-1])
        elif event == COMPLETED:
            self._complete(sector, size, category, time)

    def _complete(self, sector: int, size: int, category: int, time: int) -> bool:
        """Complete the oldest such request. Return whether there is one."""
        wanted = (sector, size, bool(category & WRITE))
        for at, request in enumerate(self._in_flight):
            if (request.sector, request.bytes, request.writes) == wanted:
                request.done = time
                del self._in_flight[at]
                return True
        return False

    def _at(self, sector: int, category: int) -> Request | None:
        """Return the request in flight that has a sector, the newest of several."""
        for request in reversed(self._in_flight):
            covers = request.sector <= sector < request.sector + request.bytes // SECTOR
            if covers and request.writes == bool(category & WRITE):
                return request
        return None

    def _events(self) -> Iterator[tuple[str, int, int, int, int, int, int | None]]:
        """Yield the events of all devices by time, those of the cache device first.

        Each has the name of its device, '' for the cache device, and the sector there of remaps.
        """
        devices = {"": self.upper, **self.below}
        time = np.concatenate([events.time for events in devices.values()])
        rank = np.repeat(np.arange(len(devices)), [len(of.time) for of in devices.values()])
        rows = [
            zip(
                *(getattr(of, name).tolist() for name in ("event", "category", "sector", "bytes")),
                of.time.tolist(),
                np.where(of.from_device == self.upper.device, of.from_sector, -1).tolist(),
                strict=True,
            )
            for of in devices.values()
        ]
        names = list(devices)
        for of in rank[np.lexsort((rank, time))].tolist():
            event, category, sector, size, at, source = next(rows[of])
            yield names[of], event, category, sector, size, at, None if source < 0 else source
