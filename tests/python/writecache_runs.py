"""Replays of dm-writecache with counts of a kernel: made-up requests, 4 KiB a block.

Trusts: `dmsetup status` of Linux 6.1.176 as a process, paced, one request in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

SECOND = 1_000_000_000
KINDS = (
    "free",
    "reads",
    "read hits",
    "writes",
    "hits uncommitted",
    "hits committed",
    "writes around",
    "writes allocate",
)

Request = tuple[int, int, bool, int]
"""Time since the first request, block, whether it writes, blocks."""


class Run(NamedTuple):
    """A replay: its requests, and what differs from the defaults of the kernel."""

    name: str
    counts: tuple[int, ...]  # KINDS
    created: int  # since the boot, in ns
    first: int = 3_003_000_000  # the first request
    mib: int = 8
    count: int = 4_000
    rate: int = 500
    span: int = 8_000
    lengths: tuple[int, ...] = (1,)
    writes: float = 0.6
    large: int = 0  # blocks of every hundredth request, after which 4 s pass
    options: Mapping[str, int] = MappingProxyType({})  # of the kernel

    def requests(self) -> list[Request]:
        draw = np.random.default_rng(self.count + self.span)
        blocks = (self.span * draw.random(self.count) ** 3).astype(int)
        lengths = np.array(self.lengths)[(len(self.lengths) * draw.random(self.count)).astype(int)]
        writes = draw.random(self.count) < self.writes
        index = np.arange(self.count)
        times = index * (SECOND // self.rate)
        if self.large:
            chosen = index % 100 == 99
            blocks[chosen] = self.span + self.large * (index[chosen] // 100)
            lengths[chosen], writes[chosen] = self.large, True
            times += 4 * SECOND * (index // 120)
        return list(
            zip(times.tolist(), blocks.tolist(), writes.tolist(), lengths.tolist(), strict=True)
        )

    def system(self) -> dict[str, float]:
        """Return the parameters of system `dm-writecache`."""
        times = {"max_age": 1_000_000, "autocommit_time": 1_000_000, "pause_writeback": 1_000_000}
        params = {name: value * times.get(name, 1) for name, value in self.options.items()}
        return params | {"created": self.created, "phase": self.first - self.created}

    def twin(self) -> dict[str, int]:
        """Return the same for NaiveWritecache."""
        names = {"high_watermark": "high", "low_watermark": "low", "pause_writeback": "pause"}
        params = {names.get(name, name): int(value) for name, value in self.system().items()}
        del params["phase"]
        return params


RUNS = (
    Run(
        "single blocks",
        (267, 1600, 356, 2400, 361, 185, 0, 1854),
        1_914_702_080,
        rate=1_000,
        mib=2,
        span=4_000,
    ),
    Run(
        "several blocks",
        (1026, 5297, 1604, 7398, 533, 642, 0, 6223),
        1_883_357_056,
        2_003_000_000,
        lengths=(1, 1, 2, 4, 8),
    ),
    Run(
        "mostly writes",
        (1091, 452, 136, 7488, 694, 885, 0, 5909),
        2_033_430_784,
        writes=0.95,
        lengths=(1, 3),
    ),
    Run(
        "watermarks",
        (162, 3115, 981, 4913, 317, 699, 0, 3897),
        1_982_535_040,
        mib=4,
        span=6_000,
        lengths=(1, 3),
        options={"high_watermark": 90, "low_watermark": 80},
    ),
    Run(
        "commits",
        (522, 5194, 1323, 8096, 114, 729, 0, 7253),
        1_913_067_904,
        mib=4,
        span=6_000,
        lengths=(1, 3, 6),
        options={"autocommit_blocks": 100},
    ),
    Run(
        "age",
        (1274, 2027, 652, 2983, 95, 533, 0, 2355),
        1_956_469_376,
        span=6_000,
        rate=200,
        count=2_500,
        lengths=(1, 3),
        options={"max_age": 5_000},
    ),
    Run(
        "writes around",
        (0, 243, 11, 3951, 22, 0, 1637, 2292),
        1_967_804_032,
        mib=2,
        span=4_000,
        rate=100,
        count=600,
        large=600,
    ),
)
