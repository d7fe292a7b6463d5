"""Machines, requests and runs of tests that use the engine by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mcsim._core import engine, locality


def tiered(
    *capacities: int,
    read_ns: float,
    write_ns: float | None = None,
    slower: float = 100,
    disk_ns: float = 1e7,
    **more: Any,
) -> engine.Machine:
    """Return tiers before a disk, each slower than the one above by a factor."""
    times = read_ns, read_ns if write_ns is None else write_ns
    tiers = [
        (engine.Device(f"tier {k}", *(ns * slower**k for ns in times), 1.0), blocks)
        for k, blocks in enumerate(capacities)
    ]
    return engine.Machine(tiers, engine.Device("disk", disk_ns, disk_ns, 0.1), **more)


def add_vm(
    builder: engine.AccessBuilder,
    name: str,
    time: ArrayLike,
    writes: ArrayLike,
    blocks: ArrayLike,
    lengths: ArrayLike = 1,
    *,
    arrives: int | None = None,
    **columns: Any,
) -> None:
    """Add a VM and its requests: when, whether they write, from which block on, and how many."""
    count = np.size(time)
    builder.begin_vm(name)
    if arrives is not None:
        builder.arrive(arrives)
    builder.add(
        np.asarray(time, np.int64),
        np.zeros(count, np.uint16),
        np.broadcast_to(writes, count).astype(np.uint8),
        np.asarray(blocks).astype(np.uint64) * np.uint64(4096),
        np.broadcast_to(lengths, count).astype(np.uint32) * np.uint32(4096),
        **columns,
    )


def ran(accesses: engine.Accesses, system: engine.System, interval: int) -> engine.RunResult:
    """Run a system on accesses that are measured for it."""
    measured = locality.characterise(accesses, system.meters)
    return engine.run(accesses, system, measured, engine.aligned_cuts(accesses, interval))
