"""Context of a figure: folders of experiments and traces, and options of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mcsim.base.package import experiments_folder
from mcsim.base.progress import Reporter
from mcsim.base.sizes import is_share, parse_blocks
from mcsim.base.units import parse_bytes
from mcsim.config import Source
from mcsim.config.spec import FigureFormat
from mcsim.config.sweep import Grid
from mcsim.config.values import DEFAULT_BLOCK_BYTES
from mcsim.experiment.runner import run
from mcsim.figures.style import Style
from mcsim.results.results import Results
from mcsim.sweeps.plan import read_grid
from mcsim.sweeps.sweep import sweep
from mcsim.traces.find import TraceFinder

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
        Seed of all experiments and synthetic workloads, instead of their own.
    out : Path
        Folder of all results, as of other commands.
    trace_dirs : sequence of Path
        Folders of recorded traces.
    threads : int, optional
        Systems replayed at a time.
    formats : sequence of {'png', 'pdf', 'svg'}, optional
        Formats of the figures. If absent, those of a stored finding, or else PNG and SVG.
    style : {'screen', 'paper'}, optional
        Style of the figures. If absent, that of a stored finding, or else that of a screen.
    reporter : Reporter
        Reporter of progress.
    """

    quick: bool = False
    seed: int | None = None
    out: Path = Path("results")
    trace_dirs: Sequence[Path] = ()
    threads: int | None = None
    formats: Sequence[FigureFormat] | None = None
    style: Style | None = None
    reporter: Reporter = field(default_factory=Reporter)
    _finished: dict[tuple[str, ...], Results] = field(default_factory=dict, repr=False)

    def folder(self, name: str) -> Path:
        """Return a folder of `experiments/reproduce`, such as a document's."""
        return experiments_folder() / "reproduce" / name

    def trace(self, name: str) -> Path | None:
        """Find a recorded trace by name; None if it is absent."""
        return self._finder.find(name)

    def scaled(self, blocks: int) -> int:
        """Scale a number of blocks to the sample of this reproduction."""
        return max(1, round(blocks * QUICK_SHARE)) if self.quick else blocks

    def run(self, file: str, overrides: Iterable[str] = ()) -> Results:
        """Run an experiment of `experiments/reproduce`, or open it if it was finished before.

        Parameters
        ----------
        file : str
            Path such as ``"multicache/web.yaml"``.
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

    def sweep(self, file: str, overrides: Iterable[str] = ()) -> list[Results]:
        """Run an experiment of `experiments/reproduce` at every point of its `sweep:`.

        Parameters
        ----------
        file, overrides
            As of `run`.

        Returns
        -------
        list of Results
            Results in the order of the cells.
        """
        every = self.overrides(file, overrides)
        grid, _ = read_grid(self.folder(file), overrides=every)
        made = sweep(
            self.folder(file),
            self._axes(grid),
            overrides=every,
            trace_dirs=self.trace_dirs,
            out=self.out,
            threads=self.threads,
            reporter=self.reporter,
        )
        return [made.results(cell) for cell in range(len(made.plan))]

    def overrides(self, file: str, overrides: Iterable[str] = ()) -> list[str]:
        """Return overrides, with those of `seed` and `quick`, in the form of `--set`."""
        every = list(overrides)
        if self.seed is not None:
            every.append(f"seed={self.seed}")
        if self.quick:
            every += [f"workload.sample={QUICK_SHARE}", *self._smaller_tiers(file, every)]
        return every

    def _smaller_tiers(self, file: str, overrides: Sequence[str]) -> list[str]:
        source = Source.read(self.folder(file))
        for override in overrides:
            source.override(override)
        block_bytes = parse_bytes(source.root.get("block_bytes", DEFAULT_BLOCK_BYTES))
        smaller = []
        for index, tier in enumerate(source.root["tiers"]):
            blocks = self._scaled_capacity(tier["capacity"], block_bytes)
            smaller.append(f"tiers.{index}.capacity={blocks}")
        return smaller

    def _scaled_capacity(self, given: object, block_bytes: int) -> object:
        """Scale a capacity to the sample; a share of the sampled blocks needs no scaling."""
        if is_share(given):
            return given
        return self.scaled(parse_blocks(given, block_bytes))

    def _axes(self, grid: Grid) -> dict[str, Any] | None:
        """Return the axes of a sweep with scaled capacities; None to use those of the file."""
        if not self.quick:
            return None
        block_bytes = parse_bytes(grid.source.root.get("block_bytes", DEFAULT_BLOCK_BYTES))
        axes: dict[str, Any] = {}
        for axis in grid.axes:
            nodes = {
                name: [
                    self._scaled_capacity(step[k].node, block_bytes)
                    if name.endswith(".capacity")
                    else step[k].node
                    for step in axis.steps
                ]
                for k, name in enumerate(axis.names)
            }
            axes |= nodes if len(axis.names) == 1 else {"zip": nodes}
        if grid.exclude:
            axes["exclude"] = [dict(which) for which in grid.exclude]
        return axes

    @cached_property
    def _finder(self) -> TraceFinder:
        return TraceFinder(self.trace_dirs)
