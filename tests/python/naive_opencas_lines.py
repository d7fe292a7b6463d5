"""Cache lines of Open CAS, and in which order its lists give them."""

from __future__ import annotations

LISTS, CHUNK = 32, 256

CoreLine = tuple[int, int]
"""A core device, and the number of one of its lines."""


class Line:
    """A cache line: its core line, and numbers of blocks in it that are valid and dirty."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.core: CoreLine | None = None
        self.valid: set[int] = set()
        self.dirty: set[int] = set()
        self.changed = 0  # second of the last write, while dirty


def list_of(line: Line) -> int:
    return line.number // CHUNK % LISTS


class Places:
    """Lists in turn: 255 lines of the first one, then 256 of each that has some."""

    def __init__(self, first: int) -> None:
        self.place, self.taken = first, 0
        self.left = set(range(LISTS))

    def __next__(self) -> int:
        self.taken += 1
        if self.taken >= CHUNK or self.place not in self.left:
            self.taken = 0
            self.place = min(self.left, key=lambda place: (place - self.place - 1) % LISTS)
        return self.place

    def drop(self, place: int) -> None:
        self.left.discard(place)


def freed_first(lines: int) -> list[int]:
    """Return the order of free lines: the chunks of a list in the order of reversed bits."""
    stripe = LISTS * CHUNK
    order: list[int] = []
    for place in range(LISTS):
        chunks = range(place * CHUNK, lines, stripe)
        bits = max(len(chunks) - 1, 1).bit_length()
        by_bits = sorted(range(len(chunks)), key=lambda chunk: int(f"{chunk:0{bits}b}"[::-1], 2))
        for chunk in by_bits:
            order += range(chunks[chunk], min(chunks[chunk] + CHUNK, lines))
    return order


def core_of(line: Line) -> CoreLine:
    assert line.core is not None
    return line.core
