"""Replays of the ARC of OpenZFS with counts of its source: made-up reads of whole records.

Trusts: arc.c of OpenZFS 2.4.99 (be7657e3) in user space: one read in flight, no prefetch, no
compression, one list per state, a clock that is set, and eviction that ends before the next read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MS = 1_000_000
KIB = 1024
METADATA = 885_760
"""Bytes of buffers of metadata of the pools of these replays."""

Read = tuple[int, int]
"""Time since the first read in ns, record."""


class Counts(NamedTuple):
    """Reads by where their record was; `digest` is of the outcome of each read."""

    mru: int
    mfu: int
    mru_ghost: int
    mfu_ghost: int
    share: int  # of MRU in data at the end, in units of 2**-32
    digest: str


class Run(NamedTuple):
    """A replay: its reads, size and clock, and what the source counts."""

    keys: str
    mib: int
    hz: int
    other: int  # bytes of the ARC, without buffers and headers of records
    counts: Counts
    record: int = 16 * KIB
    overflow: int = 256 * KIB  # zfs_max_recordsize
    span: int = 1_500
    count: int = 8_000

    @property
    def name(self) -> str:
        return f"{self.keys}, {self.mib} MiB, {self.hz} Hz"

    def reads(self) -> list[Read]:
        draw = np.random.default_rng(self.count + self.span)
        index = np.arange(self.count)
        hot = (self.span * draw.random(self.count) ** 3).astype(np.int64) * 7 % self.span
        times = np.cumsum(draw.random(self.count) * 20 * MS).astype(np.int64)
        if self.keys == "loop":
            hot = index % (self.span // 2)
        elif self.keys == "scans":
            hot = np.where(index // 1_000 % 3 == 2, index % self.span, hot // 3)
        elif self.keys == "bursts":
            hot = np.repeat(hot, 3)[: self.count]
            times = np.cumsum(np.resize([1, 25, 70], self.count) * MS)
        elif self.keys == "phases":
            hot = (hot + index // 2_000 * 400) % self.span
        return list(zip((times - times[0]).tolist(), hot.tolist(), strict=True))


RUNS = (
    Run("skewed", 8, 250, 90792, Counts(707, 3635, 450, 505, 1269013977, "18dbef460230ffe7")),
    Run("skewed", 16, 1000, 90792, Counts(1023, 4893, 187, 359, 856781619, "7860ff2ba0abe692")),
    Run("loop", 8, 250, 90792, Counts(0, 0, 0, 0, 2147483648, "668946bab9868b28")),
    Run("loop", 16, 1000, 90792, Counts(750, 6500, 0, 0, 2147483648, "3396e4670406d8c7")),
    Run("scans", 8, 250, 90792, Counts(515, 4599, 1, 236, 203994767, "e10ab89c9df63223")),
    Run("scans", 16, 1000, 90792, Counts(492, 4892, 0, 0, 2147483648, "174b8e82b43c3fd3")),
    Run("bursts", 8, 250, 90792, Counts(2552, 4149, 0, 23, 1790297673, "8671e8b6c4e39307")),
    Run("bursts", 16, 1000, 90792, Counts(1970, 5044, 0, 1, 2139365577, "f117278931b70963")),
    Run("phases", 8, 250, 90792, Counts(1065, 3065, 453, 475, 1847803105, "861a0357ab67e972")),
    Run("phases", 16, 1000, 90792, Counts(1308, 4348, 194, 345, 917327648, "f66b3104d3d770b0")),
)  # fmt: skip
