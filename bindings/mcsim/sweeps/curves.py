"""Exact curves of traces in pieces, which other processes or jobs of a batch queue compute.

A piece is a range of files, or of the requests of a file. It is stored in a folder that all workers
see, and so are the results of all other tasks until the curve is there: these are not computed
again. All pieces are merged by ranges of hashes, or neighbours in a tree (`curve_ranges`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter
from mcsim.experiment.environment import check_program
from mcsim.locality.column_file import ColumnFile
from mcsim.locality.curve_pieces import CurvePiece, check_vms
from mcsim.locality.curve_ranges import MOST_JOINS, RangeMerge, can_merge_by_ranges, joins_for
from mcsim.sweeps.curve_contents import Contents
from mcsim.sweeps.curve_input import piece_of
from mcsim.sweeps.curve_plan import CurvePlan
from mcsim.sweeps.execute import RemoteExecutor, run_all

Step = Literal["", "join", "rank", "resolve", "add"]


@dataclass(frozen=True)
class CurveTask:
    """A piece, a merge of two neighbours at `middle`, or a step of a merge by ranges.

    The number of a `join` or a `rank` is `begin`. Resolved pieces are merged by `add`.
    """

    plan: CurvePlan
    begin: int
    end: int
    middle: int | None = None
    step: Step = ""

    @property
    def path(self) -> Path:
        """File of the result."""
        if self.step in ("join", "rank"):
            merge = by_ranges(self.plan)
            return merge.joined(self.begin) if self.step == "join" else merge.ranked(self.begin)
        whole = self.plan.path(self.begin, self.end)
        is_kept = self.step == "" or (
            self.step == "add" and self.end - self.begin == self.plan.count
        )
        return whole if is_kept else whole.with_suffix(".resolved")

    def inputs(self) -> tuple[Path, ...]:
        """Return the files that a merge of neighbours reads."""
        if self.middle is None:
            return ()
        halves = (self.begin, self.middle), (self.middle, self.end)
        return tuple(replace(self, begin=a, end=b, middle=None).path for a, b in halves)


def by_ranges(plan: CurvePlan) -> RangeMerge:
    """Return the merge of all pieces of a plan by ranges of hashes."""
    pieces = tuple(plan.path(at, at + 1) for at in range(plan.count))
    return RangeMerge(pieces, pieces[0].parent, min(plan.count, MOST_JOINS))


def run_task(task: CurveTask, reporter: Reporter | None = None) -> int:
    """Compute and write a piece, or the result of another task, unless it is there; return 1.

    Raises
    ------
    ConfigError
        If this process has another mcsim, or the pieces do not follow one another.
    """
    check_program(task.plan.version, task.plan.build, "the curve")
    if Contents(task.plan).is_current(task.path):
        return 1
    task.path.parent.mkdir(parents=True, exist_ok=True)
    if task.step == "join":
        by_ranges(task.plan).join(task.begin)
    elif task.step == "rank":
        by_ranges(task.plan).rank(task.begin)
    else:
        _made(task, reporter or Reporter()).write(task.path)
    return 1


def _made(task: CurveTask, reporter: Reporter) -> CurvePiece:
    if task.middle is not None:
        left, right = map(CurvePiece.read, task.inputs())
        return left.merge(right)
    if task.step == "resolve":
        return by_ranges(task.plan).resolve(task.begin)
    return piece_of(task.plan, task.begin, reporter)


def missing_pieces(plan: CurvePlan) -> list[CurveTask]:
    """Return the tasks of the pieces that are not there, or of other contents of their files."""
    contents = Contents(plan)
    tasks = (CurveTask(plan, at, at + 1) for at in range(plan.count))
    return [task for task in tasks if not contents.is_current(task.path)]


def missing_merges(plan: CurvePlan) -> list[list[CurveTask]]:
    """Return the missing tasks that merge all pieces; those of a list need the lists before it."""
    pieces = [ColumnFile(plan.path(at, at + 1)) for at in range(plan.count)]
    if not can_merge_by_ranges(pieces):
        return _tree(plan, "")
    tree = _tree(plan, "add")
    if not tree or tree[0][0].step != "resolve":
        return tree
    contents = Contents(plan)
    joins = [CurveTask(plan, at, at, step="join") for at in range(by_ranges(plan).joins)]
    ranks = [CurveTask(plan, at, at, step="rank") for at in range(plan.count)]
    steps = [[task for task in of if not contents.is_current(task.path)] for of in (joins, ranks)]
    return [*(step for step in steps if step), *tree]


def _tree(plan: CurvePlan, step: Literal["", "add"]) -> list[list[CurveTask]]:
    """Return the missing merges of neighbours, by level; the first list resolves pieces."""
    found: list[list[CurveTask]] = []
    contents = Contents(plan)

    def add(begin: int, end: int) -> int:
        """Add the tasks of pieces `begin` to `end`; return the level of the last one, or -1."""
        if end - begin == 1 and not step:
            return -1
        if end - begin == 1:
            task, level = CurveTask(plan, begin, end, step="resolve"), 0
        else:
            middle = (begin + end + 1) // 2
            task, level = CurveTask(plan, begin, end, middle, step), 1
        if contents.is_current(task.path):
            return -1
        if task.middle is not None:
            level += max(add(begin, task.middle), add(task.middle, end), 0)
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
    whole = plan.path(0, plan.count)
    if not Contents(plan).is_current(whole):
        _run_levels("pieces", [missing_pieces(plan)], executor, reporter)
        _run_levels("merge", missing_merges(plan), executor, reporter)
        for suffix in ("join", "rank", "resolved"):
            for file in whole.parent.glob(f"*.{suffix}"):
                file.unlink(missing_ok=True)
    return checked(CurvePiece.read(whole))


def _run_levels(
    name: str, levels: list[list[CurveTask]], executor: Executor, reporter: Reporter
) -> None:
    finished = 0
    with reporter.stage(name, sum(map(len, levels)), "tasks") as stage:

        def done(count: int) -> None:
            nonlocal finished
            finished += count
            stage.update(finished)

        for level in levels:
            place: RemoteExecutor[CurveTask] = RemoteExecutor(executor, run_task, _unchanged, done)
            run_all(place, level, _named_task)


def _unchanged(task: CurveTask) -> CurveTask:
    return task


def _named_task(task: CurveTask) -> tuple[str, str]:
    if task.middle is None and task.step == "":
        return f"piece {task.begin}", f"--shard {task.begin}/{task.plan.count}"
    return f"the merge of pieces {task.begin} to {task.end - 1}", "--merge"


def merge_files(paths: Sequence[Path], reporter: Reporter) -> CurvePiece:
    """Merge the pieces in files and folders, by ranges of hashes or in a tree; return the whole.

    Raises
    ------
    ConfigError
        If a piece is missing, given twice, of another curve, or damaged.
    """
    files = [ColumnFile(path) for path in _in_order(paths)]
    merged = 0
    with (
        reporter.stage("merge", total=len(files), unit="pieces") as stage,
        _pieces_to_merge(files) as piece_at,
    ):

        def whole(begin: int, end: int) -> CurvePiece:
            nonlocal merged
            if end - begin == 1:
                merged += 1
                stage.update(merged)
                return piece_at(begin)
            middle = (begin + end + 1) // 2
            return whole(begin, middle).merge(whole(middle, end))

        return checked(whole(0, len(files)))


@contextmanager
def _pieces_to_merge(files: Sequence[ColumnFile]) -> Iterator[Callable[[int], CurvePiece]]:
    """Yield a function that returns a piece; its first accesses are resolved if possible."""
    if not can_merge_by_ranges(files):
        yield lambda at: CurvePiece.read(files[at].path)
        return
    beside = files[0].path.parent
    folder = beside if os.access(beside, os.W_OK) else None
    with TemporaryDirectory(prefix=".merge", dir=folder) as name:
        merge = RangeMerge(tuple(file.path for file in files), Path(name), joins_for(files))
        for task in range(merge.joins):
            merge.join(task)
        for at in range(len(files)):
            merge.rank(at)
        yield merge.resolve


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
        header = ColumnFile(file).header
        of_file, place = header["facts"], tuple(header["place"])
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
