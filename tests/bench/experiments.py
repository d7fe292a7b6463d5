"""The whole command, stage by stage, with its peak memory, each run in a process of its own.

`job` is experiments/web.yaml; `writes` its week with writes, one system at a time, under several
modes; `vms` and `accesses` show how time and memory grow with either. Traces of the last two have
the same popularity in every VM, whose blocks together are as many whatever their number, so hit
ratios are alike. Run as

    python tests/bench/experiments.py [--parts job,writes,vms,accesses] [--most-vms N]
        [--most-accesses N] [--out results/bench/experiments]

A billion accesses take 12 GB and a few minutes: they are run if --most-accesses says so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mcsim as mc

sys.path.insert(0, str(Path(__file__).parent))

from report import processor, row

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("parse", "intern", "characterise", "replay", "tables", "figures")

HOUR = 3600 * 10**9
MACHINE = {
    "tiers": [
        {"device": "dram", "capacity_blocks": 30_000},
        {"device": "flash", "capacity_blocks": 150_000},
    ],
    "backend": "hdd",
}
TOTAL_BLOCKS = 600_000
BLOCKS_PER_REQUEST = 10

# How systems treat writes, from the fewest duties to the most.
WRITERS: dict[str, Any] = {
    "lru": "lru",
    "static": "static",
    **{
        f"{policy}, {writes}": {"name": "hierarchy", "policy": policy, "writes": writes}
        for policy in ("lru / lru", "arc / arc")
        for writes in ("through", "back", "around")
    },
    "static, back": {"name": "static", "writes": "back"},
    "multicache, back": {"name": "multicache", "writes": "back"},
}


def run(experiment: dict[str, Any] | Path, folder: Path, *options: str) -> dict[str, Any]:
    """Run the command; seconds by stage, of the wall clock and of CPUs, and peak memory."""
    if isinstance(experiment, Path):
        file = experiment
    else:
        file = folder / "experiment.yaml"
        file.write_text(json.dumps(experiment))  # which is YAML
    command = [sys.executable, "-m", "mcsim", "run", str(file), "--force", *options]
    begun = time.monotonic()
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(
            [*command, "--out", str(folder / "results")],
            stdout=output,
            stderr=output,
            env=os.environ | {"MCSIM_CACHE_DIR": str(folder / "cache")},
        )
        _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - begun
    if status != 0:
        sys.exit(f"{' '.join(command)}\n{(folder / 'output').read_text()}")
    done = max((folder / "results").glob("*/DONE"), key=lambda path: path.stat().st_mtime)
    timings = json.loads((done.parent / "timings.json").read_text())
    described = json.loads((done.parent / "environment.json").read_text())["traces"]
    stages = {stage: timings["stages"].get(stage, 0.0) for stage in STAGES}
    return {
        "accesses": sum(vm["accesses"] for vm in described),
        "vms": len(described),
        "wall": wall,
        "cpu": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * 1024,
        "stages": stages | {"rest": wall - sum(stages.values())},
        "systems": timings["systems"],
    }


def job(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "web.yaml", run(ROOT / "experiments" / "web.yaml", folder)
    yield "web.yaml, parsed before", run(ROOT / "experiments" / "web.yaml", folder)


def writes(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for label, system in WRITERS.items():
        experiment = {
            "name": "writes",
            "ops": "all",
            "workload": {"profile": str(ROOT / "experiments" / "workloads" / "web.yaml")},
            "tiers": [
                {"device": "dram", "capacity_blocks": 250_000},
                {"device": "flash", "capacity_blocks": 2_500_000},
            ],
            "backend": "hdd",
            "systems": [system],
        }
        yield label, run(experiment, folder, "--threads", "1", "--no-figures")


def store(vms: int, requests: int, blocks: int, path: Path) -> None:
    """Write a day of reads by so many VMs."""
    random = np.random.default_rng(1)
    place = (TOTAL_BLOCKS // vms) * random.random(requests) ** 3
    trace = mc.Trace.from_arrays(
        np.sort(random.integers(0, 24 * HOUR, requests)),
        4096 * place.astype(np.uint64),
        np.full(requests, 4096 * blocks, np.uint32),
        vm=random.integers(0, vms, requests).astype(np.uint16),
        vms=[f"vm{v}" for v in range(vms)],
    )
    trace.save(path)


def grown(vms: int, accesses: int, blocks: int, folder: Path, *options: str) -> dict[str, Any]:
    path = folder / "trace.arrow"
    store(vms, accesses // blocks, blocks, path)
    experiment = {
        "name": "growth",
        "workload": {"vms": [{"trace": str(path), "vms": "all"}]},
        **MACHINE,
        "systems": ["lru", "static", "multicache"],
    }
    return run(experiment, folder, *options)


def growing_vms(folder: Path, most: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for vms in (1, 10, 100, 1_000, 10_000):
        if vms <= most:
            yield f"{vms:,} VMs", grown(vms, 3_000_000, 1, folder, "--threads", "1")


def growing_accesses(folder: Path, most: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for accesses in (10**6, 10**7, 10**8, 10**9):
        if accesses <= most:
            yield f"10^{len(str(accesses)) - 1}", grown(4, accesses, BLOCKS_PER_REQUEST, folder)


def table(name: str, measured: dict[str, dict[str, Any]]) -> str:
    head = ["run", "accesses", "wall s", "CPU s", "peak GB", *STAGES, "rest"]
    if name == "writes":
        head += ["replayed, M/s"]
    lines = [row(head), row(["---"] + ["---:"] * (len(head) - 1))]
    for label, of in measured.items():
        cells = [label, f"{of['accesses']:,}", f"{of['wall']:.1f}", f"{of['cpu']:.1f}"]
        cells.append(f"{of['peak_bytes'] / 1e9:.2f}")
        cells += [f"{seconds:.1f}" for seconds in of["stages"].values()]
        if name == "writes":
            (system,) = of["systems"].values()
            cells.append(f"{of['accesses'] / system['replay_seconds'] / 1e6:.1f}")
        lines.append(row(cells))
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", default="job,writes,vms,accesses")
    parser.add_argument("--most-vms", type=int, default=10_000)
    parser.add_argument("--most-accesses", type=float, default=1e8)
    parser.add_argument("--out", type=Path, default=Path("results/bench/experiments"))
    given = parser.parse_args()
    parts = {
        "job": job,
        "writes": writes,
        "vms": lambda folder: growing_vms(folder, given.most_vms),
        "accesses": lambda folder: growing_accesses(folder, int(given.most_accesses)),
    }
    wanted = given.parts.split(",")
    if unknown := [part for part in wanted if part not in parts]:
        parser.error(f"unknown part {unknown[0]!r}: one of {', '.join(parts)}")
    about = (
        f"{processor()}, {len(os.sched_getaffinity(0))} CPUs; load average {os.getloadavg()[0]:.1f}"
    )
    found: dict[str, Any] = {"machine": about}
    text = about + "\n"
    print(text)
    for part in wanted:
        with tempfile.TemporaryDirectory() as folder:
            found[part] = dict(parts[part](Path(folder)))
        shown = "\n" + table(part, found[part])
        print(shown, flush=True)
        text += shown
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.with_suffix(".json").write_text(json.dumps(found, indent=2) + "\n")
    given.out.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
