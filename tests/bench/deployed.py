"""Speed of deployed caches on one core: accesses per second of an interned trace in memory.

Run as

    python tests/bench/deployed.py [--accesses N] [--only WORD]

Reads of Zipf popularity and a third of writes, 4 KiB each, 10,000 a second, through a cache for a
tenth of the blocks. The best of three replays counts, without the interning. The exit code is 1 if
a system is slower than its goal.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from mcsim._core import engine, locality

GOALS = {"dm-cache": 10.0, "dm-writecache": 5.0, "bcache": 5.0, "open-cas": 5.0, "zfs-arc": 5.0}
"""Million accesses per second."""
BLOCKS = 1 << 20
BLOCK = 4096
RUNS = (
    ("dm-cache", {}),
    ("dm-cache", {"writes": "back"}),
    ("dm-writecache", {}),
    ("bcache", {"bucket_kib": 64}),
    ("bcache", {"bucket_kib": 64, "writes": "back"}),
    ("open-cas", {}),
    ("open-cas", {"writes": "back"}),
    ("open-cas", {"line_kib": 64}),
    ("zfs-arc", {}),
)


def interned(accesses: int, line_blocks: int) -> engine.Accesses:
    """Return the trace; hot blocks are neighbours, as in files."""
    draw = np.random.default_rng(49)
    blocks = (BLOCKS * draw.random(accesses) ** 4).astype(np.uint64)
    view = {"ops": "all", "addresses": True, "bytes": True, "line_blocks": line_blocks}
    builder = engine.AccessBuilder(**view)
    builder.begin_vm("vm")
    builder.add(
        np.arange(accesses) * 100_000, np.zeros(accesses, np.uint16),
        (draw.random(accesses) < 1 / 3).astype(np.uint8), blocks * np.uint64(BLOCK),
        np.full(accesses, BLOCK, np.uint32),
    )  # fmt: skip
    return builder.finish()


def rate_of(name: str, params: dict[str, object], accesses: int) -> tuple[float, float]:
    """Return the million accesses per second, and the hit ratio."""
    devices = (engine.Device(each, 1e5, 1e5, 0) for each in ("ssd", "disk"))
    machine = engine.Machine([(next(devices), BLOCKS // 10)], next(devices))
    lines = engine.System(name, params, machine).view()["line_blocks"]
    trace = interned(accesses, lines)
    cuts = np.array([0, trace.request_count], np.int64)
    best, hits = np.inf, 0
    for _ in range(3):
        system = engine.System(name, params, machine)
        begun = time.process_time()
        result = engine.run(trace, system, locality.Characterised(), cuts)
        best = min(best, time.process_time() - begun)
        hits = int(result.tiers["hits"].sum())
    return accesses / best / 1e6, hits / accesses


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--accesses", type=int, default=10_000_000)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    is_slow = False
    print(f"{'system':<36}{'M accesses/s':>13}{'goal':>6}{'hit %':>8}")
    for name, params in RUNS:
        title = name + "".join(f" {key}={value}" for key, value in params.items())
        if asked.only not in title:
            continue
        rate, ratio = rate_of(name, params, asked.accesses)
        is_slow |= rate < GOALS[name]
        print(f"{title:<36}{rate:>13.1f}{GOALS[name]:>6.0f}{100 * ratio:>8.2f}", flush=True)
    sys.exit(1 if is_slow else 0)


if __name__ == "__main__":
    main()
