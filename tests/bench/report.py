"""Tabulate a benchmark run: `python tests/bench/report.py RUN.json` writes RUN.md next to it."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

NOT_COUNTERS = {
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
    "items_per_second",
}


def table(run: dict) -> str:
    """Rates, best and median, medians of counters, and the machine they were taken on."""
    repetitions = defaultdict(list)
    for entry in run["benchmarks"]:
        if entry["run_type"] == "iteration" and "items_per_second" in entry:
            repetitions[entry["run_name"]].append(entry)
    counters = sorted(
        {
            name
            for entries in repetitions.values()
            for name, value in entries[0].items()
            if isinstance(value, (int, float)) and name not in NOT_COUNTERS
        }
    )
    head = ["benchmark", "M/s, best", "median", "ns each, best", *counters]
    lines = [machine(run["context"]), "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
    for name, entries in repetitions.items():
        rates = [entry["items_per_second"] for entry in entries]
        cells = [name, f"{max(rates) / 1e6:.1f}", f"{median(rates) / 1e6:.1f}"]
        cells.append(f"{1e9 / max(rates):.2f}")
        values = [median_of(counter, entries) for counter in counters]
        cells += ["" if value is None else f"{value:,.4g}" for value in values]
        lines.append(row(cells))
    return "\n".join(lines) + "\n"


def median_of(counter: str, entries: list[dict]) -> float | None:
    """The median of a counter that the benchmark has."""
    values = [entry[counter] for entry in entries if counter in entry]
    return median(values) if values else None


def machine(context: dict) -> str:
    caches = ", ".join(
        f"L{c['level']} {c['type']} {c['size'] >> 10} KiB" for c in context["caches"]
    )
    load = ", ".join(f"{value:.1f}" for value in context["load_avg"])
    return (
        f"{context['date'][:10]}: {processor()}, {context['num_cpus']} CPUs, {caches}; "
        f"load average {load}. Rates are per second of CPU time."
    )


def processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return "unknown processor"


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    path = Path(sys.argv[1])
    text = table(json.loads(path.read_text()))
    path.with_suffix(".md").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
