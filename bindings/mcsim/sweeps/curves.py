"""Exact curves of traces in pieces, which other processes or jobs of a batch queue compute.

A piece is a range of files, or of the requests of a file. It is stored in a folder that all workers
see, and so is every merge of neighbours: what is there is not computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter
from mcsim.experiment.environment import check_program
from mcsim.locality.curve_pieces import CurvePiece, check_vms
from mcsim.sweeps.curve_contents import Contents
from mcsim.sweeps.curve_input import piece_of
from mcsim.sweeps.curve_plan import CurvePlan
from mcsim.sweeps.execute import RemoteExecutor, run_all


@dataclass(frozen=True)
class CurveTask:
    """A piece, or a merge of two neighbours at `middle`."""

    plan: CurvePlan
    begin: int
    end: int
    middle: int | None = None

    @property
    def path(self) -> Path:
        """File of the result."""
        return self.plan.path(self.begin, self.end)

    def inputs(self) -> tuple[Path, ...]:
        """Return the files that it merges."""
        if self.middle is None:
            return ()
        return self.plan.path(self.begin, self.middle), self.plan.path(self.middle, self.end)


def run_task(task: CurveTask, reporter: Reporter | None = None) -> int:
    """Compute and write a piece, or a merge, unless it is there; return 1.

    Raises
    ------
    ConfigError
        If this process has another mcsim, or the pieces do not follow one another.
    """
    check_program(task.plan.version, task.plan.build, "the curve")
    if not Contents(task.plan).is_current(task.path):
        if task.middle is None:
            made = piece_of(task.plan, task.begin, reporter or Reporter())
        else:
            left, right = map(CurvePiece.read, task.inputs())
            made = left.merge(right)
        task.path.parent.mkdir(parents=True, exist_ok=True)
        made.write(task.path)
    return 1


def levels(plan: CurvePlan) -> list[list[CurveTask]]:
    """Return the missing tasks of a tree of merges: pieces first, merges of all at the end."""
    found: list[list[CurveTask]] = []
    contents = Contents(plan)

    def add(begin: int, end: int) -> int:
        """Add the tasks of pieces `begin` to `end`; return the level of the last one, or -1."""
        if contents.is_current(plan.path(begin, end)):
            return -1
        if end - begin == 1:
            task, level = CurveTask(plan, begin, end), 0
        else:
            middle = (begin + end + 1) // 2
            task = CurveTask(plan, begin, end, middle)
            level = 1 + max(add(begin, middle), add(middle, end), 0)
        while len(found) <= level:
            found.append([])
        found[level].append(task)
        return level

    add(0, plan.count)
    return [level for level in found if level]


def run_by(plan: CurvePlan, executor: Executor, reporter: Reporter) -> CurvePiece:
    """Compute all missing pieces and merges by an executor; return the whole.

    Raises
    ------
    ConfigError, HostError, TraceError
        The error of the first task that failed.
    KeyboardInterrupt
        If interrupted; finished tasks are kept.
    """
    missing = levels(plan)
    finished = 0
    with reporter.stage("pieces", sum(map(len, missing)), "tasks") as stage:

        def done(count: int) -> None:
            nonlocal finished
            finished += count
            stage.update(finished)

        for level in missing:
            place: RemoteExecutor[CurveTask] = RemoteExecutor(executor, run_task, _unchanged, done)
            run_all(place, level, _named_task)
    return checked(CurvePiece.read(plan.path(0, plan.count)))


def _unchanged(task: CurveTask) -> CurveTask:
    return task


def _named_task(task: CurveTask) -> tuple[str, str]:
    if task.middle is None:
        return f"piece {task.begin}", f"--shard {task.begin}/{task.plan.count}"
    return f"the merge of pieces {task.begin} to {task.end - 1}", "--merge"


def merge_files(paths: Sequence[Path], reporter: Reporter) -> CurvePiece:
    """Merge the pieces in files and folders, in a tree over neighbours; return the whole.

    Raises
    ------
    ConfigError
        If a piece is missing, given twice, of another curve, or damaged.
    """
    files = list(_in_order(paths))
    merged = 0
    with reporter.stage("merge", total=len(files), unit="pieces") as stage:

        def whole(begin: int, end: int) -> CurvePiece:
            nonlocal merged
            if end - begin == 1:
                merged += 1
                stage.update(merged)
                return CurvePiece.read(files[begin])
            middle = (begin + end + 1) // 2
            return whole(begin, middle).merge(whole(middle, end))

        return checked(whole(0, len(files)))


def _in_order(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files of all pieces of a curve, in order."""
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise ConfigError(f"{path}: no such file or folder")
        found = sorted(path.rglob("*.piece")) if path.is_dir() else [path]
        if not found:
            raise ConfigError(f"{path}: there are no pieces of a curve in this folder")
        files += found
    pieces: dict[tuple[int, int], Path] = {}
    facts: dict[str, Any] = {}
    for file in files:
        of_file, place = CurvePiece.place_in(file)
        facts = facts or of_file
        if of_file != facts:
            keys = [key for key in facts if facts[key] != of_file.get(key) and key != "plan"]
            why = f": they differ in {', '.join(keys)}" if keys else ""
            raise ConfigError(f"{file} and {files[0]} are pieces of different curves{why}")
        if place in pieces:
            raise ConfigError(f"{file} and {pieces[place]} are the same piece")
        pieces[place] = file
    yield from _covering(pieces, facts["count"])


def _covering(pieces: dict[tuple[int, int], Path], count: int) -> Iterator[Path]:
    """Yield pieces that cover all; those that a merge of them covers are left out."""
    begin = 0
    missing: list[str] = []
    while begin < count:
        ends = [end for first, end in pieces if first == begin]
        if not ends:
            missing.append(f"{begin}/{count}")
        else:
            yield pieces[begin, max(ends)]
        begin = max(ends, default=begin + 1)
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise ConfigError(
            f"{len(missing)} of {count} pieces are missing: --shard {', '.join(missing[:5])}{more}"
        )


def checked(whole: CurvePiece) -> CurvePiece:
    """Check that a merged piece has references, and VMs in one order; return it."""
    check_vms(whole.spans)
    return whole
