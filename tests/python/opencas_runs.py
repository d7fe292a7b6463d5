"""Replays of Open CAS with outcomes of OCF: made-up and recorded requests of blocks of 4 KiB.

Trusts: the library of OCF b8b4b704 (June 2026) in user space, with a clock that is set, one queue,
one request in flight, and queues that are run until they are empty after each request.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from naive_opencas import CREATED, NaiveOpenCas

SECOND = 1_000_000_000
MS = 1_000_000
OUTCOMES = ("hit", "partial", "miss", "pass")

Request = tuple[int, int, bool, int, int]
"""Time since the first request, block, whether it writes, blocks, and VM."""

_TWIN = {
    "nhit_threshold": "hits",
    "nhit_trigger": "trigger",
    "wake_up": "wake",
    "staleness": "stale",
    "flush_lines": "flush",
    "idle": "idle_ms",
    "dirty_ratio": "ratio",
}
_UNITS = {"wake_up": SECOND, "staleness": SECOND, "idle": MS}


class Expected(NamedTuple):
    """The counts of OCF."""

    lines: int  # of the device
    outcomes: tuple[int, ...]  # OUTCOMES
    cleaned: int  # lines
    checksum: int  # of outcome, occupied and dirty lines after each request


class Run(NamedTuple):
    """A replay: its requests, and parameters of system `open-cas`."""

    name: str
    expected: Expected
    keys: str = ""  # a recorded file; drawn requests by default
    mib: int = 40
    count: int = 3_000
    span: int = 4_000
    streams: float = 0.3  # share of requests that continue one
    lengths: tuple[int, ...] = (1, 1, 1, 2, 5, 30)
    writes: float = 0.4
    vms: int = 1
    params: Mapping[str, Any] = MappingProxyType({})

    def requests(self) -> list[Request]:
        seed = zlib.crc32(self.name.encode())
        return drawn(seed, self.span, self.count, self.streams, self.lengths, self.writes, self.vms)

    def system(self) -> dict[str, Any]:
        return system_params(self.params)

    def twin(self, lines: int) -> NaiveOpenCas:
        return NaiveOpenCas(lines, **twin_params(self.params))


def system_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with times in ns."""
    return {name: value * _UNITS.get(name, 1) for name, value in params.items()}


