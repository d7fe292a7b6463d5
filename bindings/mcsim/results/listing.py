"""The runs of a folder as a table, quickly: of each its name and two small files are read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from mcsim.base.errors import ConfigError
from mcsim.base.inputs import parse_object, printable, read_regular
from mcsim.results.foreign import check_environment, check_timings
from mcsim.results.packs import PackFolder, open_pack
from mcsim.results.run_files import ENVIRONMENT, TIMINGS
from mcsim.results.stored import Run, bytes_below, name_of, runs_in

RUNS = pa.schema(
    [
        ("run", pa.string()),
        ("name", pa.string()),  # of the experiment
        ("state", pa.string()),
        ("started", pa.timestamp("s", "UTC")),  # null where that is not known
        ("systems", pa.list_(pa.string())),
        ("vms", pa.list_(pa.string())),
        ("workload", pa.string()),  # recorded or synthetic
        ("bytes", pa.int64()),  # on disk; of a run in a pack its part of that
        ("path", pa.string()),
        ("pack", pa.string()),  # the folder that has it, if it has none of its own
    ]
)


def list_runs(out: str | os.PathLike[str] = "results") -> pa.Table:
    """List the runs of a folder, including those of sweeps, in the order of their starts.

    Only names, sizes and two small files of each run are read. Checksums are not verified.

    Parameters
    ----------
    out : path
        Folder of all results.

    Returns
    -------
    pyarrow.Table
        A row for every run: ``run`` (its id), ``name`` (of the experiment), ``state``
        (``'finished'``, ``'under way'``, ``'abandoned'`` or ``'damaged'``),
        ``started``, ``systems``, ``vms``, ``workload`` (``'recorded'`` or ``'synthetic'``),
        ``bytes`` on disk, ``path`` and ``pack`` (the folder that
        a run of a sweep shares with others).

    Raises
    ------
    ConfigError
        If there is no such folder.
    """
    rows: list[dict[str, Any]] = []
    for run in runs_in(out):
        if run.kind != "pack":
            rows.append(_describe(run))
        elif (pack := open_pack(run.path)) is not None:
            there = {row["run"] for row in rows if row["state"] == "finished"}
            rows += [row for row in _describe_packed(pack) if row["run"] not in there]
    never = datetime.max.replace(tzinfo=UTC)
    rows.sort(key=lambda row: (row["started"] or never, row["run"]))
    return pa.Table.from_pylist(rows, schema=RUNS)


def _describe(run: Run) -> dict[str, Any]:
    """Return a row of `RUNS`; what cannot be read is null."""
    environment = _read_or_nothing(run.path / ENVIRONMENT)
    timings = _read_or_nothing(run.path / TIMINGS)
    told = _described(run.run_id, run.state, environment, timings)
    return told | {"bytes": bytes_below(run.path), "path": printable(run.path), "pack": None}


def _described(
    run_id: str, state: str, environment: Mapping[str, Any], timings: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        check_environment(environment)
        check_timings(timings)
    except ValueError:
        environment, timings = {}, {}
    synthetic = environment.get("synthetic")
    return {
        "run": printable(run_id),
        "name": printable(name_of(run_id)),
        "state": state,
        "started": _started(environment),
        "systems": list(timings["systems"]) if "systems" in timings else None,
        "vms": [vm["vm"] for vm in environment["traces"]] if "traces" in environment else None,
        "workload": None if synthetic is None else "synthetic" if synthetic else "recorded",
    }


def _describe_packed(pack: PackFolder) -> Iterator[dict[str, Any]]:
    """Return a row of `RUNS` for every run in a pack."""
    told = {"bytes": bytes_below(pack.path) // len(pack.run_ids), "pack": printable(pack.path)}
    numbers, state = range(len(pack.run_ids)), "finished"
    try:
        causes = [(pack.environment(number), pack.timings(number)) for number in numbers]
    except ConfigError:
        causes, state = [({}, {}) for _ in numbers], "damaged"
    for run_id, (environment, timings) in zip(pack.run_ids, causes, strict=True):
        found = _described(run_id, state, environment, timings)
        yield found | told | {"path": printable(pack.path.parent.parent / run_id)}


def _read_or_nothing(file: Path) -> Mapping[str, Any]:
    with suppress(OSError, ValueError):
        return parse_object(read_regular(file))
    return {}


def _started(environment: Mapping[str, Any]) -> datetime | None:
    with suppress(KeyError, ValueError, TypeError):
        return datetime.fromisoformat(environment["started"])
    return None
