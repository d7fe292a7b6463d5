"""Findings that are kept: what a figure found, until anything changes that it came from.

Each has a folder `reproduce/<document>/<figure>` (`-quick` for the quick one) among the results:
the tables, the figures, and last `found.json`, which says how tables are plotted, too, and without
which it was not finished. Runs are results
of their own, beside it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from mcsim.experiment.environment import build_digest
from mcsim.report.declared import Plot
from mcsim.reproduce.context import Context
from mcsim.reproduce.figure import Check, Figure, Found
from mcsim.results.files import read_json, read_parquet, write_json, write_parquet
from mcsim.results.seals import digest_of

__all__ = ["Finding", "folder_of", "keep", "opened"]


@dataclass(frozen=True)
class Finding:
    """What a figure found, and where that is kept.

    Attributes
    ----------
    found : Found
        Without `draw`: the figures are drawn.
    drawn : sequence of Path
        The figures.
    seconds : float
        What finding and drawing took.
    """

    found: Found
    drawn: Sequence[Path]
    seconds: float


def folder_of(figure: Figure, context: Context) -> Path:
    """Return where the finding of a figure is kept."""
    return context.out / "reproduce" / (figure.name + ("-quick" if context.quick else ""))


def opened(figure: Figure, context: Context) -> Finding | None:
    """Open the finding of a figure, if there is a whole one that came from all that is now."""
    folder = folder_of(figure, context)
    try:
        kept = read_json(folder / "found.json")
        if kept["cause"] != _cause(figure, context):
            return None
        if any(digest_of(folder / file) != digest for file, digest in kept["files"].items()):
            return None
    except (OSError, ValueError, KeyError):
        return None
    found = Found(
        values=kept["values"],
        checks=[Check(**check) for check in kept["checks"]],
        tables={name: read_parquet(folder / f"{name}.parquet") for name in kept["tables"]},
        plots=[Plot.of(plot) for plot in kept["plots"]],
        ran=kept["ran"],
        recorded=kept["recorded"],
    )
    return Finding(found, [folder / name for name in kept["drawn"]], kept["seconds"])


def keep(figure: Figure, context: Context, found: Found, seconds: float) -> Finding:
    """Write what a figure found, and draw it.

    Raises
    ------
    HostError
        If the disk is full or cannot be written; what was kept before is then not whole, and the
        figure is found again the next time.
    """
    folder = folder_of(figure, context)
    found = _in_plain_values(found)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "found.json").unlink(missing_ok=True)
    written = []
    for name, table in found.tables.items():
        written.append(folder / f"{name}.parquet")
        write_parquet(written[-1], table)
    drawn = list(found.draw(folder / figure.name.rpartition("/")[2])) if found.draw else []
    write_json(
        folder / "found.json",
        {
            "figure": figure.name,
            "cause": _cause(figure, context),
            "values": found.values,
            "checks": [asdict(check) for check in found.checks],
            "tables": list(found.tables),
            "plots": [asdict(plot) for plot in found.plots],
            "drawn": [path.name for path in drawn],
            "ran": list(found.ran),
            "recorded": found.recorded,
            "seconds": round(seconds, 3),
            "files": {path.name: digest_of(path) for path in (*written, *drawn)},
        },
    )
    return Finding(found, drawn, seconds)


def _in_plain_values(found: Found) -> Found:
    """Return a finding without NumPy's numbers and truths, which JSON does not have."""
    values = {item: v if isinstance(v, str) else float(v) for item, v in found.values.items()}
    checks = [
        replace(check, holds=None if check.holds is None else bool(check.holds))
        for check in found.checks
    ]
    return replace(found, values=values, checks=checks)


def _cause(figure: Figure, context: Context) -> str:
    """Return a digest of all that can change a finding: program, experiments, traces, options."""
    document = context.folder(figure.document)
    folders = (document, document.parents[1] / "workloads")
    files = {file for folder in folders for file in folder.rglob("*.yaml")}
    experiments = sorted(files - {document / "notes.yaml"})
    traces = [
        (str(path), path.stat().st_size, path.stat().st_mtime_ns)
        for folder in context.trace_dirs
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    cause = {
        "figure": figure.name,
        "build": build_digest(),
        "experiments": {file.name: digest_of(file) for file in experiments},
        "traces": traces,
        "quick": context.quick,
        "seed": context.seed,
    }
    return hashlib.sha256(json.dumps(cause, sort_keys=True).encode()).hexdigest()[:16]
