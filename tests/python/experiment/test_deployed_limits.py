"""Deployed caches with numbers that do not fit: an error, and no sum that overflows.

Trusts: the limits that each system declares.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from complaints import complaint
from hosts import add_vm, ran, tiered

from mcsim import ConfigError
from mcsim._core import engine

MS = 1_000_000
YEAR = 365 * 24 * 3600 * 1000 * MS
DEPLOYED: dict[str, dict[str, Any]] = {
    "dm-cache": {},
    "dm-writecache": {},
    "bcache": {"bucket_kib": 4},
    "open-cas": {"metadata": False},
    "zfs-arc": {"record_kib": 4, "overflow_kib": 0},
}
MACHINE = tiered(1_000, read_ns=1e5)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("dm-cache", "migration_threshold", 1 << 62),
        ("dm-cache", "origin_gib", 1e300),
        ("dm-cache", "created", 20 * YEAR),
        ("dm-cache", "phase", 20 * YEAR),
        ("dm-writecache", "created", 20 * YEAR),
        ("dm-writecache", "phase", 20 * YEAR),
        ("open-cas", "phase", 20 * YEAR),
        ("zfs-arc", "overflow_kib", 1 << 62),
        ("zfs-arc", "metadata_bytes", 1 << 62),
        ("zfs-arc", "other_bytes", 1 << 62),
    ],
)
def test_numbers_that_would_overflow_are_refused(name: str, key: str, value: float) -> None:
    assert f"{key}: " in complaint(engine.System, name, DEPLOYED[name] | {key: value}, MACHINE)


@pytest.mark.parametrize("name", DEPLOYED)
@pytest.mark.parametrize(
    ("rate", "last", "message"),
    [
        (1e-10, 2 * MS, "rate: 3 requests at 1e-10 per second take more than 100 years"),
        (0, 101 * YEAR, "times of the trace are more than 100 years apart: check their unit"),
        (-1, 2 * MS, "rate: "),
    ],
)
def test_replays_of_a_century_are_refused(name: str, rate: float, last: int, message: str) -> None:
    with pytest.raises((ConfigError, ValueError), match=message):
        replay(name, rate, last)


@pytest.mark.parametrize("name", DEPLOYED)
def test_replays_of_ninety_years_run(name: str) -> None:
    assert replay(name, 0, 90 * YEAR).vms["accesses"].sum() == 3


def replay(name: str, rate: float, last: int) -> engine.RunResult:
    system = engine.System(name, DEPLOYED[name] | {"rate": rate}, MACHINE)
    builder = engine.AccessBuilder(
        ops="all", addresses=True, line_blocks=system.view()["line_blocks"]
    )
    add_vm(builder, "vm", np.array([0, MS, last]), False, [0, 1, 0])
    return ran(builder.finish(), system, YEAR)