def twin_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same for NaiveOpenCas."""
    other = {_TWIN.get(name, name): value for name, value in params.items()}
    other["line_blocks"] = other.pop("line_kib", 4) // 4
    other["threshold"] = other.pop("cutoff_kib", 1024) << 10
    other["inertia"] = other.pop("dirty_inertia_mib", 128) << 20
    return other


def drawn(
    seed: int, span: int, count: int, streams: float, lengths: tuple[int, ...], writes: float,
    vms: int,
) -> list[Request]:  # fmt: skip
    """Draw skewed requests, six streams that others interrupt, and pauses."""
    draw = np.random.default_rng(seed)
    gaps = draw.choice([0.0005, 0.02, 1.0, 40.0], count, p=[0.8, 0.18, 0.0195, 0.0005])
    times = (np.cumsum(gaps * draw.random(count)) * SECOND).astype(np.int64)
    requests: list[Request] = []
    heads = [(0, False, 0)] * 6
    for time in (times - times[0]).tolist():
        block, write = int(span * draw.random() ** 2), bool(draw.random() < writes)
        vm, length = int(vms * draw.random() ** 2), int(draw.choice(lengths))
        if draw.random() < streams:
            head = int(draw.integers(6))
            if draw.random() > 0.02 and heads[head][0] < span:
                block, write, vm = heads[head]
            heads[head] = block + length, write, vm
        requests.append((time, block, write, length, vm))
    return requests


def recorded(words: list[str]) -> list[Request]:
    """Return requests of single blocks, 100 a second, of words KEY and R or W."""
    return [
        (number * 10 * MS, int(key), op == "W", 1, 0)
        for number, (key, op) in enumerate(zip(words[::2], words[1::2], strict=True))
    ]


def found(twin: NaiveOpenCas, requests: Iterable[Request]) -> tuple[Expected, list[bool]]:
    """Return what the twin does, and which requests hit."""
    checksum, hits = 0, []
    for time, *of in requests:
        outcome = twin.request(CREATED + time, *of)
        hits.append(outcome == "hit")
        state = f"{outcome} {twin.occupancy} {twin.dirty_lines}\n"
        checksum = zlib.crc32(state.encode(), checksum)
    outcomes = tuple(twin.counts[outcome] for outcome in OUTCOMES)
    return Expected(len(twin.lines), outcomes, twin.counts["cleaned"], checksum), hits


RUNS = (
    Run("defaults", Expected(1120, (1056, 442, 1313, 189), 0, 2639455988)),
    Run(
        "lines of 64 KiB",
        Expected(70, (558, 97, 2020, 325), 0, 1011882503),
        params={"line_kib": 64},
    ),
    Run(
        "more than 32 chunks",
        Expected(9312, (2046, 820, 713, 421), 0, 1245456179),
        mib=72,
        span=14_000,
        count=4_000,
        lengths=(3, 9, 30),
    ),
    Run(
        "cut-off",
        Expected(1120, (101, 41, 374, 2484), 0, 67079784),
        streams=0.9,
        params={"cutoff": "always", "cutoff_kib": 64},
    ),
    Run(
        "cut-off if full",
        Expected(560, (157, 68, 846, 1929), 0, 455197578),
        streams=0.7,
        vms=3,
        params={"cutoff_kib": 64, "line_kib": 8},
    ),
    Run(
        "no cut-off",
        Expected(1120, (624, 398, 1978, 0), 0, 806011277),
        vms=2,
        params={"cutoff": "never"},
    ),
    Run(
        "nhit",
        Expected(1120, (1165, 211, 162, 1462), 0, 3965034287),
        params={"promotion": "nhit", "nhit_trigger": 30},
    ),
    Run(
        "around",
        Expected(280, (730, 161, 1063, 1046), 0, 3202798683),
        params={"writes": "around", "line_kib": 16},
    ),
    Run("mode pass", Expected(1120, (0, 0, 0, 3000), 0, 1193051009), params={"writes": "pass"}),
    Run(
        "only",
        Expected(560, (830, 299, 1552, 319), 1517, 4033621246),
        params={"writes": "only", "line_kib": 8},
    ),
    Run(
        "back",
        Expected(1120, (426, 323, 1955, 296), 4042, 1810401083),
        vms=2,
        params={"writes": "back"},
    ),
    Run(
        "back with lines of 64 KiB",
        Expected(70, (476, 119, 2061, 344), 798, 2499276115),
        params={"writes": "back", "line_kib": 64},
    ),
    Run(
        "back with few clean lines",
        Expected(280, (804, 219, 1762, 215), 2923, 4293483877),
        writes=0.9,
        params={"writes": "back", "cleaning": "nop", "line_kib": 16},
    ),
    Run(
        "back with cut-off and nhit",
        Expected(1120, (396, 111, 226, 2267), 1069, 636366260),
        streams=0.6,
        params={
            "writes": "back",
            "cutoff": "always",
            "cutoff_kib": 32,
            "promotion": "nhit",
            "nhit_threshold": 2,
            "nhit_trigger": 0,
        },
    ),
    Run(
        "cleaning if idle",
        Expected(1120, (970, 445, 1481, 104), 3575, 2831370849),
        params={"writes": "back", "staleness": 10, "idle": 500, "wake_up": 3, "flush_lines": 10},
    ),
    Run(
        "dirty ratio",
        Expected(1120, (549, 318, 1908, 225), 6480, 1505761631),
        vms=3,
        params={"writes": "back", "dirty_ratio": 20, "dirty_inertia_mib": 1, "wake_up": 1},
    ),
    Run(
        "keys of zipf",
        Expected(1120, (15294, 0, 4706, 0), 0, 1214498805),
        keys="zipf",
        count=20_000,
    ),
    Run(
        "keys of zipfrw",
        Expected(1120, (15451, 0, 4530, 19), 608, 1599839236),
        keys="zipfrw",
        count=20_000,
        params={"writes": "back"},
    ),
    Run(
        "keys of loop600 in 64 KiB",
        Expected(70, (8360, 0, 255, 11385), 0, 3639043373),
        keys="loop600",
        count=20_000,
        params={"line_kib": 64},
    ),
    Run(
        "keys of scan8000",
        Expected(1120, (49, 0, 15951, 0), 0, 4179555011),
        keys="scan8000",
        count=20_000,
        params={"cutoff": "never"},
    ),
    Run(
        "keys of oltp",
        Expected(1120, (6052, 0, 4906, 9042), 0, 690552025),
        keys="oltp",
        count=20_000,
    ),
    Run(
        "keys of cs", Expected(1120, (3219, 0, 2101, 1461), 0, 1494524872), keys="cs", count=20_000
    ),
    Run(
        "keys of gli",
        Expected(1120, (1355, 0, 896, 3764), 0, 3953659038),
        keys="gli",
        count=20_000,
        params={"promotion": "nhit"},
    ),
    Run(
        "keys of multi1",
        Expected(1120, (10427, 0, 3803, 1628), 0, 1008137277),
        keys="multi1",
        count=20_000,
    ),
    Run(
        "keys of multi1 back",
        Expected(280, (8435, 0, 5703, 1720), 0, 725913835),
        keys="multi1",
        count=20_000,
        params={"writes": "back", "line_kib": 16},
    ),
    Run(
        "keys of hplajw",
        Expected(1120, (15637, 0, 4358, 5), 160, 1896631322),
        keys="hplajw4k",
        count=20_000,
        params={"writes": "back"},
    ),
)
