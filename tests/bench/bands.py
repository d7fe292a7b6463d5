"""Coverage of 95 % bands and errors of estimates, for all estimators with bands.

    ./mcsim bench bands [--seeds N] [--sizes N] [--only WORD] [--estimate WORD]

Streams are those of the tests, made up and, below `MCSIM_TRACE_DIR`, recorded. Of every estimator
with a correction, each correction at several rates and sizes is tried with so many seeds, and of
miniature simulation as many groups of five. Sizes are 20 spread evenly over the blocks and 20 by
factors; those count that are resolved. A row is marked where bands hold less than 93 %, or where
`auto` has a median error above 1.5 times that of the best other correction.

Miniatures are tried under all policies, at `--sizes` sizes, on the first two million references of
a stream. Their rows have the policies with bands together. A second table has every policy, as if
all had bands: the coverage pooled over the streams, and the stream with the lowest coverage. A
policy passes with .93 pooled and .85 in every stream; a mark shows where that differs from
`mcsim.policies.bands`.

A quick pass over the policies, `--seeds 4 --sizes 6 --estimate miniature`, takes six minutes of
processor time. Its worst stream is chance: a verdict takes `--seeds 40`, an hour. With `--only`,
policies may pass that fail on other streams.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

import recorded
import trials
from numpy.typing import NDArray
from trials import Stream, Trial

from mcsim._core import locality
from mcsim.policies.bands import no_band_reason
from mcsim.policies.miniatures import Correction
from mcsim.policies.specs import parse_policies

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "shards": [{"max_blocks": 1024, "hot_blocks": 1024}, {"max_blocks": 8192}],
    "shards-rate": [{"rate": 0.1}, {"rate": 0.01}, {"rate": 0.001}],
}
RATES = (0.1, 0.01)  # of miniatures
REFERENCES = 2_000_000  # the most that miniatures are tried on
CORRECTIONS: tuple[Correction, ...] = ("none", "adj", "auto")
POOLED, WORST = 0.93, 0.85
HEADINGS = ("stream", "blocks", "estimate", "held", "told", "width", "median error", "worst", "")


def streams(word: str) -> Iterator[tuple[str, Stream]]:
    """Yield those with the word in their name, recorded ones last."""
    for name, keys in {**trials.changing(), **trials.synthetic()}.items():
        if word in name:
            yield name, Stream(keys)
    with tempfile.TemporaryDirectory() as cache:
        for file in recorded.REAL_TRACES:
            trace = recorded.opened(file, Path(cache)) if word in file else None
            if trace is None:
                continue
            counts = trace.metadata.counts
            if counts.read_blocks >= 1000:
                yield f"{file} reads", Stream(trace.blocks("reads").ids)
            if counts.read_blocks < counts.blocks:
                yield f"{file} all", Stream(trace.blocks("all").ids)


def corrections() -> dict[str, list[str]]:
    """Return what each estimator that corrects can do, `auto` last, to compare it."""
    return {
        entry["name"]: sorted(param["choices"], key=lambda choice: choice == "auto")
        for entry in locality.describe_estimators()
        for param in entry["params"]
        if param["name"] == "correction"
    }


def tried(stream: Stream, seeds: int, cores: int) -> Iterator[tuple[str, Trial, float]]:
    """Yield what was tried and the error of `auto` over that of the best other, or 0."""
    for name, choices in corrections().items():
        for setting in SETTINGS[name]:
            # The corrections that `auto` combines; `hot` is not among them.
            medians: dict[str, float] = {}
            for choice in choices:
                trial = stream.estimated(
                    name, setting | {"correction": choice}, range(1, seeds + 1), cores
                )
                medians[choice] = float(np.median(trial.error))
                best = min(medians[c] for c in medians.keys() - {"hot", "auto"})
                ratio = medians["auto"] / best if choice == "auto" and best else 0
                title = ",".join(f"{k}={v}" for k, v in setting.items() if k != "hot_blocks")
                yield f"{name}:{title},{choice}", trial, ratio


class ByPolicy:
    """The coverage of every policy, as if all had bands, by stream."""

    def __init__(self) -> None:
        self.specs = parse_policies("all")
        self.has_band = np.array([not no_band_reason(spec) for spec in self.specs])
        self.streams: list[str] = []
        self.coverage: list[NDArray[np.float64]] = []
        self.width: list[NDArray[np.float64]] = []

    def tried(
        self, name: str, stream: Stream, groups: int, shares: NDArray[np.float64]
    ) -> Iterator[tuple[str, Trial, float]]:
        """Yield trials of the policies with bands, and keep what all policies had."""
        if len(stream.keys) > REFERENCES:
            stream = Stream(stream.keys[:REFERENCES])
        for rate in RATES:
            trials_of = stream.in_miniature(
                groups, policies="all", shares=shares.tolist(), corrections=CORRECTIONS, rate=rate
            )
            sizes = len(shares)
            for correction, trial in trials_of.items():
                told = trial.told & np.repeat(self.has_band, sizes)
                some = Trial(trial.held, told, trial.width, trial.error)
                yield f"miniature:rate={rate},{correction}", some, 0
            trial = trials_of["auto"]
            if not trial.told.any():
                continue
            resolved = trial.told[0, :sizes]
            split = (groups, len(self.specs), sizes)
            self.streams.append(f"{name}, rate {rate}")
            self.coverage.append(trial.held.reshape(split)[:, :, resolved].mean(axis=(0, 2)))
            self.width.append(np.median(trial.width.reshape(split)[:, :, resolved], axis=(0, 2)))

    def show(self) -> int:
        """Print the table; return how many policies have a band and fail, or pass without."""
        if not self.streams:
            return 0
        print("\n| policy | band | pooled | worst | stream | width | |" + "\n|" + "---|" * 7)
        marked = 0
        for i, spec in enumerate(self.specs):
            coverage = np.array([each[i] for each in self.coverage])
            at = int(coverage.argmin())
            passes = coverage.mean() >= POOLED and coverage[at] >= WORST
            mark = "" if passes == self.has_band[i] else "*"
            marked += bool(mark)
            print(
                f"| {spec} | {'yes' if self.has_band[i] else 'no'} | {coverage.mean():.3f} "
                f"| {coverage[at]:.3f} | {self.streams[at]} "
                f"| {np.median([each[i] for each in self.width]):.4f} | {mark} |"
            )
        return marked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--sizes", type=int, default=20, help="of miniatures")
    parser.add_argument("--only", default="", metavar="WORD", help="streams with it in their name")
    parser.add_argument("--estimate", default="", metavar="WORD", help="estimates, likewise")
    asked = parser.parse_args()
    print("| " + " | ".join(HEADINGS) + " |\n" + "|---" * len(HEADINGS) + "|")
    marked = rows = 0
    cores = len(os.sched_getaffinity(0))
    policies = ByPolicy()
    shares = np.geomspace(0.02, 0.8, asked.sizes)
    for name, stream in streams(asked.only):
        parts = []
        if asked.estimate in "shards":
            parts.append(tried(stream, asked.seeds, cores))
        if asked.estimate in "miniature":
            parts.append(policies.tried(name, stream, asked.seeds, shares))
        for title, trial, ratio in chain(*parts):
            weak = trial.coverage < 0.93
            mark = ("*" if weak else "") + (f"{ratio:.2f} times the best" if ratio > 1.5 else "")
            held = f"{trial.coverage:.3f}" if trial.told.any() else "no band"
            width = f"{trial.width[trial.told].mean():.4f}" if trial.told.any() else ""
            error = f"{np.median(trial.error):.4f} | {trial.error.max():.4f}"
            told = f"{trial.told.mean():.2f}"
            print(
                f"| {name} | {stream.blocks:,} | {title} | {held} | {told} | {width} | {error} "
                f"| {mark} |",
                flush=True,
            )
            rows += 1
            marked += bool(mark)
    differ = policies.show()
    print(f"\n{marked} of {rows} rows and {differ} policies are marked")


if __name__ == "__main__":
    main()
