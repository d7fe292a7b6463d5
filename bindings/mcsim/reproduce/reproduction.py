"""Run the catalogue of figures, and compare published numbers with measured ones."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from mcsim.base.arguments import file_given
from mcsim.base.files import check_writable
from mcsim.base.progress import Reporter
from mcsim.config.spec import FigureFormat
from mcsim.figures.style import Style
from mcsim.reproduce import kept
from mcsim.reproduce.catalogue import Figure, chosen
from mcsim.reproduce.context import Context
from mcsim.reproduce.kept import Finding
from mcsim.reproduce.published import Note, read_notes
from mcsim.reproduce.verdicts import Row, counts
from mcsim.tables.frames import Tabular
from mcsim.traces.find import trace_dirs_given


@dataclass(frozen=True)
class Outcome:
    """A reproduced figure.

    Attributes
    ----------
    figure : Figure
    finding : Finding
        Measurements, and the files of the drawn figures.
    notes : sequence of Note
        Probable reasons of differences, and caveats.
    """

    figure: Figure
    finding: Finding
    notes: Sequence[Note]

    @property
    def rows(self) -> Sequence[Row]:
        """Published and measured numbers, then claims."""
        return self.finding.rows

    @property
    def counts(self) -> str:
        """The number of rows by verdict."""
        return counts(self.rows)

    @property
    def ran(self) -> str:
        """Description of the runs, in a line."""
        found = self.finding.found
        if self.figure.needs == "nothing":
            return ", ".join(found.ran)
        return ": ".join(["recorded" if found.recorded else "synthetic", ", ".join(found.ran)])


@dataclass(frozen=True)
class Reproduction(Tabular):
    """Figures of the catalogue with findings and notes.

    Attributes
    ----------
    outcomes : sequence of Outcome
        Outcomes in the order of the catalogue.
    quick : bool
        Whether a sample was replayed.
    """

    outcomes: Sequence[Outcome]
    quick: bool = False

    @property
    def documents(self) -> list[str]:
        """The names of the documents, in the order of the catalogue."""
        return list(dict.fromkeys(outcome.figure.document for outcome in self.outcomes))

    def of_document(self, name: str) -> Reproduction:
        """Return the part with one document's figures.

        Parameters
        ----------
        name : str
            Name of a document, one of `documents`.

        Returns
        -------
        Reproduction
            Outcomes of the document in their order; none if it has no figure here.
        """
        own = [outcome for outcome in self.outcomes if outcome.figure.document == name]
        return replace(self, outcomes=own)

    @property
    def failures(self) -> list[str]:
        """The rows that contradict their documents, a line each."""
        return [
            f"{outcome.figure.name}: {row.item}: {row.measured}: {row.verdict}"
            for outcome in self.outcomes
            for row in outcome.rows
            if row.verdict.is_failure
        ]

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """The data of all figures, by ``document/figure/table``."""
        return {
            f"{outcome.figure.name}/{name}": table
            for outcome in self.outcomes
            for name, table in outcome.finding.found.tables.items()
        }

    def to_arrow(self) -> pa.Table:
        """Return published and measured numbers as an Arrow table.

        Returns
        -------
        pyarrow.Table
            A row for each published number, with the measured one as text, and for each claim;
            ``ratio`` is measured / published.
        """
        return pa.Table.from_pylist(
            [
                {
                    "figure": outcome.figure.name,
                    "item": row.item,
                    "published": row.published,
                    "measured": row.measured,
                    "ran": outcome.ran,
                    "verdict": str(row.verdict),
                    "ratio": row.ratio,
                    "by_construction": row.by_construction,
                    "construction": row.construction,
                    "why": row.why,
                }
                for outcome in self.outcomes
                for row in outcome.rows
            ],
            schema=_COLUMNS,
        )


_COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in ("figure", "item", "published", "measured", "ran")),
        ("verdict", pa.string()),
        ("ratio", pa.float64()),
        ("by_construction", pa.bool_()),
        *((name, pa.string()) for name in ("construction", "why")),
    ]
)


def reproduce(
    *names: str,
    quick: bool = False,
    seed: int | None = None,
    trace_dirs: Sequence[str | os.PathLike[str]] | None = None,
    out: str | os.PathLike[str] = "results",
    threads: int | None = None,
    force: bool = False,
    formats: Sequence[FigureFormat] | None = None,
    style: Style | None = None,
    reporter: Reporter | None = None,
) -> Reproduction:
    """Reproduce figures of documents, and compare published numbers with measured ones.

    Parameters
    ----------
    *names : str
        Documents, and figures as ``"multicache/fig14"``; all if none is given.
    quick : bool
        Replay a sixteenth of the blocks, picked by hash, in caches of a sixteenth.
    seed : int, optional
        Seed of all experiments and synthetic workloads, instead of their own.
    trace_dirs : sequence of path, optional
        Folders of recorded traces; those of `MCSIM_TRACE_DIR` if absent.
    out : path
        Folder of all results: runs and findings.
    threads : int, optional
        Systems replayed at a time; the number of cores if not given.
    force : bool
        Measure stored findings again. Finished runs are not run again.
    formats : sequence of {'png', 'pdf', 'svg'}, optional
        Formats of the figures. A finding without one of these is measured again, from finished
        runs. If absent, the formats of stored findings, or else PNG and SVG.
    style : {'screen', 'paper'}, optional
        Style of the figures, as of `mcsim.figures.plot`. If absent, that of stored findings, or
        else that of a screen.
    reporter : Reporter, optional
        Reporter of progress; if absent, no progress is shown.

    Returns
    -------
    Reproduction
        An outcome for each figure, with its measurements, drawn files and verdicts.

    Raises
    ------
    ConfigError
        If a name is unknown.
    HostError
        If the disk is full. Stored findings stay, and the next call continues.
    """
    figures = chosen(names)
    out = file_given("out", out)
    check_writable(out)
    told = reporter or Reporter()
    dirs = trace_dirs_given(trace_dirs)
    dirs = [folder.resolve() for folder in dirs]
    left = _Left(figures, quick)
    outcomes = []
    with told.live():
        context = Context(quick, seed, out.resolve(), dirs, threads, formats, style, told.quieter())
        for number, figure in enumerate(figures, 1):
            begun = time.monotonic()
            with told.under_way(f"{number}/{len(figures)} {figure.name}, {left.text}"):
                finding, again = kept.find(figure, context, force=force)
            left.finish(figure, time.monotonic() - begun if again else None)
            outcome = _outcome(figure, finding, context)
            outcomes.append(outcome)
            told.note(_line(number, len(figures), outcome, again, left.text))
    return Reproduction(outcomes, quick)


def _outcome(figure: Figure, finding: Finding, context: Context) -> Outcome:
    folder, short = context.folder(figure.document), figure.name.partition("/")[2]
    return Outcome(figure, finding, [note for note in read_notes(folder) if note.figure == short])


def _line(number: int, count: int, outcome: Outcome, again: bool, left: str) -> str:
    took = f"{outcome.finding.seconds:.1f} s" if again else "found before"
    progress = f"{number:>{len(str(count))}}/{count}"
    return f"{progress} {outcome.figure.name:<24} {took:>12}  {outcome.counts}  {left}".rstrip()


@dataclass
class _Left:
    """Estimate of the remaining time of the catalogue, from the time of finished figures."""

    figures: Sequence[Figure]
    quick: bool
    _done: int = 0
    _took: float = field(default=0.0)
    _estimated: float = field(default=0.0)

    def finish(self, figure: Figure, seconds: float | None) -> None:
        """Count a figure as done; a stored one, without seconds, does not change the estimate."""
        self._done += 1
        if seconds is not None:
            self._took += seconds
            self._estimated += figure.estimate(self.quick)

    @property
    def text(self) -> str:
        """Remaining time, for people."""
        rest = sum(figure.estimate(self.quick) for figure in self.figures[self._done :])
        # Ten seconds on both sides stabilise the ratio: the first figures are small, and their
        # times are not representative.
        seconds = rest * (self._took + 10) / (self._estimated + 10)
        if self._done == len(self.figures):
            return ""
        return f"{seconds / 60:.0f} min left" if seconds >= 90 else f"{seconds:.0f} s left"
