"""Compute the exact curve of a trace in pieces, on two workers of Dask and task by task.

Generates a trace as 64 files that follow one another: nine in ten requests by Zipf's law, the tenth
from a loop. Computes its curve in one process with one thread, and in two pieces on two workers of
Dask on this machine. Then runs the tasks of 64 pieces one after the other, and adds up the
processor time of the critical path for up to 64 workers: a tree of merges, the chain of PARDA, and
merges that are divided among workers without loss. The start of processes is not counted.
A request takes 31 bytes of disk.

    ./mcsim bench curve-pieces [--accesses 2e8] [--blocks 1e6] [--turns 1] [--folder /tmp]
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from dask_workers import local_workers
from larger_than_memory import alone
from out_of_core import workload
from report import processor, row

from mcsim.base.progress import Reporter
from mcsim.locality.curve_parts import ALL
from mcsim.locality.curve_pieces import CurvePiece
from mcsim.locality.estimators import estimate
from mcsim.references.blocks import Blocks
from mcsim.sweeps.curve_plan import CurvePlan, planned
from mcsim.sweeps.curves import CurveTask, run_by, run_task
from mcsim.traces.batches import Batch
from mcsim.traces.open import Reading
from mcsim.traces.trace import Trace

FILES = 64


def write(folder: Path, accesses: int, blocks: int) -> None:
    """Write the requests in files of equal length."""
    generator = workload(accesses, blocks, 1)
    for number in range(FILES):
        count = accesses * (number + 1) // FILES - accesses * number // FILES
        of = Batch(**generator.next(count))
        trace = Trace.from_arrays(
            of.time, of.offset, of.length, op=of.op, vms=["vm"], source=f"{number:02}"
        )
        trace.save(folder / f"{number:02}.arrow")


def files_in(folder: Path) -> list[Path]:
    """Return the files of the trace."""
    return sorted(folder.glob("*.arrow"))


def plan_of(folder: Path, pieces: int) -> CurvePlan:
    """Plan the curve of the trace in pieces."""
    reading = Reading(cache_dir=folder / "cache")
    out = folder / f"pieces{pieces}"
    files = tuple(files_in(folder))
    return planned(CurvePlan(files, "reads", 4096, None, False, reading, None, pieces, out))


def in_one_process(folder: Path) -> dict[str, Any]:
    """Return the curve, and the seconds of the clock and of the processor."""
    begun, cpu = time.perf_counter(), time.process_time()
    traces = [Trace.open(file, cache_dir=folder / "cache") for file in files_in(folder)]
    curve = estimate(Blocks.of(traces), "exact", threads=1)
    took = {"wall": time.perf_counter() - begun, "cpu": time.process_time() - cpu}
    return {**took, "peak": peak(), "hits": curve.hits, "distinct": curve.distinct}


def peak() -> float:
    """Return the peak memory of this process, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def on_two_workers(folder: Path) -> dict[str, Any]:
    """Return the curve, the seconds of the clock, and those of the processor of both workers."""
    from distributed import Client

    plan = plan_of(folder, 2)
    with local_workers(2) as cluster, Client(cluster) as client:
        client.run(ready)
        before = client.run(time.process_time)
        begun = time.perf_counter()
        whole = run_by(plan, client.get_executor(pure=False), Reporter())
        wall = time.perf_counter() - begun
        after, peaks = client.run(time.process_time), client.run(peak)
    for file in plan.path(0, 1).parent.glob("*.piece"):
        file.unlink()
    curve = whole.finished()[ALL]
    cpu = max(after[worker] - before[worker] for worker in before)
    most = max(peaks.values())
    return {"wall": wall, "cpu": cpu, "peak": most, "hits": curve.hits, "distinct": curve.distinct}


