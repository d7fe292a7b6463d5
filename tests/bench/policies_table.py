"""Write the table of eviction policies in `policies/README.md`, between its two markers.

    python tests/bench/policies_table.py [policies.json [policies_vs_peers.json]]

Names, parameters and references are those of the compiled module. Speeds and bytes are those of
`policies/measured.json`, which the reports of `./mcsim bench policies`, if given, renew first.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mcsim._core import policies as core

sys.path.insert(0, str(Path(__file__).parent))

from policies_vs_peers import PEERS
from report import machine, row

ROOT = Path(__file__).parents[2]
README = ROOT / "policies" / "README.md"
MEASURED = ROOT / "policies" / "measured.json"
BEGIN = "<!-- written by tests/bench/policies_table.py -->\n"
END = "<!-- end of what it writes -->\n"

# Whose hits on public traces tests/policies/eviction/published_hits_test.cpp expects, to the
# printed digits unless stated otherwise.
PRINTED = {
    "lru": "ARC's authors",
    "fifo": "libCacheSim",
    "clock": "libCacheSim",
    "sieve": "libCacheSim",
    "lfu": "libCacheSim",
    "perfect-lfu": "another implementation",
    "slru": "another implementation",
    "2q": "libCacheSim",
    "s3-fifo": "libCacheSim",
    "arc": "its authors, libCacheSim",
    "opt": "ARC's authors",
    "car": "another implementation",
    "lirs": "its authors",
    "lirs2": "its authors' program",
    "clock-pro": "its authors, within 0.5 points",
    "w-tinylfu": "another implementation, within 1.5 points",
    "s4lru": "libCacheSim",
    "lfu-da": "another implementation",
    "gdsf": "another implementation",
    "lru-k": "another implementation",
    "mq": "another implementation",
    "gclock": "PostgreSQL 15.18",
    "sampled-lru": "Redis 7.0.15, within 1.2 points",
    "sampled-lfu": "Redis 7.0.15, within 1.2 points",
}

# Policies with equal misses of the authors' program in authors_counts_test.cpp.
PROGRAMS = {
    "lirs": "its authors' program",
    "lirs2": "its authors' program",
    "w-tinylfu": "Caffeine (counters=4096), its sketch exact",
    "hyperbolic": "its authors' program, given our draws",
    "lecar": "its authors' program, given our draws",
    "cacheus": "its authors' program (variant=authors), given our draws",
}

# Other checks of a policy.
LAWS = {
    "lru": "reuse distances, at all sizes",
    "opt": "all decisions of short streams; no policy beats it",
    "talus": "hulls by brute force; loops, whose hits are known",
    "slide": "hulls by brute force; loops, whose hits are known",
    "switching": "replays of its candidates",
    "shards": "replays of its parts",
}


def oracles(name: str, wrappers: list[str]) -> str:
    """Return the oracles of a policy: twin, misses of a peer, printed hits, laws."""
    found = [] if name in wrappers else ["twin"]
    equal = [peer.policy for peer in PEERS if peer.name == name and not peer.differs]
    found += [f"libCacheSim {policy.removeprefix(name)}" for policy in equal if policy != name]
    if name in equal:
        found.append("libCacheSim")
    if name in PRINTED:
        found.append(f"printed hits: {PRINTED[name]}")
    if name in PROGRAMS:
        found.append(PROGRAMS[name])
    if name in LAWS:
        found.append(LAWS[name])
    return "; ".join(found)


def parameter(declared: dict[str, Any]) -> str:
    value = declared["default"]
    if isinstance(value, bool):
        value = str(value).lower()
    elif isinstance(value, float):
        value = f"{value:g}"
    return f"`{declared['name']}={value}`"


def speeds(measured: dict[str, float]) -> list[str]:
    """Cells of bytes a block, rate, and times libCacheSim's, as far as they were measured."""
    kinds = [("state", "{:.0f}", 1), ("rate", "{:.0f}", 1e-6), ("ratio", "{:.0f}", 1)]
    return [
        form.format(measured[key] * unit) if key in measured else "" for key, form, unit in kinds
    ]


def table(measured: dict[str, Any]) -> str:
    head = ["policy", "parameters", "bytes a block", "M/s", "× libCacheSim"]
    head += ["what tests trust", "reference"]
    lines = [row(head), row(["---", "---", "---:", "---:", "---:", "---", "---"])]
    wrappers = core.wrappers()
    for entry in core.describe():
        name = entry["name"]
        cells = [f"`{name}`", ", ".join(parameter(each) for each in entry["params"])]
        cells += speeds(measured["policies"].get(name, {}))
        cells += [oracles(name, wrappers), entry["reference"]]
        lines.append(row(cells))
    return "\n".join([*lines, "", f"Measured {measured['machine']}", ""])


def best(entries: list[dict[str, Any]]) -> dict[str, float]:
    fastest = max(entries, key=lambda entry: entry["items_per_second"])
    return {"state": round(fastest["state"], 1), "rate": round(fastest["items_per_second"], -5)}


def measured_by(bench: dict[str, Any], peers: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of each policy with its defaults, from the reports."""
    repetitions: dict[str, list[dict[str, Any]]] = {}
    for entry in bench["benchmarks"]:
        name = entry["run_name"].removeprefix("policies/")
        if entry["run_type"] == "iteration" and "state" in entry and "/" not in name:
            repetitions.setdefault(name, []).append(entry)
    found = {name: best(entries) for name, entries in repetitions.items()}
    for compared in peers["policies"]:
        # The policy by default is before its variants, if it has a peer.
        name = compared["policy"].partition("(")[0]
        if name in found:
            found[name].setdefault("ratio", round(compared["ratio"], 1))
    return {"machine": machine(bench["context"]), "policies": found}


def written(readme: str, measured: dict[str, Any]) -> str:
    """Return the document with the table put anew between its markers."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + table(measured) + "\n" + END + after


def main() -> None:
    reports = [json.loads(Path(path).read_text()) for path in sys.argv[1:3]]
    if reports:
        measured = measured_by(*reports, *[{"policies": []}] * (2 - len(reports)))
        MEASURED.write_text(json.dumps(measured, indent=1) + "\n")
    README.write_text(written(README.read_text(), json.loads(MEASURED.read_text())))


if __name__ == "__main__":
    main()
