"""Cost of pages: bytes by kind, wall and processor time, each in a new process.

Of the runs that are named, or else of `experiments/tiny.yaml` and of sixteen VMs under eight
systems for a week by the hour; last, of all of them side by side. Run as

    python tests/bench/pages.py [RUN…]

Medians of three. The time includes the start of Python.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import mcsim as mc

ROOT = Path(__file__).parents[2]
SYSTEMS = [
    "lru",
    {"name": "lru", "label": "lru-legacy", "legacy": True},
    "static",
    "multicache",
    {"name": "multicache", "label": "history", "distance_scope": "cumulative", "idle": "curve"},
    "multicache-joint",
    "single-tier",
    "vcacheshare",
]
KINDS = {
    "library": r'<script type="application/gzip".*?</script>',
    "plots": r'<script type="application/json".*?</script>',
    "tables": r"<table.*?</table>",
}


def week(folder: Path) -> Path:
    """Run sixteen VMs under eight systems for a week."""
    phase = {"duration": "168h", "requests": 20_000, "reads": "pages"}
    components = {"pages": {"zipf": {"blocks": 8000, "alpha": 0.8}}}
    vms = {f"vm_{v}": {"components": components, "phases": [phase]} for v in range(16)}
    profile = folder / "week.yaml"
    profile.write_text(json.dumps({"name": "week", "seed": 1, "vms": vms}))
    experiment = {
        "name": "week",
        "interval": "1h",
        "workload": {"profile": str(profile)},
        "tiers": [
            {"device": "dram", "capacity": 4000},
            {"device": "flash", "capacity": 16_000},
        ],
        "backend": "hdd",
        "systems": SYSTEMS,
    }
    return mc.run(experiment, out=folder, figures=False).path


def cost(runs: Sequence[Path], file: Path) -> tuple[float, float]:
    """Return the time of the wall and of processors that a page takes."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "mcsim", "results", "page", *map(str, runs), "-o", str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return end - begin, used


def show(name: str, runs: Sequence[Path], file: Path) -> None:
    wall, used = (
        median(times) for times in zip(*(cost(runs, file) for _ in range(3)), strict=True)
    )
    page = file.read_text("utf-8")
    sizes = [sum(map(len, re.findall(kind, page, re.DOTALL))) for kind in KINDS.values()]
    parts = "".join(f" {size / 1e6:8.2f}" for size in [len(page.encode()), *sizes])
    print(f"{name:24.24} {wall:6.2f} {used:6.2f}{parts}", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        runs = [Path(argument) for argument in sys.argv[1:]]
        if not runs:
            tiny = mc.run(ROOT / "experiments" / "tiny.yaml", out=folder, figures=False).path
            runs = [tiny, week(folder)]
        heads = "".join(f" {head:>8}" for head in ["MB", *KINDS])
        print(f"{'page of':24} {'wall s':>6} {'CPU s':>6}{heads}")
        for run in runs:
            show(run.name, [run], folder / "page.html")
        if len(runs) > 1:
            show(f"{len(runs)} runs", runs, folder / "page.html")


if __name__ == "__main__":
    main()
