"""What each system costs: a decision among many VMs, and its replay beside that of `static`.

    ./mcsim bench controllers [--only WORD] [--vms 10,100,1000] [--accesses N]

A decision is the controller's time by what it decided, with hourly curves of Zipf popularity and a
loop in every third VM; those of no decision have none. Replays take turns with `static`'s on one
trace of ten VMs, three times each, and the fastest counts; so do those of a host whose meters are
read, each kind of them, and of the same without, of one VM, ten and a hundred.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from mcsim._core import engine, locality
from mcsim.experiment.allocator import answering

HOUR = 3600 * 10**9
HOURS = 8
ROUNDS = 3


def interned(vms: int, accesses: int, writes: float = 0.3) -> engine.Accesses:
    """Requests of a block each, by turns of chance; a third of the VMs loop."""
    rng = np.random.default_rng(vms)
    builder = engine.AccessBuilder(ops="all")
    each = accesses // vms
    for vm in range(vms):
        blocks = np.minimum(rng.zipf(1.2, each), 5000)
        if vm % 3 == 0:
            blocks = np.arange(each) % 400
        builder.begin_vm(f"vm{vm}")
        builder.add(
            np.sort(rng.integers(0, HOURS * HOUR, each)),
            np.zeros(each, np.uint16),
            (rng.random(each) < writes).astype(np.uint8),
            blocks.astype(np.uint64) * np.uint64(4096),
            np.full(each, 4096, np.uint32),
        )
    return builder.finish()


def machine_for(vms: int) -> engine.Machine:
    """Two tiers of 50 and 200 blocks a VM."""
    return engine.Machine(
        [
            (engine.Device("dram", 30.0, 30.0, 10.0), 50 * vms),
            (engine.Device("flash", 25e3, 200e3, 2.0), 200 * vms),
        ],
        engine.Device("hdd", 6.5e6, 6.5e6, 0.1),
    )


class Runner:
    """Runs systems on one trace, and measures what they ask for."""

    def __init__(self, vms: int, accesses: int) -> None:
        self._machine = machine_for(vms)
        self._vms = vms
        self._count = accesses
        self._of_lines: dict[int, engine.Accesses] = {1: interned(vms, accesses)}

    def run(self, name: str, params: dict[str, Any] | None = None) -> engine.RunResult | None:
        """Return how a system did; None of one that sees the trace in lines or extents."""
        system = engine.System(name, params or {}, self._machine, interval=HOUR)
        if system.view(ops="all")["line_blocks"] > 1:
            return None
        return self._replay(system)

    def run_allocator(self, allocator: Any) -> engine.RunResult:
        """Return how a system in Python did."""
        vms = [f"vm{vm}" for vm in range(self._vms)]
        asked = answering(allocator, type(allocator).__name__, HOUR)
        return self._replay(engine.System.from_python(asked, self._machine, interval=HOUR, vms=vms))

    def _replay(self, system: engine.System) -> engine.RunResult:
        accesses = self._of_lines[1]
        measured = locality.characterise(accesses, system.meters)
        return engine.run(accesses, system, measured, engine.aligned_cuts(accesses, HOUR))


class Still:
    """Decides nothing."""

    interval = "1h"

    def allocate(self, seen: Any) -> None:
        """Leave all as it is."""


class Watching(Still):
    """Decides nothing, and looks at what the cache knows."""

    def __init__(self, **asked: int) -> None:
        self.meters = {"host": {"meter": "host", **asked}}


def systems(word: str) -> list[str]:
    """Return the names of the systems with the word in them."""
    return [entry["name"] for entry in engine.describe_systems() if word in entry["name"]]


def decisions(names: list[str], counts: list[int], accesses: int) -> Iterator[list[str]]:
    """Yield rows: a system, and what a decision takes with so many VMs."""
    runners = {vms: Runner(vms, max(accesses, 1000 * vms)) for vms in counts}
    for name in names:
        cells = [name]
        for runner in runners.values():
            result = runner.run(name)
            decided = len(result.decisions) if result is not None else 0
            if result is None or not decided:
                cells.append("–")
            else:
                cells.append(f"{1e3 * result.decide_seconds / decided:.2f}")
        yield cells


def fastest(*runs: Callable[[], engine.RunResult | None]) -> list[float | None]:
    """Return the seconds of the fastest replay of each, which take turns."""
    best: list[float | None] = [None] * len(runs)
    for _ in range(ROUNDS):
        for i, run in enumerate(runs):
            result = run()
            if result is None:
                continue
            seconds = result.replay_seconds
            known = best[i]
            best[i] = seconds if known is None else min(known, seconds)
    return best


def replays(names: list[str], accesses: int) -> Iterator[list[str]]:
    """Yield rows: a system, its speed, and how many times `static` takes."""
    runner = Runner(10, accesses)

    def row(name: str, base: float | None, seconds: float | None) -> list[str]:
        if seconds is None or base is None:
            return [name, "–", "–"]
        return [name, f"{accesses / seconds / 1e6:.1f}", f"{seconds / base:.2f}"]

    for name in names:
        base, own = fastest(lambda: runner.run("static"), lambda name=name: runner.run(name))
        yield row(name, base, own)
    for writes in ("through", "back", "around"):
        params = {"writes": writes}
        base, own = fastest(
            lambda: runner.run("static"), lambda params=params: runner.run("static", params)
        )
        yield row(f"static, writes {writes}", base, own)


def metered(counts: list[int], accesses: int) -> Iterator[list[str]]:
    """Yield rows: what the host is asked for, and how many times as long as without it takes."""
    runners = [Runner(vms, accesses) for vms in counts]
    for asked in ({}, {"ghosts": 1000}, {"tail": 100}, {"ghosts": 1000, "tail": 100}):
        cells = [", ".join(f"{name} {value}" for name, value in asked.items()) or "no more"]
        for runner in runners:
            without, own = fastest(
                partial(runner.run_allocator, Still()),
                partial(runner.run_allocator, Watching(**asked)),
            )
            cells.append(f"{own / without:.2f}" if own and without else "–")
        yield cells


def show(headings: list[str], rows: Iterator[list[str]]) -> None:
    """Print a Markdown table, row by row."""
    print("| " + " | ".join(headings) + " |")
    print("| --- |" + " ---: |" * (len(headings) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="WORD", help="systems with it in their name")
    parser.add_argument("--vms", default="10,100,1000", help="numbers of VMs that share a host")
    parser.add_argument("--accesses", type=int, default=2_000_000, help="of a replay")
    given = parser.parse_args()
    counts = [int(count) for count in given.vms.split(",")]
    names = systems(given.only)
    print("Milliseconds a decision, by the number of VMs\n")
    show(
        ["system", *(f"{count:,}" for count in counts)],
        decisions(names, counts, given.accesses // 10),
    )
    print("Replay: million accesses a second, and how many times as long as `static` it takes\n")
    show(["system", "M/s", "× static"], replays(names, given.accesses))
    print("Meters of the host: times as long as the same replay without, by the number of VMs\n")
    show(["asked for", "1", "10", "100"], metered([1, 10, 100], given.accesses))


if __name__ == "__main__":
    main()
