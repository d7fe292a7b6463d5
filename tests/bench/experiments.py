"""The whole command, stage by stage, with its peak memory, each run in a process of its own.

`job` is experiments/web.yaml, with its week to be generated and with it kept; `writes` the same
week with its writes, replayed by one system after another, under policies and modes of writing,
those that differ by tier, change or have a limit included; `vms` and `accesses` show how time and
memory grow with either. Traces of the last two have the same popularity in every VM, whose blocks
are equally many in all, so hit ratios are alike. Run as

    python tests/bench/experiments.py [--parts job,writes,vms,accesses] [--most-vms N]
        [--most-accesses N] [--results results/bench/experiments]

All of it takes a quarter of an hour of two quiet cores. A billion accesses take 15 GB and some
minutes of it: where there is less memory they are left out, and said to be.
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
from mcsim.base.files import write_whole

sys.path.insert(0, str(Path(__file__).parent))

from report import processor, row

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("parse", "intern", "characterise", "replay", "tables", "figures")

HOUR = 3600 * 10**9
MACHINE = {
    "tiers": [
        {"device": "dram", "capacity": 30_000},
        {"device": "flash", "capacity": 150_000},
    ],
    "backend": "hdd",
}
TOTAL_BLOCKS = 600_000
# Memory of a machine that 10^9 accesses are run on: they take 15 GB.
BILLION_BYTES = 18 * 10**9
BLOCKS_PER_REQUEST = 10

# Modes of all VMs, and of each its own.
MODES = {
    "through": "through",
    "back": "back",
    "around": "around",
    "mixed": "through, web_0=back, web_2=around",
}
# Modes that tiers of a chain with copies have each for itself.
MODES_BY_TIER = {"through / back": "through / back", "around / back": "around / back"}
# Hosts: all VMs sharing tiers, in an exclusive chain and in those that keep copies; each with
# a part that it keeps to, and with a part that others may use while it does not. Named by what they
# are called in the table.
WRITERS: dict[str, dict[str, Any]] = {
    "lru / lru": {"name": "hierarchy", "policy": "lru / lru"},
    "victim": {"name": "hierarchy", "policy": "lru / lru", "chain": "victim"},
    "inclusive": {"name": "hierarchy", "policy": "lru / lru", "chain": "inclusive"},
    "independent": {"name": "hierarchy", "policy": "lru / lru", "chain": "independent"},
    "arc / arc": {"name": "hierarchy", "policy": "arc / arc"},
    "s3-fifo / s3-fifo": {"name": "hierarchy", "policy": "s3-fifo / s3-fifo"},
    "static": {"name": "static"},
    "multicache": {"name": "multicache"},
}


CHAINS = ("exclusive", "victim", "inclusive", "independent")


def writers() -> Iterator[dict[str, Any]]:
    """Systems that write: in one mode, in one by tier, with a limit, and in modes that change."""
    for who, system in WRITERS.items():
        for mode, writes in MODES.items():
            yield system | {"writes": writes, "label": f"{who}, {mode}"}
    for chain in CHAINS:
        system = {"name": "hierarchy", "policy": "lru / lru", "chain": chain}
        for mode, writes in MODES_BY_TIER.items() if chain != "exclusive" else ():
            yield system | {"writes": writes, "label": f"{chain}, {mode}"}
        limit = {"writes": "back", "dirty_limit": 0.01}
        yield system | limit | {"label": f"{chain}, back, 1 % dirty at most"}
        changing = {"name": "turning_modes:TurningModes", "chain": chain}
        yield changing | {"label": f"{chain}, another mode each hour"}


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
            [*command, "--results", str(folder / "results")],
            stdout=output,
            stderr=output,
            env=os.environ
            | {"MCSIM_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(Path(__file__).parent)},
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
    experiment = {
        "name": "writes",
        "ops": "all",
        "workload": {"profile": str(ROOT / "experiments" / "workloads" / "web.yaml")},
        "tiers": [
            {"device": "dram", "capacity": 250_000},
            {"device": "flash", "capacity": 2_500_000},
        ],
        "backend": "hdd",
        "systems": [{"name": "lru"}, *writers()],
    }
    options = ("--threads", "1", "--no-figures", "--code", "turning_modes")
    yield "web.yaml, all operations", run(experiment, folder, *options)


def store(vms: int, requests: int, blocks: int, path: Path) -> None:
    """Write a day of reads by a number of VMs."""
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


def fitting_accesses() -> int:
    """Accesses of the longest trace of `growing_accesses` that memory has room for."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 10**9 if memory >= BILLION_BYTES else 10**8


def growing_accesses(folder: Path, most: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for accesses in (10**6, 10**7, 10**8, 10**9):
        if accesses > most:
            print(f"(10^{len(str(accesses)) - 1} accesses are left out)")
            continue
        yield f"10^{len(str(accesses)) - 1}", grown(4, accesses, BLOCKS_PER_REQUEST, folder)


COLUMNS = ["run", "accesses", "wall s", "CPU s", "peak GB", *STAGES, "rest", "× wall", "× peak"]


def cells(label: str, of: dict[str, Any], first: dict[str, Any]) -> list[str]:
    """One run as a row: of `first`, the part's first run, times are how many."""
    return [
        label,
        f"{of['accesses']:,}",
        f"{of['wall']:.1f}",
        f"{of['cpu']:.1f}",
        f"{of['peak_bytes'] / 1e9:.2f}",
        *(f"{seconds:.1f}" for seconds in of["stages"].values()),
        f"{of['wall'] / first['wall']:.1f}",
        f"{of['peak_bytes'] / first['peak_bytes']:.1f}",
    ]


def rates(of: dict[str, Any]) -> Iterator[str]:
    """Return rows with the replay speed of each system of a run."""
    yield row(["system", "replay s", "decide s", "replayed, M/s"])
    yield row(["---"] + ["---:"] * 3)
    for title, took in of["systems"].items():
        seconds = took["replay_seconds"]
        rate = f"{of['accesses'] / seconds / 1e6:.1f}"
        yield row([title, f"{seconds:.2f}", f"{took['decide_seconds']:.2f}", rate])


def shown(runs: Iterator[tuple[str, dict[str, Any]]], found: dict[str, Any]) -> Iterator[str]:
    """Rows of a part as its runs end; what they took is put into `found`."""
    yield "\n" + row(COLUMNS)
    yield row(["---"] + ["---:"] * (len(COLUMNS) - 1))
    for label, of in runs:
        found[label] = of
        yield row(cells(label, of, next(iter(found.values()))))
    for label, of in found.items():
        if len(of["systems"]) > len(STAGES):
            yield f"\n{label}\n"
            yield from rates(of)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", default="job,writes,vms,accesses")
    parser.add_argument("--most-vms", type=int, default=10_000)
    parser.add_argument("--most-accesses", type=float, default=fitting_accesses())
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
    lines = [about]
    print(about)
    for part in wanted:
        found[part] = {}
        with tempfile.TemporaryDirectory() as folder:
            for line in shown(parts[part](Path(folder)), found[part]):
                print(line, flush=True)
                lines.append(line)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(given.out.with_suffix(".json"), json.dumps(found, indent=2) + "\n")
    write_whole(given.out.with_suffix(".md"), "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
