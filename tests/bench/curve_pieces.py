"""Compute the exact curve of a trace in pieces, on two workers of Dask and task by task.

Generates a trace as 64 files that follow one another: nine in ten requests by Zipf's law, the tenth
from a loop. Computes its curve in one process with one thread, and in two pieces on two workers of
Dask on this machine. Then runs the tasks of 64 pieces one after the other, merged by ranges of
hashes and in a tree (PARDA), and adds up the processor time of the critical path for up to 64
workers. Prints the peak memory of the tasks of each step, and the bytes that they read and write.
The start of processes is not counted. A request takes 31 bytes of disk.

    ./mcsim bench curve-pieces [--accesses 2e8] [--blocks 1e6] [--turns 1] [--folder /tmp]
"""

from __future__ import annotations

import argparse
import heapq
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).parent))

from dask_workers import local_workers
from larger_than_memory import alone
from out_of_core import workload
from report import processor, row

from mcsim.base.progress import Reporter
from mcsim.locality.curve_parts import ALL
from mcsim.locality.estimators import estimate
from mcsim.references.blocks import Blocks
from mcsim.sweeps.curve_plan import CurvePlan, planned
from mcsim.sweeps.curves import CurveTask, by_ranges, run_by, run_task
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
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e9


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


def steps_of(folder: Path) -> list[list[CurveTask]]:
    """Return the tasks of 64 pieces: the pieces, a merge by ranges, and one in a tree."""
    plan = plan_of(folder, FILES)
    pieces = range(FILES)
    ranges: list[list[CurveTask]] = [
        [CurveTask(plan, at, at, step="join") for at in range(by_ranges(plan).joins)],
        [CurveTask(plan, at, at, step="rank") for at in pieces],
        [CurveTask(plan, at, at + 1, step="resolve") for at in pieces],
        *_levels(plan, "add"),
    ]
    return [[CurveTask(plan, at, at + 1) for at in pieces], *ranges, *_levels(plan, "")]


def _levels(plan: CurvePlan, step: Literal["", "add"]) -> Iterator[list[CurveTask]]:
    width = 2
    while width <= FILES:
        begins = range(0, FILES, width)
        yield [CurveTask(plan, at, at + width, at + width // 2, step) for at in begins]
        width *= 2


def run_step(tasks: Sequence[CurveTask]) -> Step:
    """Run tasks; return their seconds, bytes and peak memory."""
    at_first, seconds, written = peak(), [], 0
    for task in tasks:
        task.path.unlink(missing_ok=True)  # a merge of all, of ranges
        seconds.append(timed(partial(run_task, task)))
        written += task.path.stat().st_size
    return Step(name_of(tasks[0]), seconds, written, peak() - at_first)


def name_of(task: CurveTask) -> str:
    """Return the name of a step."""
    width = task.end - task.begin
    if task.step in ("join", "rank", "resolve"):
        return task.step
    return f"add {width}" if task.step else f"merge {width}" if width > 1 else "piece"


@dataclass
class Step:
    """Tasks that do not depend on one another: processor time of each, bytes and memory."""

    name: str
    seconds: list[float]
    written: int
    peak: float

    def makespan(self, workers: int) -> float:
        """Return the seconds in which workers run the tasks, each on the first free one."""
        free = [0.0] * workers
        for task in self.seconds:
            heapq.heapreplace(free, free[0] + task)
        return max(free)


def critical_paths(serial: float, steps: Sequence[Step]) -> list[list[str]]:
    """Return rows of workers: seconds of pieces and merges, and the speed relative to one process.

    Merges by ranges have all 64 pieces; a tree has a piece for each worker.
    """
    (pieces,) = (step for step in steps if step.name == "piece")
    tree = [step for step in steps if step.name.startswith("merge")]
    ranges = [step for step in steps if step is not pieces and step not in tree]
    rows = []
    for height in range(len(tree) + 1):
        workers = FILES >> height
        piece = pieces.makespan(workers)
        by_range = sum(step.makespan(workers) for step in ranges)
        in_tree = sum(max(step.seconds) for step in tree[height:])
        cells = [f"{seconds:.2f}" for seconds in (piece, by_range, in_tree)]
        times = [f"{serial / (piece + merges):.1f}" for merges in (by_range, in_tree)]
        rows.append([str(workers), *cells, *times])
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
        steps: list[Any] = [alone(run_step, tasks) for tasks in steps_of(folder)]
        print("\n" + row(["step", "tasks", "CPU s each, mean", "most", "MB", "peak GB"]))
        print(row(["---", *["---:"] * 5]))
        for step in steps:
            mean, most = sum(step.seconds) / len(step.seconds), max(step.seconds)
            cells = [f"{mean:.2f}", f"{most:.2f}", f"{step.written / 1e6:.0f}", f"{step.peak:.2f}"]
            print(row([step.name, str(len(step.seconds)), *cells]))
        heads = ["workers", "pieces", "ranges", "tree", "with ranges x", "with a tree x"]
        print("\n" + row(heads) + "\n" + row(["---:"] * len(heads)))
        for cells in critical_paths(min(cpu), steps):
            print(row(cells))


if __name__ == "__main__":
    main()
