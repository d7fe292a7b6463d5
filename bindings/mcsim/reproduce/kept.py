"""Stored findings of figures, valid until their inputs change.

A finding has a folder `reproduce/<document>/<figure>` (`-quick` for the quick one) in the folder of
results. It contains the tables, the figures, and `found.json` with their digests, the declared
plots, and the rows: published, measured, class of verdict, ratio, and whether by construction. The
folder is written under another name, and renamed when it is complete. If several processes store
the same finding at a time, that of the first stays. Runs have their own folders of results.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mcsim.base.files import replacing_folder
from mcsim.config.extends import extended_path
from mcsim.config.spec import FigureFormat
from mcsim.experiment.sources import digest_of_program
from mcsim.figures.declared import Plot
from mcsim.reproduce.catalogue import Check, Figure, Found, Value
from mcsim.reproduce.context import Context
from mcsim.reproduce.published import read_published
from mcsim.reproduce.verdicts import Row, judged
from mcsim.results.files import read_json, read_parquet, write_json, write_parquet
from mcsim.results.seals import digest_of

if TYPE_CHECKING:
    from mcsim.figures.style import Style

FORMATS: Sequence[FigureFormat] = ("png", "svg")
"""Default formats of the figures of a finding."""


@dataclass(frozen=True)
class Finding:
    """A stored finding of a figure.

    Attributes
    ----------
    found : Found
        Measurements.
    drawn : sequence of Path
        Files of the drawn figures.
    seconds : float
        Time of measuring and drawing.
    rows : sequence of Row
        Published and measured numbers, then claims.
    """

    found: Found
    drawn: Sequence[Path]
    seconds: float
    rows: Sequence[Row]


def folder_of(figure: Figure, context: Context) -> Path:
    """Return the folder of the finding of a figure."""
    return context.out / "reproduce" / (figure.name + ("-quick" if context.quick else ""))


def opened(figure: Figure, context: Context) -> Finding | None:
    """Open the stored finding of a figure; None if it is absent, incomplete or out of date."""
    folder = folder_of(figure, context)
    try:
        kept = read_json(folder / "found.json")
        checksum = kept.pop("checksum")
        if checksum != _checksum(kept) or kept["cause"] != cause_of(figure, context):
            return None
        if not _is_drawn_as_asked(kept, context):
            return None
        if any(digest_of(folder / file) != digest for file, digest in kept["files"].items()):
            return None
        tables = {name: read_parquet(folder / f"{name}.parquet") for name in kept["tables"]}
        plots = [Plot.of(plot) for plot in kept["plots"]]
        found = Found(
            values=kept["values"],
            checks=[Check(**check) for check in kept["checks"]],
            tables=tables,
            plots=plots,
            ran=kept["ran"],
            recorded=kept["recorded"],
        )
        drawn = [folder / name for name in kept["drawn"]]
        seconds = float(kept["seconds"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException):
        return None
    if context.formats:
        drawn = [path for path in drawn if path.suffix[1:] in context.formats]
    return Finding(found, drawn, seconds, _rows(found, figure, context))


def _rows(found: Found, figure: Figure, context: Context) -> list[Row]:
    """Judge a finding by the published numbers of its figure."""
    short = figure.name.partition("/")[2]
    published = read_published(context.folder(figure.document))
    return judged(found, [entry for entry in published if entry.figure == short])


def _is_drawn_as_asked(kept: Mapping[str, Any], context: Context) -> bool:
    """Return whether a stored finding has all requested figures, or nothing to draw."""
    styled = context.style in (None, kept["style"])
    return not kept["drawn"] or (styled and set(context.formats or ()) <= set(kept["formats"]))


def find(figure: Figure, context: Context, *, force: bool = False) -> tuple[Finding, bool]:
    """Open the stored finding of a figure, or measure and store it.

    Parameters
    ----------
    figure : Figure
    context : Context
    force : bool
        Measure again, and replace the stored finding.

    Returns
    -------
    finding : Finding
    again : bool
        Whether this call measured it.

    Raises
    ------
    HostError
        If the disk is full or cannot be written; an earlier finding stays.
    """
    if not force and (finding := opened(figure, context)) is not None:
        return finding, False
    begun = time.monotonic()
    found = _settled(figure.find(context))
    folder = folder_of(figure, context)
    rows = _rows(found, figure, context)
    with replacing_folder(folder, lambda: not force and opened(figure, context) is not None) as new:
        drawn, seconds = _write(new, figure, context, found, rows, begun)
    return Finding(found, [folder / name for name in drawn], seconds, rows), True


def _write(
    folder: Path,
    figure: Figure,
    context: Context,
    found: Found,
    rows: Sequence[Row],
    begun: float,
) -> tuple[list[str], float]:
    """Write and draw a finding; return the names of the drawn files, and the time."""
    written = [folder / f"{name}.parquet" for name in found.tables]
    for path, table in zip(written, found.tables.values(), strict=True):
        write_parquet(path, table)
    formats, style = context.formats or FORMATS, context.style or "screen"
    drawn = draw_found(found, folder, formats, style)
    seconds = round(time.monotonic() - begun, 3)
    kept = {
        "figure": figure.name,
        "cause": cause_of(figure, context),
        "values": found.values,
        "checks": [asdict(check) for check in found.checks],
        "rows": [asdict(row) | {"by_construction": row.by_construction} for row in rows],
        "tables": list(found.tables),
        "plots": [asdict(plot) for plot in found.plots],
        "drawn": [path.name for path in drawn],
        "formats": list(formats),
        "style": style,
        "ran": list(found.ran),
        "recorded": found.recorded,
        "seconds": seconds,
        "files": {path.name: digest_of(path) for path in (*written, *drawn)},
    }
    write_json(folder / "found.json", kept | {"checksum": _checksum(kept)})
    return [path.name for path in drawn], seconds


def _checksum(kept: Mapping[str, Any]) -> str:
    """Compute the checksum of a finding, without its time."""
    as_read = json.loads(json.dumps({key: of for key, of in kept.items() if key != "seconds"}))
    return hashlib.sha256(json.dumps(as_read, sort_keys=True).encode()).hexdigest()


def _settled(found: Found) -> Found:
    """Complete a finding by the data of its runs, and convert NumPy values for JSON."""
    values = {
        item: {variant: _plain(v) for variant, v in value.items()}
        if isinstance(value, Mapping)
        else _plain(value)
        for item, value in found.values.items()
    }
    checks = [
        replace(check, holds=None if check.holds is None else bool(check.holds))
        for check in found.checks
    ]
    runs = found.runs
    ran = found.ran or [run.run_id for run in runs]
    recorded = found.recorded or (bool(runs) and not any(run.synthetic for run in runs))
    return replace(found, values=values, checks=checks, ran=ran, recorded=recorded)


def _plain(value: Value) -> Value:
    return value if isinstance(value, str) else float(value)


def cause_of(figure: Figure, context: Context) -> str:
    """Return a digest of all that can change a finding: program, experiments, traces, options.

    The program is the modules that measure the figure, and those that store and draw it.
    """
    traces = [
        (str(path), path.stat().st_size, path.stat().st_mtime_ns)
        for folder in context.trace_dirs
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    find: Any = figure.find
    is_partial = isinstance(find, partial)
    modules = (__name__, (find.func if is_partial else find).__module__)
    cause = {
        "figure": figure.name,
        "arguments": repr((find.args, find.keywords)) if is_partial else "",
        "program": digest_of_program(modules, context.folder("")),
        "experiments": _experiments(context.folder(figure.document)),
        "traces": traces,
        "quick": context.quick,
        "seed": context.seed,
    }
    return hashlib.sha256(json.dumps(cause, sort_keys=True).encode()).hexdigest()[:16]


def _experiments(document: Path) -> dict[str, str]:
    """Return digests of a document's experiments, and of their bases, by path."""
    top = document.parents[1]
    found = {file for folder in (document, top / "workloads") for file in folder.rglob("*.yaml")}
    found -= {document / "notes.yaml", document / "document.yaml"}
    left = list(found)
    while left:
        base = extended_path(left.pop())
        if base is not None and base not in found:
            found.add(base)
            left.append(base)
    paths = {file: Path(os.path.relpath(file, top)).as_posix() for file in found}
    return {paths[file]: digest_of(file) for file in sorted(found)}


def draw_found(
    found: Found, folder: Path, formats: Sequence[FigureFormat], style: Style
) -> list[Path]:
    """Write the plots of a finding into a folder in each of the formats; return the files."""
    from mcsim.figures.chart import subject_of
    from mcsim.figures.declared import sheets_of
    from mcsim.figures.style import save, styled

    synthetic, written = not found.recorded, []
    for sheet in sheets_of(found.plots, found.tables):
        with styled(style):
            figure = sheet.finish(found.runs, synthetic=synthetic)
        path = folder / re.sub(r"[^a-z0-9]+", "-", sheet.title.lower()).strip("-")
        subject = subject_of(found.runs, synthetic)
        written += save(figure, path, sheet.title, subject, formats)
    return written
