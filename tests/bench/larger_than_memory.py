"""Replay a trace that is larger than memory, each kind of work in a process of its own.

Generates a trace store of one VM, requests of ten blocks: nine in ten by Zipf's law, the tenth
from a loop. Interns it into a file and maps that: LRU in two tiers, exact reuse distances, SHARDS,
miniatures of two policies. Prints the time and the peak memory of each, and deletes the files.
10^9 accesses take 14 GB of disk.

    ./mcsim bench larger-than-memory [--accesses 1e9] [--blocks 3e7] [--only WORD]
        [--folder /tmp]
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from out_of_core import write
from report import processor, row

from mcsim._core import engine, locality
from mcsim.locality.estimators import estimate
from mcsim.policies.miniatures import miniature
from mcsim.references.blocks import Blocks, vms_of
from mcsim.references.workload import Workload
from mcsim.traces.trace import Trace

LENGTH = 10  # blocks a request
VIEW = {"block_bytes": 4096, "ops": "reads", "line_blocks": 1}
HOUR = 3600 * 10**9


def workload(folder: Path) -> Workload:
    """Return the generated requests."""
    trace = Trace.open(folder / "trace.arrow", cache_dir=folder)
    return Workload(vms_of([trace]), synthetic=True)


def mapped(folder: Path) -> Blocks:
    """Return the accesses in the file."""
    accesses = engine.open_accesses(str(folder / "trace.accesses"), checked=True)
    requests = slice(0, accesses.request_count)
    return Blocks("generated", workload(folder), "reads", accesses, requests)


def interned(folder: Path) -> str:
    made = workload(folder).intern(dict(VIEW), path=folder / "trace.accesses")
    return f"{made.id_count:,} blocks"


def checked(folder: Path) -> str:
    found = engine.open_accesses(str(folder / "trace.accesses"))
    return f"{(folder / 'trace.accesses').stat().st_size / 1e9:.1f} GB, {len(found.vms)} VM"


def lru(folder: Path) -> str:
    accesses = mapped(folder).accesses
    device = engine.Device("any", 1, 1, 1)
    small, large = accesses.id_count // 100, accesses.id_count // 10
    machine = engine.Machine([(device, small), (device, large)], device)
    system = engine.System("lru", {}, machine)
    cuts = engine.aligned_cuts(accesses, HOUR)
    found = engine.run(accesses, system, locality.Characterised(), cuts)
    hits = found.tiers["hits"].sum(axis=(0, 1)) / accesses.access_count
    return f"hits {hits[0]:.4f} of {small:,} blocks, {hits[1]:.4f} of {large:,}"


def exact(folder: Path) -> str:
    return f"best {estimate(mapped(folder), 'exact', threads=1).best_ratio:.6f}"


def shards(folder: Path) -> str:
    return f"best {estimate(mapped(folder), 'shards-rate', rate=0.001).best_ratio:.6f}"


def miniatures(folder: Path) -> str:
    found = miniature(mapped(folder), ["arc", "opt"], ["10%"], rate=0.01, seeds=1, threads=1)
    return ", ".join(f"{of['policy']} {of['hit_ratio']:.4f}" for of in found)


WORK: dict[str, Callable[[Path], str]] = {
    "interned into a file": interned,
    "checked": checked,
    "LRU in two tiers": lru,
    "exact distances": exact,
    "SHARDS, rate 0.001": shards,
    "miniatures, rate 0.01, of ARC and OPT": miniatures,
}


def watched(work: Callable[[Path], str], folder: Path) -> tuple[str, float, float, int]:
    """Return the output of work, its wall and processor seconds, and its peak in bytes."""
    begun, cpu = time.perf_counter(), time.process_time()
    said = work(folder)
    took = time.perf_counter() - begun, time.process_time() - cpu
    return said, *took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def alone(work: Callable[..., object], *arguments: object) -> object:
    """Do work in a process that has done nothing else."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(work, *arguments).result()


def main() -> None:
    """Generate, replay, print and delete."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--accesses", type=float, default=1e9)
    parser.add_argument("--blocks", type=float, default=3e7, help="of each of the two streams")
    parser.add_argument("--only", default="", help="work with this in its name")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    accesses = int(given.accesses)
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="mcsim_") as name:
        folder = Path(name)
        print(f"{processor()}; {accesses:,} accesses\n", flush=True)
        alone(write, folder / "trace.arrow", accesses // LENGTH, int(given.blocks), LENGTH)
        print(row(["work", "s", "M accesses/s", "CPU ns an access", "peak GB", "found"]))
        print(row(["---"] + ["---:"] * 4 + ["---"]), flush=True)
        for what, work in WORK.items():
            if given.only in what or work is interned:
                said, seconds, cpu, peak = alone(watched, work, folder)  # type: ignore[misc]
                rate, each = accesses / seconds / 1e6, cpu / accesses * 1e9
                cells = [f"{seconds:.1f}", f"{rate:.1f}", f"{each:.1f}", f"{peak / 1e9:.2f}"]
                print(row([what, *cells, said]), flush=True)


if __name__ == "__main__":
    main()
