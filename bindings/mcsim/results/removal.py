"""Remove the folders of runs: files that runs write, and no others; links, not their targets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from mcsim.base.claims import TEMPORARY_SUFFIX, is_claim
from mcsim.base.errors import ConfigError, HostError
from mcsim.base.inputs import is_regular, printable, read_regular
from mcsim.results.files import DONE, ENVIRONMENT, FIGURES, RUN_FILES, SPEC, is_figure, read_json
from mcsim.results.foreign import check_environment, parse_spec
from mcsim.results.packs import IN_PACKS
from mcsim.results.seals import is_damaged, read_list

Kind = Literal["run", "pack", "draft", "replaced"]

REMOVED = "removed"
"""Name of results that a process removes, in its folder."""

_PART = re.compile(r"\d+|files")


def check_removable(path: Path, name: str, kind: Kind) -> None:
    """Check that mcsim wrote a folder and all files in it.

    Parameters
    ----------
    path : Path
    name : str
        Name of the experiment, from the name of the folder.
    kind : {'run', 'pack', 'draft', 'replaced'}
        Results of one run or of several, folders of processes that work on a run, or partly removed
        results.

    Raises
    ------
    ConfigError
        If mcsim did not write a file; the message names it.
    """
    if kind == "pack" and (path.is_symlink() or not path.is_dir()):
        raise ConfigError(f"{path}: not removed: not a pack of runs")
    if path.is_symlink():
        return
    foreign = next(_foreign_in(path, kind), None)
    if foreign is not None:
        raise ConfigError(f"{path}: not removed: {printable(foreign)} in it is not of mcsim")
    if kind == "pack" and not _has_own_file(path):
        raise ConfigError(f"{path}: not removed: not a pack of runs that mcsim wrote")
    if kind == "run" and not (_has_own_file(path) or _describes(path, name)):
        raise ConfigError(
            f"{path}: not removed: nothing in it shows that it is a run (no file fits a checksum "
            "in DONE)"
        )


def remove_folder(path: Path, kind: str) -> None:
    """Remove a folder that `check_removable` accepted as of that kind; DONE goes last.

    Raises
    ------
    HostError
        If that fails; files that were added meanwhile are kept.
    """
    try:
        if path.is_symlink():
            path.unlink()
            return
        for file in sorted(path.iterdir(), key=lambda file: (file.name == DONE, file.name)):
            if file.is_symlink() or _is_file_of(file.name, kind):
                file.unlink()
            elif file.name == FIGURES:
                remove_folder(file, "figures")
        path.rmdir()
    except OSError as error:
        raise HostError(f"{path}: cannot be removed: {error.strerror}") from error


def _foreign_in(folder: Path, kind: str) -> Iterator[Path]:
    """Yield what in a folder is not of mcsim."""
    for path in sorted(folder.iterdir()):
        is_folder = path.is_dir() and not path.is_symlink()
        below = _kind_below(path.name, kind) if is_folder else None
        if below is not None:
            yield from _foreign_in(path, below)
        elif is_folder or not (_is_file_of(path.name, kind) or path.is_symlink()):
            yield path


def _kind_below(name: str, kind: str) -> str | None:
    """Return what a folder in a folder of a kind is; None if mcsim makes none of that name."""
    if kind == "draft":
        return "claim" if is_claim(name) else None
    if kind == "claim":
        if name == REMOVED or name.startswith("replaced."):
            return "replaced"
        return "claim" if name.startswith("taken.") else {"parts": "parts", "run": "run"}.get(name)
    return "figures" if kind in ("run", "replaced") and name == FIGURES else None


def _is_file_of(name: str, kind: str) -> bool:
    if name.startswith(".") and name.endswith(TEMPORARY_SUFFIX):
        return True
    if kind == "parts":
        return _PART.fullmatch(name) is not None
    if kind == "figures":
        return is_figure(name)
    if kind == "pack":
        return name in IN_PACKS
    return kind in ("run", "replaced") and name in RUN_FILES


def _has_own_file(folder: Path) -> bool:
    """Return whether a file is as DONE has it."""
    sums = read_list(folder / DONE)
    return not all(is_damaged(folder, sums, name) for name in sums)


def _describes(folder: Path, name: str) -> bool:
    """Return whether the experiment and the environment are those of a run of that name."""
    with suppress(OSError, ValueError):
        if not all(is_regular(folder / file) for file in (SPEC, ENVIRONMENT)):
            return False
        check_environment(read_json(folder / ENVIRONMENT))
        return parse_spec(read_regular(folder / SPEC)).name == name
    return False
