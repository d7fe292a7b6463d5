"""Overhead of sweeps, and limits of thousands of cells over many workers.

`threads` and `dask` run one grid of an OLTP-like trace of a million accesses, `store` looks at ten
thousand cells that are finished, `scale` counts on: 10,000 cells over 64 workers that die, as a
model of events with the costs that were measured. Run as

    python tests/bench/sweeps.py [--parts threads,dask,store,scale] [--cells 1000]

Overhead of a cell is what the sweep took, times those that worked, less all replays, a cell; on a
busy machine, compare the processor time.
"""

from __future__ import annotations

import argparse
import heapq
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from dask_workers import local_workers

import mcsim as mc
from mcsim.base.threads import threads_given
from mcsim.results.runs import bytes_below

POLICIES = ("lru", "fifo", "clock", "sieve", "s3-fifo", "arc", "2q", "lirs", "slru", "w-tinylfu")
PROFILE = """
name: oltp
seed: 1
vms:
  db:
    components:
      pages: {{zipf: {{blocks: 200_000, alpha: 0.9}}, sizes: {{4KiB: 3, 8KiB: 1}}}}
    phases:
      - {{duration: 1h, requests: {requests}, reads: pages, writes: pages}}
"""


def experiment(folder: Path, requests: int) -> dict[str, Any]:
    """An experiment of one tier on a trace with 1.25 times the accesses."""
    profile = folder / f"oltp{requests}.yaml"
    profile.write_text(PROFILE.format(requests=requests))
    return {
        "name": "oltp",
        "interval": "1h",
        "opt": False,
        "workload": {"profile": str(profile)},
        "tiers": [{"device": "dram", "capacity": 1000}],
        "systems": ["lru"],
    }


def grid(cells: int) -> dict[str, Any]:
    """Ten policies at a number of sizes."""
    return {
        "systems": [{"name": "hierarchy", "policy": policy} for policy in POLICIES],
        "tiers.0.capacity": f"log(1000, 200_000, {cells // len(POLICIES)})",
    }


def replays(swept: mc.Sweep) -> float:
    """Seconds of all replays, as cells counted them."""
    cells = range(len(swept.plan))
    return sum(swept.results(cell).timings["stages"]["replay"] for cell in cells)


def tell(what: str, swept: mc.Sweep, seconds: float, used: float, workers: int) -> float:
    """Print what a sweep took; return the overhead of a cell in seconds."""
    cells, alone = len(swept.plan), replays(swept)
    overhead = (seconds * workers - alone) / cells
    print(
        f"{what:<34} {seconds:7.2f} s  {cells} cells; replays {alone:.2f} s on {workers}: "
        f"{seconds * workers / alone:.3f} times; beside its replay a cell takes "
        f"{1e3 * overhead:.2f} ms, of processors {1e3 * (used - alone) / cells:.2f} ms"
    )
    return overhead


def run_threads(folder: Path, cells: int) -> None:
    """The grid with threads, and one of so short a trace that all is overhead."""
    workers = threads_given(None)
    for what, requests in (("threads, 1 M accesses a cell", 800_000), ("threads, 1 k", 800)):
        spec, out = experiment(folder, requests), folder / f"threads{requests}"
        mc.sweep(spec, {"seed": [1]}, out=out)  # the trace is made, modules are imported
        begun, used = time.perf_counter(), time.process_time()
        swept = mc.sweep(spec, grid(cells), out=out)
        tell(what, swept, time.perf_counter() - begun, time.process_time() - used, workers)


def run_dask(folder: Path, cells: int) -> None:
    """The same with local workers of Dask, each a process."""
    from mcsim.sweeps.dask import dask_executor

    workers = threads_given(None)
    for what, requests in (("Dask, 1 M accesses a cell", 800_000), ("Dask, 1 k", 800)):
        spec, out = experiment(folder, requests), folder / f"dask{requests}"
        with (
            local_workers(workers) as cluster,
            dask_executor(cluster.scheduler_address) as (executor, threads),
        ):
            everybody = cluster.get_client()
            warm = {"seed": list(range(8 * workers))}
            mc.sweep(spec, warm, out=out, executor=executor, threads=threads)
            begun, used = time.perf_counter(), processor_seconds_of(everybody)
            swept = mc.sweep(spec, grid(cells), out=out, executor=executor, threads=threads)
            seconds, used = time.perf_counter() - begun, processor_seconds_of(everybody) - used
        tell(what, swept, seconds, used, workers)


