"""Cost of each system: a decision among many VMs, and its replay relative to `static`.

    ./mcsim bench controllers [--only WORD] [--vms 10,100,1000] [--accesses N]

A decision is the controller's time by what it decided, with hourly curves of Zipf popularity and a
loop in every third VM; those of no decision have none. Replays take turns with `static`'s on one
trace of ten VMs, three times each, and the fastest counts; so do those of `static` in every mode of
writing, one of which is another every hour, and those of a host with a cache probe and without, in
every chain, with one VM, ten and a hundred. Systems that place extents see the same requests in
extents; `static` does not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np

import mcsim
from mcsim._core import engine, locality
from mcsim.experiment.allocator import answering

HOUR = 3600 * 10**9
HOURS = 8
ROUNDS = 3


def interned(vms: int, accesses: int, line_blocks: int = 1) -> engine.Accesses:
    """Requests of a block each, by turns of chance, a third of them writes; a third of VMs loop."""
    rng = np.random.default_rng(vms)
    builder = engine.AccessBuilder(ops="all", line_blocks=line_blocks)
    each = accesses // vms
    for vm in range(vms):
        blocks = np.minimum(rng.zipf(1.2, each), 5000)
        if vm % 3 == 0:
            blocks = np.arange(each) % 400
        builder.begin_vm(f"vm{vm}")
        builder.add(
            np.sort(rng.integers(0, HOURS * HOUR, each)),
            np.zeros(each, np.uint16),
            (rng.random(each) < 0.3).astype(np.uint8),
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
    """Runs systems on one trace, and measures their meters."""

    def __init__(self, vms: int, accesses: int) -> None:
        self._machine = machine_for(vms)
        self._vms = vms
        self._count = accesses
        self._of_lines: dict[int, engine.Accesses] = {}

    def run(self, name: str, params: dict[str, Any] | None = None) -> engine.RunResult:
        """Return how a system did."""
        system = engine.System(name, params or {}, self._machine, interval=HOUR)
        return self._replay(system, system.view(ops="all")["line_blocks"])

    def run_allocator(self, allocator: Any) -> engine.RunResult:
        """Return how a system in Python did."""
        vms = [f"vm{vm}" for vm in range(self._vms)]
        asked = answering(allocator, type(allocator).__name__)
        return self._replay(engine.System.from_python(asked, self._machine, interval=HOUR, vms=vms))

    def _replay(self, system: engine.System, line_blocks: int = 1) -> engine.RunResult:
        if line_blocks not in self._of_lines:
            self._of_lines[line_blocks] = interned(self._vms, self._count, line_blocks)
        accesses = self._of_lines[line_blocks]
        measured = locality.characterise(accesses, system.meters)
        return engine.run(accesses, system, measured, engine.aligned_cuts(accesses, HOUR))


class Still:
    """Decides nothing."""

    interval = "1h"

    def allocate(self, seen: Any) -> None:
        """Return an empty decision."""


class Changing(Still):
    """Writes back and through in turns, an hour each; half of the VMs the other way round."""

    def allocate(self, seen: Any) -> Any:
        """Switch the write mode of every VM."""
        modes = ("back", "through")
        hour = seen.now // HOUR
        return mcsim.Decision(write_modes=[modes[(vm + hour) % 2] for vm in range(len(seen.vms))])


class Watching(Still):
    """Decides nothing, and reads a cache probe."""

    meters: ClassVar = {"host": {"meter": "host"}}


def under(chain: str, resize_mode: str, allocator: Any) -> Any:
    """Return the allocator, for tiers of that chain and parts of that kind."""
    allocator.data_path, allocator.resize_mode = {"chain": chain}, resize_mode
    return allocator


def systems(word: str) -> list[str]:
    """Return the names of the systems with the word in them."""
    return [entry["name"] for entry in engine.describe_systems() if word in entry["name"]]


def decisions(names: list[str], counts: list[int], accesses: int) -> Iterator[list[str]]:
    """Yield rows: system and seconds of a decision, by number of VMs."""
    runners = {vms: Runner(vms, max(accesses, 1000 * vms)) for vms in counts}
    for name in names:
        cells = [name]
        for runner in runners.values():
            result = runner.run(name)
            decided = len(result.decisions)
            if not decided:
                cells.append("–")
            else:
                cells.append(f"{1e3 * result.decide_seconds / decided:.2f}")
        yield cells


def fastest(*runs: Callable[[], engine.RunResult]) -> list[float]:
    """Return the seconds of the fastest replay of each, which take turns."""
    rounds = [[run().replay_seconds for run in runs] for _ in range(ROUNDS)]
    return [min(of_run) for of_run in zip(*rounds, strict=True)]


def replays(names: list[str], accesses: int) -> Iterator[list[str]]:
    """Yield rows: a system, its speed, and how many times `static` takes."""
    runner = Runner(10, accesses)

    def row(title: str, run: Callable[[], engine.RunResult]) -> list[str]:
        base, own = fastest(partial(runner.run, "static"), run)
        return [title, f"{accesses / own / 1e6:.1f}", f"{own / base:.2f}"]

    for name in names:
        yield row(name, partial(runner.run, name))
    for writes in ("through", "back", "around"):
        yield row(f"static, writes {writes}", partial(runner.run, "static", {"writes": writes}))
    yield row("static, writes change", partial(runner.run_allocator, Changing()))


CHAINS = ("exclusive", "victim", "inclusive", "independent")


def probed(counts: list[int], accesses: int) -> Iterator[list[str]]:
    """Yield rows: a chain and its resizing, and what the probe costs by the number of VMs."""
    runners = [Runner(vms, accesses) for vms in counts]
    for chain in CHAINS:
        for mode in ("eager", "lazy"):
            cells = [f"{chain}, {mode}"]
            for runner in runners:
                allocators = [under(chain, mode, of) for of in (Still(), Watching())]
                without, own = fastest(*(partial(runner.run_allocator, of) for of in allocators))
                cells.append(f"{accesses / without / 1e6:.1f}")
                cells.append(f"{own / without:.2f}")
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
    print("Cache probe: M/s without one, and how many times as long a replay with one takes\n")
    headings = [head for vms in (1, 10, 100) for head in (f"M/s, {vms} VMs", "× with probe")]
    show(["chain", *headings], probed([1, 10, 100], given.accesses))


if __name__ == "__main__":
    main()
