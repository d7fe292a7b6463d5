"""`mcsim mrc` in pieces: `--shard`, `--merge` and `--dask`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from mcsim.cli.curve_report import SHARED, Curves, PerInterval, PerVm
from mcsim.cli.options import Command, check_only, folder_to_write, reporter_asked, with_options
from mcsim.cli.stream import Source, estimator_given

if TYPE_CHECKING:
    from mcsim.base.progress import Reporter
    from mcsim.locality.curve import HitRatioCurve
    from mcsim.locality.curve_pieces import CurvePiece
    from mcsim.sweeps.curve_plan import CurvePlan
    from mcsim.traces.batches import Kind

_OF_PLAN = {
    *("files", "block_size", "ops", "vms", "per_vm", "interval", "estimator", "seed"),
    *("trace_dirs", "format", "options"),
    *("mapping", "vm_name", "on_bad_line", "on_unsorted", "max_skipped", "cache_dir", "pieces"),
}
_OF_OUTPUT = {"files", "sizes", "form", "output", "folder", "formats", "style", "linear"}
_ALLOWED = {
    "--shard": _OF_PLAN | {"shard", "quiet"},
    "--merge": _OF_OUTPUT | {"merge", "quiet"},
    "--dask": _OF_PLAN | _OF_OUTPUT | {"scheduler", "quiet"},
}


@dataclass(frozen=True)
class PieceOptions:
    """Values of `pieces_options`."""

    shard: str | None
    merge: bool
    scheduler: str | None
    folder: str

    @property
    def modes(self) -> dict[str, Any]:
        """Values of the options of which one is given at a time."""
        return {"--shard": self.shard, "--merge": self.merge, "--dask": self.scheduler}

    @property
    def mode(self) -> str:
        """The option that is given; empty if none is."""
        return next((name for name, value in self.modes.items() if value), "")


def pieces_options(command: Command) -> Command:
    """Add the options of curves in pieces, as `PieceOptions` in the parameter `pieces`."""

    @functools.wraps(command)
    def with_pieces(
        *, shard: str | None, merge: bool, scheduler: str | None, pieces: str, **others: Any
    ) -> Any:
        return command(pieces=PieceOptions(shard, merge, scheduler, pieces), **others)

    options = [
        click.option(
            "--shard",
            metavar="I/N",
            help="Compute the I-th of N pieces of the curve, from 0, in the folder --pieces: for "
            "job arrays.",
        ),
        click.option(
            "--merge", is_flag=True, help="TRACEs are pieces of --shard, or folders of them."
        ),
        click.option(
            "--dask",
            "scheduler",
            metavar="ADDRESS",
            help="Compute the curve in pieces on this Dask scheduler.",
        ),
        click.option(
            "--pieces",
            hidden=True,
            metavar="DIR",
            type=click.Path(),
            default="pieces",
            show_default=True,
            callback=folder_to_write,
            help="Folder of pieces, which all workers see.",
        ),
    ]
    return cast(Command, with_options(with_pieces, options))


@dataclass(frozen=True)
class MergedStream:
    """The references of merged pieces."""

    kind: Kind
    unique: int
    capacity_unit: int | None
    vms: Sequence[str]
    count: int

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True)
class CurveOptions:
    """The options of `mcsim mrc` that pieces have."""

    estimator: str
    per_vm: bool
    interval: str | None


def in_pieces(source: Source, options: PieceOptions, curve: CurveOptions) -> Curves | None:
    """Compute a piece, or the report on a curve of pieces."""
    from mcsim.base.errors import ConfigError

    check_only(options.mode, _ALLOWED[options.mode])
    if curve.per_vm and curve.interval:
        raise ConfigError("--per-vm and --interval: one at a time")
    reporter = reporter_asked()
    if options.merge:
        from mcsim.sweeps.curves import merge_files

        with reporter.live():
            whole = merge_files([Path(file) for file in source.files], reporter)
            return _report(whole, source.sizes)
    if options.shard:
        _compute_shard(source, options.shard, options.folder, reporter, curve)
        return None
    from mcsim.sweeps.curve_plan import pieces_for
    from mcsim.sweeps.curves import run_by
    from mcsim.sweeps.dask import dask_executor

    assert options.scheduler is not None
    with dask_executor(options.scheduler) as (executor, workers), reporter.live():
        count = pieces_for(_files(source), workers)
        plan = _plan(source, count, options.folder, curve)
        return _report(run_by(plan, executor, reporter), source.sizes, source)


def _compute_shard(
    source: Source, shard: str, folder: str, reporter: Reporter, curve: CurveOptions
) -> None:
    """Compute a piece unless it is there, and print the name of its file."""
    from mcsim.base.errors import mistakes_in
    from mcsim.sweeps.curve_contents import Contents
    from mcsim.sweeps.curves import CurveTask, run_task
    from mcsim.sweeps.selection import shard_given

    with mistakes_in("--shard"):
        index, count = shard_given(shard)
    task = CurveTask(_plan(source, count, folder, curve), index, index + 1)
    is_there = Contents(task.plan).is_current(task.path)
    with reporter.live():
        run_task(task, reporter)
    click.echo(f"{task.path}{' was there already' if is_there else ''}")


def _files(source: Source) -> list[Path]:
    from mcsim.traces.find import files_of

    return files_of(list(source.files), source.reading["trace_dirs"])


def _plan(source: Source, count: int, pieces: str, curve: CurveOptions) -> CurvePlan:
    from mcsim.base.inputs import resolved
    from mcsim.cli.reading import params_given
    from mcsim.sweeps.curve_plan import CurvePlan, planned
    from mcsim.traces.open import Reading

    given = source.reading
    reading = Reading(
        given["format"],
        params_given(given["options"]),
        given["mapping"],
        given["cache_dir"],
        given["on_bad_line"],
        given["on_unsorted"],
        given["max_skipped"],
    )
    files = tuple(resolved(file) for file in _files(source))
    return planned(
        CurvePlan(
            files,
            source.ops,
            source.block_bytes,
            source.vms,
            curve.per_vm,
            reading.checked(),
            given["vm_name"],
            count,
            resolved(pieces),
            str(estimator_given(curve.estimator)),
            source.seed,
            curve.interval,
        )
    )


def _report(whole: CurvePiece, sizes: str | None, source: Source | None = None) -> Curves:
    """Return the report on merged pieces, as `mrc` of the whole traces makes it."""
    from mcsim.base.errors import NoReferencesError
    from mcsim.locality.curve_parts import ALL
    from mcsim.locality.measure import Measured

    facts = whole.facts
    curves = whole.finished()
    files = tuple(dict.fromkeys(span.source for span in whole.spans))
    if not curves[ALL].accesses:
        raise NoReferencesError(f"{', '.join(files)}: there are no references ({facts['ops']})")
    vms = None if source is None else source.vms
    of = Source(
        source.files if source else files,
        str(facts["block_bytes"]),
        facts["ops"],
        vms,
        1,
        1,
        {},
        synthetic=facts["synthetic"],
        has_prefixes=facts["has_prefixes"],
    )
    together = curves.pop(ALL)
    unit = facts["block_bytes"] if facts["kind"] == "blocks" else None
    stream = MergedStream(
        facts["kind"], int(together.distinct or 0), unit, whole.vms, together.accesses
    )
    if facts["by"] == "interval":
        return _by_interval(of, stream, curves, facts, sizes)
    if facts["by"] == "":
        return Curves(of, stream, facts["estimator"], [Measured(of.name, together, 0, 0)], sizes)
    measured = [Measured(vm, curves[vm], 0, 0) for vm in whole.vms if vm in curves]
    if len(whole.vms) > 1:
        measured.append(Measured(SHARED, together, 0, 0))
    return PerVm(of, stream, facts["estimator"], measured, sizes)


def _by_interval(
    of: Source,
    stream: MergedStream,
    curves: dict[str, HitRatioCurve],
    facts: dict[str, Any],
    sizes: str | None,
) -> PerInterval:
    """Return the report on intervals, with a row for adjacent ones without requests."""
    from mcsim.cli.curve_report import interval_label
    from mcsim.locality.measure import Measured, parse_estimator

    length = facts["length"]
    by_number = {int(label): curve for label, curve in curves.items()}
    count = max(by_number) + 1
    places = sorted(by_number.keys() | {k + 1 for k in by_number if k + 1 < count})
    spec = parse_estimator(facts["estimator"])
    empty = spec.make(seed=1, threads=1, block_bytes=stream.capacity_unit).curve()
    first_empty = next((k for k in places if k not in by_number or not by_number[k].accesses), None)
    has_lengths = any(curve.requests is not None for curve in by_number.values())
    if has_lengths and first_empty not in by_number:
        # As `measure` makes the curve of all intervals without references from the first one.
        empty = replace(empty, requests=0, request_hits=empty.hits)
    measured = []
    for k in places:
        curve = by_number.get(k, empty)
        label = interval_label(k, length)
        measured.append(Measured(label, curve if curve.accesses else empty, 0, 0))
    return PerInterval(
        of,
        stream,
        facts["estimator"],
        measured,
        sizes,
        length=length,
        places=[*places, count],
    )
