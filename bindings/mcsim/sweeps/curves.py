"""Exact curves of traces in pieces, which other processes or jobs of a batch queue compute.

A piece is a range of files, or of the requests of a file. It is stored in a folder that all workers
see, and so is every merge of neighbours: what is there is not computed again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsim import _core
from mcsim.base.errors import ConfigError, NoReferencesError
from mcsim.base.progress import Reporter
from mcsim.base.suggest import names_listed, names_matching
from mcsim.experiment.environment import build_digest, check_program
from mcsim.locality.curve_pieces import CurvePiece, Ends, Span, check_vms
from mcsim.references.blocks import Blocks
from mcsim.sweeps.execute import RemoteExecutor, run_all
from mcsim.traces.open import Reading, open_files

if TYPE_CHECKING:
    from mcsim.traces.batches import Ops
    from mcsim.traces.trace import Trace


Bounds = tuple[int | None, int | None]
"""Time from which on, and before which, a piece has the requests of a trace."""


@dataclass(frozen=True)
class CurvePlan:
    """What all pieces of a curve share; sent to workers, which see files by the same names.

    Attributes
    ----------
    files : tuple of Path
        The traces, in the order of time.
    ops, block_bytes : str, int
        As of `Trace.blocks`.
    vms : str, optional
        Names of VMs and patterns, between commas; all if not given.
    per_vm : bool
        Whether every VM has a curve, besides that of all.
    reading, vm_name : Reading, str
        As of `open_files`.
    count : int
        Number of pieces.
    folder : Path
        Folder of the pieces of all curves.
    """

    files: tuple[Path, ...]
    ops: Ops
    block_bytes: int
    vms: str | None
    per_vm: bool
    reading: Reading
    vm_name: str | None
    count: int
    folder: Path
    version: str = _core.__version__
    build: str = ""

    @cached_property
    def digest(self) -> str:
        """Digest of the references and their division: files by name, size and time of change."""
        files = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in self.files]
        reading = {of.name: str(getattr(self.reading, of.name)) for of in fields(Reading)}
        del reading["cache_dir"]
        given = (self.ops, self.block_bytes, self.vms, self.per_vm, self.vm_name, self.count)
        text = json.dumps([files, reading, given])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def path(self, begin: int, end: int) -> Path:
        """Return the file of the pieces from `begin` to before `end`."""
        return self.folder / self.digest / f"{begin:05}-{end:05}-of-{self.count}.piece"

    def shares(self, index: int) -> Iterator[tuple[Path, int, int]]:
        """Yield the files of a piece; its requests are from `a` to `b` of `count` parts."""
        begin, end = index * len(self.files), (index + 1) * len(self.files)
        for file in range(begin // self.count, math.ceil(end / self.count)):
            first = file * self.count
            yield self.files[file], max(begin - first, 0), min(end - first, self.count)


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
    if not task.path.is_file():
        if task.middle is None:
            made = piece_of(task.plan, task.begin, reporter or Reporter())
        else:
            left, right = map(CurvePiece.read, task.inputs())
            made = left.merge(right)
        task.path.parent.mkdir(parents=True, exist_ok=True)
        made.write(task.path)
    return 1


def piece_of(plan: CurvePlan, index: int, reporter: Reporter) -> CurvePiece:
    """Compute a piece."""
    shares = list(plan.shares(index))
    made: CurvePiece | None = None
    for at, (file, first, last) in enumerate(shares):
        ends = Ends(
            starts=index == 0 and at == 0,
            ends=index == plan.count - 1 and at == len(shares) - 1,
        )
        trace = _opened(plan, file, reporter)
        bounds = _time_at(trace, first, plan.count), _time_at(trace, last, plan.count)
        has_ties = _has_ties(trace, bounds)
        order = _order_of_vms(plan, file, trace, reporter) if has_ties else trace.vms
        blocks = _blocks(plan, trace, bounds, order, reporter)
        vms = trace.vms if blocks is None else blocks.vms
        digest = f"{trace.digest} {bounds}"
        span = Span(trace.metadata.source, digest, _times(blocks), vms, has_ties)
        with reporter.stage("distances", unit="refs", about=file.name):
            piece = CurvePiece.of(blocks, span, _facts(plan, trace), (index, index + 1), ends)
        made = piece if made is None else made.merge(piece)
    assert made is not None
    return made


def _opened(plan: CurvePlan, file: Path, reporter: Reporter) -> Trace:
    """Open a trace; raise ConfigError if it cannot be divided into pieces."""
    with reporter.stage("read", unit="B", about=file.name) as stage:
        trace = open_files([file], plan.reading, plan.vm_name, stage.update_of)
    if trace.metadata.counts.discards:
        raise ConfigError(f"{trace.metadata.source}: it has discards, and pieces cannot have any")
    if trace.keys is not None:
        raise ConfigError(f"{trace.metadata.source}: its keys are text, and pieces need numbers")
    return trace


def _facts(plan: CurvePlan, trace: Trace) -> dict[str, Any]:
    return {
        "plan": plan.digest,
        "count": plan.count,
        "ops": plan.ops,
        "block_bytes": plan.block_bytes,
        "per_vm": plan.per_vm,
        "kind": trace.kind,
        "time_base": trace.time_base,
        "synthetic": trace.metadata.synthetic,
        "has_prefixes": trace.metadata.has_prefixes,
    }


def _blocks(
    plan: CurvePlan, trace: Trace, bounds: Bounds, order: Sequence[str], reporter: Reporter
) -> Blocks | None:
    """Return the references of a piece; None if there are none."""
    vms = None if plan.vms is None else _named(plan.vms, trace.vms)
    if vms == [] or not trace.request_count:
        return None
    with (
        reporter.stage("intern", total=trace.request_count, unit="requests") as stage,
        suppress(NoReferencesError),
    ):
        return Blocks.of(
            trace,
            plan.ops,
            plan.block_bytes,
            vms,
            addresses=True,
            order=order,
            between=bounds,
            progress=stage.update,
        )
    return None


def _has_ties(trace: Trace, bounds: Bounds) -> bool:
    """Return whether requests of different VMs, within bounds of time, have the same time."""
    begin, end = bounds
    time = vm = None
    for batch in trace.batches() if len(trace.vms) > 1 else ():
        first = 0 if begin is None else int(np.searchsorted(batch.time, begin))
        last = len(batch.time) if end is None else int(np.searchsorted(batch.time, end))
        if first >= last:
            continue
        times, vms = batch.time[first:last], batch.vm[first:last]
        if ((times[1:] == times[:-1]) & (vms[1:] != vms[:-1])).any():
            return True
        if time == times[0] and vm != vms[0]:
            return True
        time, vm = times[-1], vms[-1]
    return False


def _order_of_vms(plan: CurvePlan, file: Path, trace: Trace, reporter: Reporter) -> list[str]:
    """Return the VMs of a trace after those of earlier files, as these are merged by time."""
    earlier = [_opened(plan, one, reporter) for one in plan.files[: plan.files.index(file)]]
    return list(dict.fromkeys(name for one in (*earlier, trace) for name in one.vms))


def _times(blocks: Blocks | None) -> tuple[int, int] | None:
    if blocks is None:
        return None
    times = blocks.accesses.request_time
    return int(times[0]), int(times[-1])


def _named(text: str, names: Sequence[str]) -> list[str]:
    """Return the VMs of a trace that names and patterns select, perhaps none."""
    chosen: list[str] = []
    listed = names_listed(text, names)
    excluded = [one for one in listed if one.startswith("!") and one not in names]
    for patterns in [one for one in listed if one not in excluded] or ["all"]:
        try:
            chosen += names_matching([patterns], names)
        except ConfigError:
            continue
    without: set[str] = set()
    for pattern in excluded:
        try:
            without |= set(names_matching([pattern[1:]], names))
        except ConfigError:
            continue
    return [name for name in names if name in chosen and name not in without]


def _time_at(trace: Trace, part: int, count: int) -> int | None:
    """Return the time at which one of `count` parts of equal length begins; None at both ends.

    Requests of the same time are in one part.
    """
    rows = trace.metadata.counts.rows
    if part in (0, count) or not rows:
        return None
    row = rows * part // count
    for batch in trace.batches():
        if row < len(batch.time):
            return int(batch.time[row])
        row -= len(batch.time)
    raise IndexError(row)


def planned(plan: CurvePlan) -> CurvePlan:
    """Check a plan and return it with this build of mcsim.

    Raises
    ------
    ConfigError
        If a file is given twice.
    """
    seen: set[Path] = set()
    for file in plan.files:
        if file.resolve() in seen:
            raise ConfigError(f"{file.name}: the same trace is given twice")
        seen.add(file.resolve())
    return replace(plan, build=build_digest())


def levels(plan: CurvePlan) -> list[list[CurveTask]]:
    """Return the missing tasks of a tree of merges: pieces first, merges of all at the end."""
    found: list[list[CurveTask]] = []

    def add(begin: int, end: int) -> int:
        """Add the tasks of pieces `begin` to `end`; return the level of the last one, or -1."""
        if plan.path(begin, end).is_file():
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
    return found


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
