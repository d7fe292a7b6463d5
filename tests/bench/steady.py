"""Hits of `steady` and of all other systems, on the workload of every experiment.

    ./mcsim bench steady [--only WORD] [--sample 1/16] [--trace-dir DIR] [--within 3]

Every YAML file below `experiments/` that describes one host is run with its own systems and, as
they come, all others that the host takes. A line is a workload: what `steady` hits, what the best
of the others hits, by its name, and their ratio; and what `hindsight` does, the best fixed
division, which knows the whole trace. Yardsticks are no others, nor is a system that replays other
references. Where tiers are large, `--sample` of the blocks stand for all, in tiers of as small a
part. Workloads of recorded traces that are not there are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

import mcsim
from mcsim._core import engine
from mcsim.base.errors import ConfigError
from mcsim.experiment.experiment import Experiment

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"
# Blocks of all tiers together from which on a sample of them is replayed.
LARGE = 150_000
NO_OTHERS = {"steady", "hindsight", "clairvoyant"}
# Not experiments: printed numbers of publications, and notes.
NONE = {"notes.yaml", "published.yaml"}


@dataclass
class Workload:
    """The experiment with other systems."""

    file: Path
    overrides: list[str]
    trace_dirs: list[str] | None
    own: list[Any]

    @classmethod
    def of(cls, file: Path, share: Fraction, trace_dirs: list[str] | None) -> Workload | None:
        """Workload of an experiment of one host without a grid."""
        try:
            spec = Experiment.load(file).spec
        except ConfigError:
            return None
        overrides = []
        blocks = [tier.capacity for tier in spec.tiers]
        if spec.hosts is not None or not all(isinstance(of_tier, int) for of_tier in blocks):
            return None
        if sum(blocks) > LARGE and share < 1:
            small = [f"tiers.{k}.capacity={round(n * share)}" for k, n in enumerate(blocks)]
            overrides = [f"workload.sample={share}", *small]
        own = YAML(typ="safe").load(file).get("systems", [])
        return cls(file, overrides, trace_dirs, own)

    def systems(self) -> list[Any]:
        """Those that the experiment has, and all others that its host takes, as they come."""
        names = {entry if isinstance(entry, str) else entry["name"] for entry in self.own}
        # The authors' code numbers blocks in a way of its own: other references.
        own = [entry for entry in self.own if isinstance(entry, str) or not entry.get("legacy")]
        others = [s["name"] for s in engine.describe_systems() if s["name"] not in names]
        return [system for system in [*own, *others] if self.takes(system)]

    def takes(self, system: Any) -> bool:
        try:
            Experiment.load(self.file, self.said([system]))
        except ConfigError:
            return False
        return True

    def said(self, systems: list[Any]) -> list[str]:
        return [*self.overrides, f"systems={json.dumps(systems)}"]

    def hits(self, out: str) -> list[tuple[str, str, float]]:
        """Name, title and hit ratio of all that replay the references that `steady` does."""
        results = mcsim.run(
            self.file,
            overrides=self.said(self.systems()),
            trace_dirs=self.trace_dirs,
            out=out,
            figures=False,
        )
        accesses: dict[str, int] = {}
        for row in results.vms().to_arrow().select(["system", "accesses"]).to_pylist():
            accesses[row["system"]] = accesses.get(row["system"], 0) + row["accesses"]
        hits = dict.fromkeys(accesses, 0)
        for row in results.metrics().to_arrow().select(["system", "hits"]).to_pylist():
            hits[row["system"]] += row["hits"]
        names = {system.title: system.name for system in results.spec.systems}
        whole = next(accesses[title] for title, name in names.items() if name == "steady")
        return [
            (names[title], title, hits[title] / whole)
            for title, count in accesses.items()
            if count == whole
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="experiments with this in their path")
    parser.add_argument("--sample", type=Fraction, default=Fraction(1, 16))
    parser.add_argument("--trace-dir", action="append")
    parser.add_argument("--within", type=float, default=3, help="percent")
    given = parser.parse_args()
    print("| workload | steady | best of the others | | ratio | hindsight |")
    print("|---|---|---|---|---|---|")
    for file in sorted(EXPERIMENTS.rglob("*.yaml")):
        path = str(file.relative_to(EXPERIMENTS))
        if "workloads" in file.parts or file.name in NONE or given.only not in path:
            continue
        workload = Workload.of(file, given.sample, given.trace_dir)
        if workload is None or not workload.takes("steady"):
            print(f"{path}: not one experiment of one host", file=sys.stderr)
            continue
        try:
            with tempfile.TemporaryDirectory() as out:
                found = workload.hits(out)
        except ConfigError as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        own = max(ratio for name, _, ratio in found if name == "steady")
        bound = max(ratio for name, _, ratio in found if name == "hindsight")
        others = [(of, title) for name, title, of in found if name not in NO_OTHERS]
        best, title = max(others, key=lambda other: other[0])
        ratio = own / best
        sampled = f", {given.sample} of it" if workload.overrides else ""
        far = ratio < 1 - given.within / 100
        print(
            f"| {path.removesuffix('.yaml')}{sampled} | {own:.4f} | {best:.4f} | {title} "
            f"| {'**' if far else ''}{ratio:.3f}{'**' if far else ''} | {bound:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
