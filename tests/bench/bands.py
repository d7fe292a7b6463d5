"""How often 95 % bands hold the exact curve, and how far estimates are off: all that have bands.

    ./mcsim bench bands [--seeds N] [--only WORD]

Streams are those of the tests, made up and, below `MCSIM_TRACE_DIR`, recorded. Of every estimator
with a correction, each correction at several rates and sizes is tried with so many seeds, and of
miniature simulation as many groups of five. Sizes are 20 spread evenly over the blocks and 20 by
factors; those count that are resolved. A row is marked where bands hold less than 93 %, or where
`auto` has a median error above 1.5 times that of the best other correction.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

import recorded
import trials
from trials import Stream, Trial

from mcsim._core import locality

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "shards": [{"max_blocks": 1024, "hot_blocks": 1024}, {"max_blocks": 8192}],
    "shards-rate": [{"rate": 0.1}, {"rate": 0.01}, {"rate": 0.001}],
}
RATES = (0.1, 0.01)  # of miniatures
HEADINGS = ("stream", "blocks", "estimate", "held", "told", "width", "median error", "worst", "")


def streams(word: str) -> Iterator[tuple[str, Stream]]:
    """Yield those with the word in their name, recorded ones last."""
    for name, keys in trials.synthetic().items():
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
            # Of those that `auto` is between: what `hot` counts, it does not have.
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
    for rate in RATES:
        for choice in ("none", "adj", "auto"):
            trial = stream.in_miniature(seeds, rate=rate, correction=choice)
            yield f"miniature:rate={rate},{choice}", trial, 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--only", default="", metavar="WORD", help="streams with it in their name")
    asked = parser.parse_args()
    print("| " + " | ".join(HEADINGS) + " |\n" + "|---" * len(HEADINGS) + "|")
    marked = rows = 0
    for name, stream in streams(asked.only):
        for title, trial, ratio in tried(stream, asked.seeds, len(os.sched_getaffinity(0))):
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
    print(f"\n{marked} of {rows} rows are marked")


if __name__ == "__main__":
    main()