def processor_seconds_of(client: Any) -> float:
    """Memory of this process, with the scheduler, and of all workers."""
    return time.process_time() + sum(client.run(time.process_time).values())


@contextmanager
def timed(what: str, allowed: float) -> Iterator[None]:
    """Print how long the block takes."""
    begun, used = time.perf_counter(), time.process_time()
    yield
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    print(f"{what:<34} {seconds:7.2f} s  ({used:.2f} s of processors; wanted: below {allowed:g} s)")


def run_store(folder: Path, cells: int) -> None:
    """Ten thousand cells that are finished: whether they are there, and all in one table."""
    spec = experiment(folder, 800)
    axes = grid(cells) | {"seed": list(range(10_000 // cells))}
    swept = mc.sweep(spec, axes, out=folder / "store")
    files = list((folder / "store" / "packs").iterdir())
    size = sum(map(bytes_below, files))
    print(f"{len(swept.plan):,} cells in {len(files)} folders of {size / 1e6:.1f} MB together")
    opened = mc.Sweep.open(swept.path)
    with timed("whether all are there", 2):
        assert all(opened.finished())
    with timed("all in one table", 5):
        print(f"{opened.to_arrow().num_rows:,} rows")


def run_scale(*_: object) -> None:
    """10,000 cells over 64 workers that die: when the last is done, and what the folder sees."""
    print("cell s  batch  life s   done s  of ideal  lost work  files   files/s")
    for cell_seconds in (0.04, 1.0, 30.0):
        for life_seconds in (600.0, 3600.0):
            row = model(10_000, 64, cell_seconds, life_seconds)
            print(row)


# Measured seconds: overhead of a cell, a pack on a disk, start of a worker.
BESIDE, PACK, START = 0.003, 0.02, 3.0
KEPT_WITHIN, MOST_IN_A_BATCH = 5.0, 64


def model(cells: int, workers: int, cell_seconds: float, life_seconds: float) -> str:
    """Run a sweep as events: a worker takes a batch, and dies after an exponential time.

    What it wrote by then is there; the rest of its batch is taken by another, and a new worker
    starts in its place.
    """
    draw = random.Random(1)
    size = min(MOST_IN_A_BATCH, max(1, cells // (8 * workers)))
    waiting = [min(size, cells - begin) for begin in range(0, cells, size)]
    each = cell_seconds + BESIDE
    in_a_pack = max(1, int(KEPT_WITHIN / each))
    lost, files, over = 0.0, 0, 0.0
    # When each worker is free, and when it dies.
    free = [(START, START + draw.expovariate(1 / life_seconds)) for _ in range(workers)]
    heapq.heapify(free)
    while waiting:
        now, dies = heapq.heappop(free)
        batch = waiting.pop()
        done, at = 0, now
        while done < batch:
            some = min(in_a_pack, batch - done)
            end = at + some * each + PACK
            if end > dies:
                lost += dies - at
                waiting.append(batch - done)
                at = dies + START
                dies = at + draw.expovariate(1 / life_seconds)
                break
            done, at, files = done + some, end, files + 1
        over = max(over, at if done == batch else over)
        heapq.heappush(free, (at, dies))
    ideal = cells * cell_seconds / workers
    return (
        f"{cell_seconds:6g} {size:6d} {life_seconds:7.0f} {over:8.0f} {over / ideal:9.2f} "
        f"{lost / (cells * cell_seconds):10.2%} {files:6d} {files / over:9.2f}"
    )


PARTS = {"threads": run_threads, "dask": run_dask, "store": run_store, "scale": run_scale}


def main() -> None:
    """Run the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--cells", type=int, default=1000)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        for part in given.parts.split(","):
            PARTS[part](folder, given.cells)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