def ready() -> str:
    """Import what the tasks need, and compute the digest of the program."""
    from mcsim.experiment.environment import build_digest

    return build_digest()


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of the processor that work takes."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def tasks_of(folder: Path) -> dict[str, Any]:
    """Run the tasks of 64 pieces; return their seconds and bytes by level, and of a chain."""
    plan = plan_of(folder, FILES)
    levels: list[list[float]] = []
    sizes: list[list[int]] = []
    width = 1
    while width <= FILES:
        tasks = [
            CurveTask(plan, begin, begin + width, begin + width // 2 if width > 1 else None)
            for begin in range(0, FILES, width)
        ]
        levels.append([timed(partial(run_task, task)) for task in tasks])
        sizes.append([task.path.stat().st_size for task in tasks])
        width *= 2
    left = CurvePiece.read(plan.path(0, 1))
    chain = 0.0
    for index in range(1, FILES):
        right = CurvePiece.read(plan.path(index, index + 1))
        begun = time.process_time()
        left = left.merge(right)
        chain += time.process_time() - begun
    return {"levels": levels, "sizes": sizes, "chain": chain, "peak": peak()}


def critical_paths(serial: float, found: dict[str, Any]) -> list[list[str]]:
    """Return rows of workers, and the speed of three ways to merge, relative to one process."""
    levels: Sequence[list[float]] = found["levels"]
    rows = []
    for height in range(len(levels)):
        workers = FILES >> height
        # A piece for each worker: as long as the pieces below it in the tree.
        piece = max(sum(levels[0][k : k + (1 << height)]) for k in range(0, FILES, 1 << height))
        merges = [max(level) for level in levels[height + 1 :]]
        tree = piece + sum(merges)
        chain = piece + found["chain"] * (workers - 1) / (FILES - 1)
        shared = piece + sum(
            sum(level) / workers for level in islice(levels, height + 1, len(levels))
        )
        times = [piece, sum(merges), tree, chain, shared]
        cells = [f"{seconds:.2f}" for seconds in times]
        rows.append([str(workers), *cells, *(f"{serial / t:.1f}" for t in times[2:])])
    return rows[::-1]


def main() -> None:
    """Generate, compute, print and delete."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--accesses", type=float, default=2e8)
    parser.add_argument("--blocks", type=float, default=1e6, help="of each of the two streams")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    accesses = int(given.accesses)
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="mcsim_") as name:
        folder = Path(name)
        print(f"{processor()}; {accesses:,} accesses", flush=True)
        alone(write, folder, accesses, int(given.blocks))
        print("\n" + row(["", "clock s", "CPU s of the slower", "peak GB"]))
        print(row(["---"] + ["---:"] * 3), flush=True)
        cpu = []
        for _ in range(given.turns):
            one: Any = alone(in_one_process, folder)
            two = on_two_workers(folder)
            assert (one["hits"] == two["hits"]).all()
            assert one["distinct"] == two["distinct"]
            cpu.append(one["cpu"])
            for what, of in (("one process", one), ("two workers", two)):
                cells = [f"{of['wall']:.1f}", f"{of['cpu']:.1f}", f"{of['peak']:.1f}"]
                print(row([what, *cells]), flush=True)
        print(f"\n{one['distinct']:,.0f} distinct blocks", flush=True)
        found: Any = alone(tasks_of, folder)
        print("\n" + row(["pieces", "tasks", "CPU s each, mean", "most", "MB each, mean", "MB"]))
        print(row(["---:"] * 6))
        for height, (times, sizes) in enumerate(zip(found["levels"], found["sizes"], strict=True)):
            mean, megabytes = sum(times) / len(times), sum(sizes) / 1e6
            cells = [f"{mean:.2f}", f"{max(times):.2f}", f"{megabytes / len(times):.1f}"]
            print(row([str(1 << height), str(len(times)), *cells, f"{megabytes:.0f}"]))
        print(
            f"\nchain of {FILES - 1} merges: {found['chain']:.2f} s; {found['peak']:.1f} GB peak\n"
        )
        heads = ["workers", "piece", "merges", "tree", "chain", "divided", "tree x", "chain x"]
        print(row([*heads, "divided x"]))
        print(row(["---:"] * 9))
        for cells in critical_paths(min(cpu), found):
            print(row(cells))


if __name__ == "__main__":
    main()
