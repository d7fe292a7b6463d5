"""Folders of a sweep: those of its runs, and its own with the plan."""

from __future__ import annotations

from pathlib import Path

from mcsim.base.errors import HostError
from mcsim.results.files import FIGURES, PAGE
from mcsim.results.stored import Run, bytes_below, runs_in
from mcsim.results.tables import SUMMARY
from mcsim.sweeps.swept import PLAN, TABLES, Sweep, sweeps_in


def folders_of(swept: Sweep) -> dict[Run, bool]:
    """Return the folders of runs and the packs that have results of a sweep.

    Returns
    -------
    dict of Run to bool
        Whether all runs of the folder are cells of this sweep and of no other.
    """
    out = swept.path.parent.parent
    ids = set(swept.plan["run_id"].to_pylist())
    others = {
        run_id
        for other in sweeps_in(out)
        if other.path.name != swept.path.name
        for run_id in other.plan["run_id"].to_pylist()
    }
    own = ids - others
    found = {run: set(run.run_ids) for run in runs_in(out)}
    return {run: runs <= own for run, runs in found.items() if runs & ids}


def finished_in(swept: Sweep) -> list[Path]:
    """Return the folders and packs of `folders_of` that are finished or damaged."""
    return [run.path for run in folders_of(swept) if run.state in ("finished", "damaged")]


def remove_plan(swept: Sweep) -> tuple[int, list[Path]]:
    """Remove the plan, tables, page and figures of a sweep, and no other files.

    Returns
    -------
    freed : int
        Bytes that are free now.
    kept : list of Path
        Files in its folder that mcsim does not write there.

    Raises
    ------
    HostError
        If a file cannot be removed.
    """
    folder, before = swept.path, bytes_below(swept.path)
    columns = tuple(SUMMARY.names)
    figures = [
        path
        for path in (folder / FIGURES).glob("*")
        if path.suffix in (".png", ".pdf", ".svg") and path.name.startswith(columns)
    ]
    try:
        # The plan goes last: with it, the command can be repeated.
        for path in (*figures, *(folder / name for name in (*TABLES, PAGE, PLAN))):
            path.unlink(missing_ok=True)
        for empty in (folder / FIGURES, folder):
            if empty.is_dir() and not any(empty.iterdir()):
                empty.rmdir()
    except OSError as error:
        raise HostError(f"{folder}: cannot be removed: {error.strerror}") from error
    kept = sorted(path for path in folder.rglob("*") if not path.is_dir())
    return before - bytes_below(folder), kept
