"""What a figure works with: where experiments and traces are, and how they are run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mcsim.base.package import experiments_folder
from mcsim.base.progress import Reporter
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.runner import run
from mcsim.results.results import Results
from mcsim.traces.find import TraceFinder

__all__ = ["QUICK_SHARE", "Context"]

QUICK_SHARE = 1 / 16
"""Share of the blocks that `quick` replays, in tiers of as small a part."""


@dataclass
class Context:
    """One reproduction under way.

    Attributes
    ----------
    quick : bool
        Replay a sixteenth of the blocks, picked by hash, in tiers of a sixteenth.
    seed : int, optional
        Of all experiments, instead of their own.
    out : Path
        The folder of all results: the ordinary store.
    trace_dirs : sequence of Path
        Where recorded traces are looked for.
    threads : int, optional
        Systems replayed at a time.
    reporter : Reporter
        What is told of progress.
    """

    quick: bool = False
    seed: int | None = None
    out: Path = Path("results")
    trace_dirs: Sequence[Path] = ()
    threads: int | None = None
    reporter: Reporter = field(default_factory=Reporter)
    _finished: dict[tuple[str, ...], Results] = field(default_factory=dict, repr=False)

    def folder(self, name: str) -> Path:
        """Return a folder of `experiments/reproduce`, such as a document's."""
        return experiments_folder() / "reproduce" / name

    def trace(self, name: str) -> Path | None:
        """Return a recorded trace by name, if it is there."""
        return self._finder.find(name)

    def scaled(self, blocks: int) -> int:
        """Return a number of blocks as this reproduction replays them."""
        return max(1, round(blocks * QUICK_SHARE)) if self.quick else blocks

    def run(self, file: str, overrides: Iterable[str] = ()) -> Results:
        """Run an experiment of `experiments/reproduce`, or open it if it was finished before.

        Parameters
        ----------
        file : str
            Such as ``"multicache/web.yaml"``.
        overrides : iterable of str
            `key=value` as of `--set`.
        """
        every = self.overrides(file, overrides)
        if (key := (file, *every)) not in self._finished:
            self._finished[key] = run(
                self.folder(file),
                overrides=every,
                trace_dirs=self.trace_dirs,
                out=self.out,
                threads=self.threads,
                figures=False,
                reporter=self.reporter,
            )
        return self._finished[key]

    def overrides(self, file: str, overrides: Iterable[str] = ()) -> list[str]:
        """Return overrides with those that `seed` and `quick` come to: what `--set` would say."""
        every = list(overrides)
        if self.seed is not None:
            every.append(f"seed={self.seed}")
        if self.quick:
            every += [f"workload.sample={QUICK_SHARE}", *self._smaller_tiers(file, every)]
        return every

    def _smaller_tiers(self, file: str, overrides: Sequence[str]) -> list[str]:
        """Return overrides that scale tiers; shares of the blocks that are replayed are scaled."""
        experiment = Experiment.load(self.folder(file), overrides)
        return [
            f"tiers.{index}.capacity_blocks={self.scaled(tier.capacity_blocks)}"
            for index, tier in enumerate(experiment.spec.tiers)
            if index not in experiment.shares
        ]

    @cached_property
    def _finder(self) -> TraceFinder:
        return TraceFinder(self.trace_dirs)
