"""Events of blktrace for a cache device, its origin and its cache."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

QUEUED, COMPLETED, REMAPPED = 1, 8, 15
READ, WRITE, FLUSH, META, DISCARD = 1, 2, 4, 1 << 12, 1 << 13
UPPER, ORIGIN, CACHE = 253 << 20 | 3, 253 << 20 | 2, 253 << 20


def event(
    time: int,
    kind: int,
    category: int,
    sector: int,
    device: int,
    size: int = 4096,
    source: tuple[int, int] | None = None,
    order: str = "<",
) -> bytes:
    data = b"" if source is None else struct.pack(">IIQ", source[0], device, source[1])
    head = struct.pack(
        f"{order}IIQQIIIIIHH", 0x65617407, 0, time, sector, size, category << 16 | kind, 1, device,
        0, 0, len(data),
    )  # fmt: skip
    return head + data


class Devices:
    """Events of three devices, with requests that go through them."""

    def __init__(self, order: str = "<") -> None:
        self.order = order
        self.time = 0
        self.files: dict[int, list[bytes]] = {UPPER: [], ORIGIN: [], CACHE: []}

    def add(self, kind: int, category: int, sector: int, device: int, **more: Any) -> None:
        self.time += 1_000
        one = event(self.time, kind, category, sector, device, order=self.order, **more)
        self.files[device].append(one)

    def request(self, category: int, sector: int, to: Sequence[tuple[int, int]]) -> None:
        """Send a request, mapped to sectors of devices."""
        self.add(QUEUED, category, sector, UPPER)
        for device, at in to:
            self.add(REMAPPED, category, at, device, source=(UPPER, sector))
            self.add(QUEUED, category, at, device)
            self.add(COMPLETED, category, at, device)
        self.add(COMPLETED, category, sector, UPPER)

    def copy(self, sector: int, at: int, *, back: bool = False) -> None:
        for device, where, category in (
            (CACHE if back else ORIGIN, at if back else sector, READ),
            (ORIGIN if back else CACHE, sector if back else at, WRITE),
        ):
            self.add(QUEUED, category, where, device, size=32_768)
            self.add(COMPLETED, category, where, device, size=32_768)

    def written(self, folder: Path) -> list[Path]:
        files = [folder / f"dm-{device & 0xFF}.blktrace.0" for device in self.files]
        for file, events in zip(files, self.files.values(), strict=True):
            file.write_bytes(b"".join(events))
        return files


def write_back() -> Devices:
    """Two read misses, a promotion, a read hit, a write hit, its write-back and a write miss."""
    devices = Devices()
    devices.request(READ, 640, [(ORIGIN, 640)])
    devices.request(READ, 1_280, [(ORIGIN, 1_280)])
    devices.copy(640, 0)
    devices.request(READ, 640, [(CACHE, 0)])
    devices.request(WRITE, 648, [(CACHE, 8)])
    devices.copy(640, 0, back=True)
    devices.request(WRITE, 6_400, [(ORIGIN, 6_400)])
    devices.add(QUEUED, WRITE | FLUSH, 0, UPPER, size=0)
    devices.add(QUEUED, DISCARD | WRITE, 0, UPPER)
    return devices


def bcache() -> Devices:
    """A read miss, a read hit, a write, and a write-back; the backing device completes them."""
    devices = Devices()
    for category, sector, reaches in ((READ, 80, True), (READ, 80, False), (WRITE, 160, True)):
        devices.add(QUEUED, category, sector, UPPER)
        if reaches:
            devices.add(QUEUED, category, sector + 16, ORIGIN)
            devices.add(COMPLETED, category, sector + 16, ORIGIN)
        if reaches or category == WRITE:
            devices.add(QUEUED, WRITE, 4_000, CACHE)
        devices.add(COMPLETED, category, sector + 16, ORIGIN)
    devices.add(QUEUED, WRITE | META, 8, CACHE)
    devices.add(QUEUED, WRITE, 800, ORIGIN)
    devices.add(COMPLETED, WRITE, 800, ORIGIN)
    return devices
