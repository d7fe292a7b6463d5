"""The runs of a folder: listed, found by the beginning of their names, removed, verified."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from mcsim.base.claims import claim_folder, is_claimed, release_lease
from mcsim.base.errors import ConfigError, HostError
from mcsim.base.files import rename
from mcsim.base.inputs import parse_object, read_regular
from mcsim.base.suggest import did_you_mean
from mcsim.results.files import DONE, ENVIRONMENT
from mcsim.results.packs import CLAIMS, PACKS, is_pack, packed, packs_in
from mcsim.results.removal import REMOVED, check_removable, remove_folder
from mcsim.results.results import Results
from mcsim.results.seals import unsound_files
from mcsim.results.stored import (
    Run,
    bytes_below,
    folders_in,
    name_of,
    run_id_of,
    runs_in,
)
from mcsim.results.writer import clear_left, draft_folder

_log = logging.getLogger(__name__)


def find_run(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] = "results",
    *,
    on_several: Callable[[str], object] | None = None,
) -> Path:
    """Find the folder that the run of an id has when it is finished; it need not be there yet.

    Parameters
    ----------
    run : str or path
        A run's id, the beginning of one that no other run has, or the path of its folder: a
        `Path`, or a text with a slash in it.
    out : path
        The folder of all results.
    on_several : callable, optional
        Lets the name of an experiment stand for its newest finished run. It receives a sentence
        about the choice if there are several.

    Raises
    ------
    ConfigError
        If there is none, or several; it names the nearest.
    """
    if not os.fspath(run):
        raise ConfigError("expected the id or the folder of a run, got ''")
    given = os.fspath(run).rstrip(os.sep) or os.sep
    if isinstance(run, Path) or os.sep in given:
        path = Path(given)
        if not path.is_dir() and packed(path) is None:
            raise ConfigError(f"{given}: no such run")
        return path
    in_folders = set(filter(None, map(run_id_of, folders_in(Path(out)))))
    in_packs = {run_id for pack in packs_in(Path(out)) for run_id in pack.run_ids}
    known = sorted(in_folders | in_packs)
    begun = [given] if given in known else [one for one in known if one.startswith(given)]
    if len(begun) == 1:
        return Path(out) / begun[0]
    if on_several is not None and (same := _finished(given, Path(out))):
        if len(same) > 1:
            on_several(
                f"{given}: {same[-1].name} is the newest of {len(same):,} runs; "
                "mcsim results ls shows all"
            )
        return same[-1]
    if begun:
        is_sweep = any(of.name.startswith(given) for of in (Path(out) / "sweeps").glob("*"))
        hint = f"; `mcsim results ls {given}` lists the runs of the sweep"
        raise ConfigError(
            f"{given!r} may be {_some(begun)}: give more letters{hint if is_sweep else ''}"
        )
    near = did_you_mean(given, known) or did_you_mean(given, {name_of(one) for one in known})
    raise ConfigError(f"{out}: no run {given!r}{near}; mcsim results ls shows them")


def _finished(name: str, out: Path) -> list[Path]:
    """Return the folders of the finished runs of an experiment, the newest last."""
    paths = [run.path for run in runs_in(out) if run.name == name and run.state == "finished"]
    return sorted(paths, key=_age)


def _age(path: Path) -> tuple[str, int]:
    """Return the start of a finished run and, for runs that started at once, its end."""
    started = ""
    with suppress(OSError, ValueError):
        started = str(parse_object(read_regular(path / ENVIRONMENT)).get("started"))
    return started, (path / DONE).stat().st_mtime_ns


def folder_of(
    given: str,
    out: str | os.PathLike[str] = "results",
    *,
    on_several: Callable[[str], object] | None = None,
) -> Path:
    """Find what a command names by its folder, or as a run of `out`; see `find_run`."""
    if Path(given).exists() or os.sep in given:
        return Path(given)
    return find_run(given, out, on_several=on_several)


def open_run(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] = "results",
    *,
    on_several: Callable[[str], object] | None = None,
) -> Results:
    """Open a finished run by its id, the beginning of an id, or a path; see `find_run`.

    Raises
    ------
    ConfigError
        If no such run is finished, or any of its files is damaged.
    HostError
        If the host cannot read it.
    """
    path = find_run(run, out, on_several=on_several)
    if not path.exists() and packed(path) is None:
        for each in _of_run(path):
            raise ConfigError(f"{path.name}: not a finished run: {each.path.name} is {each.state}")
    results = Results.open(path)
    results.check()
    return results


def removable(run: str | os.PathLike[str], out: str | os.PathLike[str] = "results") -> list[Run]:
    """Return what `remove` would take away; see there."""
    path = find_run(run, out)
    found = _of_run(path)
    if not found and (of_pack := packed(path)) is not None:
        found = _of_run(of_pack.folder)
        if (count := found[0].count) > 1:
            raise ConfigError(
                f"{path.name}: one of {count:,} runs in one folder, which go together: "
                f"mcsim results rm {of_pack.folder}"
            )
    if not found:
        raise ConfigError(f"{path}: not a run")
    for each in found:
        if each.state == "under way":
            raise ConfigError(f"{each.path}: this run is under way; end it first")
        check_removable(each.path, each.name, each.kind)
    return found


def remove(run: str | os.PathLike[str], out: str | os.PathLike[str] = "results") -> int:
    """Remove a run, with what was left of it where it was begun again.

    Parameters
    ----------
    run, out
        As of `find_run`.

    Returns
    -------
    int
        The bytes that are free now.

    Raises
    ------
    ConfigError
        If there is no such run, it is under way, or its folder has files of others.
    HostError
        If its folder cannot be removed.
    """
    found = removable(run, out)
    freed = sum(bytes_below(each.path) for each in found)
    for each in found:
        _take_away(each)
    return freed


def collect(out: str | os.PathLike[str] = "results", *, dry_run: bool = False) -> dict[Path, int]:
    """Remove abandoned runs, which no process works on, from a folder.

    Unless removed, an abandoned run is continued by the next run of the same id.

    Parameters
    ----------
    out : path
        Folder of all results.
    dry_run : bool
        Whether to report sizes without removing files.

    Returns
    -------
    dict of Path to int
        Bytes of each folder that is, or would be, gone.

    Raises
    ------
    ConfigError
        If there is no such folder.
    """
    freed = {}
    for run in runs_in(out):
        if run.state == "abandoned":
            try:
                check_removable(run.path, run.name, run.kind)
            except ConfigError as error:
                _log.warning("%s", error)
                continue
            freed[run.path] = bytes_below(run.path)
            if not dry_run:
                _take_away(run)
    claims = Path(out) / PACKS / CLAIMS
    if claims.is_dir() and not is_claimed(claims):
        freed[claims] = bytes_below(claims)
        if not dry_run:
            clear_left(claims)
    return freed


def verify(
    out: str | os.PathLike[str] = "results", runs: Sequence[str | os.PathLike[str]] = ()
) -> tuple[int, dict[Path, list[str]]]:
    """Verify the checksum of every file of finished runs.

    Parameters
    ----------
    out : path
        The folder of all results.
    runs : sequence of path
        As of `find_run`; all in the folder if there are none, those of sweeps too.

    Returns
    -------
    files : int
        How many folders and packs of runs there are.
    wrong : dict of Path to list of str
        By folder or pack, what in it is not what was written, or gone.

    Raises
    ------
    ConfigError
        If there is no such folder, or no such run.
    """
    if runs:
        paths = [_folder_of(find_run(run, out)) for run in runs]
    else:
        paths = [run.path for run in runs_in(out) if run.state in ("finished", "damaged")]
    paths = list(dict.fromkeys(paths))
    return len(paths), {path: names for path in paths if (names := unsound_files(path))}


def _folder_of(path: Path) -> Path:
    """Return the folder of a run, or the pack that has it."""
    if path.exists() or (found := packed(path)) is None:
        return path
    return found.folder


def _of_run(path: Path) -> list[Run]:
    """Return the folders of the run that is, or would be, at `path`, or this one of them alone."""
    if is_pack(path):
        return [Run(path, path.name, "finished", "pack")]
    return [each for each in runs_in(path.parent) if path.name in (each.run_id, each.path.name)]


def _take_away(run: Run) -> None:
    """Remove a run so that, whenever this ends, its folder is whole or in that of a process."""
    if run.kind == "draft":
        return clear_left(run.path)
    if run.kind == "pack":
        mine = claim_folder(run.path.with_name(CLAIMS))
    else:
        mine = claim_folder(draft_folder(run.path.parent, run.run_id))
    removed = mine / REMOVED
    try:
        rename(run.path, removed)
        remove_folder(removed, run.kind)
    except OSError as error:
        raise HostError(f"{run.path}: cannot be removed: {error.strerror}") from error
    finally:
        release_lease(mine, keep=removed.exists())


def _some(names: list[str], most: int = 3) -> str:
    more = f" or {len(names) - most:,} others" if len(names) > most else ""
    shown = names[:most]
    return f"{', '.join(shown)}{more}" if more else f"{', '.join(shown[:-1])} or {shown[-1]}"
