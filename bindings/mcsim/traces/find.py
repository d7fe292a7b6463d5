"""Trace files by name, pattern or folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from mcsim._core import trace as _core_trace
from mcsim.base.arguments import file_given, list_of
from mcsim.base.errors import ConfigError
from mcsim.base.inputs import resolved
from mcsim.base.suggest import did_you_mean
from mcsim.traces.pipes import STDIN

# Extensions of other files that have the names of traces.
_NO_TRACES = frozenset(
    (".ini", ".ipynb", ".json", ".log", ".md", ".pdf", ".png", ".py", ".svg", ".yaml", ".yml")
)


_MOST_FILES = 100_000


class TraceFinder:
    """Finds the trace files of names below some folders, which are listed once.

    Parameters
    ----------
    dirs : iterable of path-like
        Folders, searched with all their subfolders.
    """

    def __init__(self, dirs: Iterable[str | os.PathLike[str]]) -> None:
        self.folders = [Path(folder) for folder in dirs]

    def find(self, name: str, base: Path | None = None) -> Path | None:
        """Find the trace file of a name or path.

        A file with this very path comes first. Any other file matches if its name is the given one
        with more extensions: ``web_3``, ``web_3.csv`` and ``msr/web_3`` match
        ``msr/web_3.csv.zst``. Logs, YAML and the like match by their whole name only.

        Parameters
        ----------
        name : str
        base : Path, optional
            Folder of relative paths. It is searched first, without its subfolders.

        Returns
        -------
        Path or None
            None if there is no such file.

        Raises
        ------
        ConfigError
            If several files match; the message names them.
        """
        for folder in self.folders if base is None else [base, *self.folders]:
            if (folder / name).is_file():
                return folder / name
        parents = Path(name).parent.parts
        found = {
            file: path
            for file, path in self._by_name.get(Path(name).name, {}).items()
            if path.parts[-1 - len(parents) : -1] == parents
        }
        if base is not None:
            beside = sorted((base / name).parent.glob("*"))
            found |= _by_name(beside).get(Path(name).name, {})
        if len(found) > 1:
            several = ", ".join(str(path) for path in found.values())
            raise ConfigError(f"trace {name!r} could be any of {several}")
        return next(iter(found.values()), None)

    def files(self, name: str, base: Path | None = None) -> list[Path]:
        """Find the trace files of a name, a pattern such as ``'2016*-LUN4.csv.gz'``, or a folder.

        Files of patterns and folders are sorted by name, numbers in names by value. Logs, YAML and
        the like are left out, unless a pattern has their extension. A pattern is matched in `base`
        first, and if no file matches, in all folders with their subfolders.

        Parameters
        ----------
        name, base
            As of `find`.

        Raises
        ------
        ConfigError
            As of `find`.
        """
        folders = self.folders if base is None else [base, *self.folders]
        if not any((folder / name).is_file() for folder in folders):
            if set("*?[") & set(name):
                return self._matching(name, base)
            if whole := next((of / name for of in folders if (of / name).is_dir()), None):
                return _traces_among(_files_below(whole), whole)
        found = self.find(name, base)
        return [] if found is None else [found]

    def _matching(self, pattern: str, base: Path | None) -> list[Path]:
        # Before Python 3.13, ** is refused within a part of a path.
        parts = [p if p == "**" else re.sub(r"\*+", "*", p) for p in Path(pattern).parts]
        path = Path(*parts)
        start = Path(path.anchor) if path.is_absolute() else base
        if start is not None:
            matching = start.glob(os.fspath(path.relative_to(path.anchor)))
            if found := _traces_among(matching, None, path.suffix):
                return found
        return [
            file
            for folder in ([] if path.is_absolute() else self.folders)
            for file in _traces_among(folder.rglob(os.fspath(path)), folder, path.suffix)
        ]

    def nearest(self, name: str, base: Path) -> str:
        """Return the end of a message with the nearest names of files, in `base` or all folders."""
        wanted = Path(name).name
        if not set("*?[") & set(name):
            return did_you_mean(wanted, [*_by_name((base / name).parent.glob("*")), *self._by_name])
        beside = (base / name).parent.glob("*")
        for paths in (beside, *(folder.rglob("*") for folder in self.folders)):
            names = {path.name for path in _traces_among(paths, None)}
            if near := get_close_matches(wanted, sorted(names), n=3, cutoff=0):
                return f" (nearest names: {', '.join(near)})"
        return ""

    @cached_property
    def _by_name(self) -> dict[str, dict[Path, Path]]:
        return _by_name(path for folder in self.folders for path in sorted(folder.rglob("*")))


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield all files of a folder and its subfolders; ConfigError if there are too many."""
    count = 0
    for place, _, names in os.walk(folder):
        count += len(names)
        if count > _MOST_FILES:
            raise ConfigError(f"{folder}: more than {_MOST_FILES:,} files are below this folder")
        yield from (Path(place) / name for name in names)


def _traces_among(paths: Iterable[Path], folder: Path | None, extension: str = "") -> list[Path]:
    """Return the traces among paths, each file once, in the order of their names.

    Hidden files are left out, and so are those in hidden folders of `folder`.
    """
    excluded = _NO_TRACES - {extension.lower()}
    traces: dict[Path, Path] = {}
    for path in sorted(paths, key=lambda path: _natural_order(os.fspath(path))):
        parts = (path.name,) if folder is None else path.relative_to(folder).parts
        is_hidden = any(part.startswith(".") for part in parts)
        if not is_hidden and path.suffix.lower() not in excluded and path.is_file():
            traces.setdefault(resolved(path), path)
    return list(traces.values())


def _natural_order(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers in texts by their values."""
    return [
        (0, int(piece), piece) if piece.isdecimal() else (1, 0, piece)
        for piece in re.split(r"(\d+)", text)
        if piece
    ]


def _by_name(paths: Iterable[Path]) -> dict[str, dict[Path, Path]]:
    """Return files by the names that they match, then by their paths without symbolic links."""
    names: dict[str, dict[Path, Path]] = {}
    for path in paths:
        if path.is_file():
            for name in _names_of(path):
                names.setdefault(name, {})[resolved(path)] = path
    return names


def _names_of(path: Path) -> set[str]:
    """Return the names that a file matches: its own without some or all of its extensions."""
    if path.suffix.lower() in _NO_TRACES:
        return {path.name}
    parts = path.name.split(".")
    shorter = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return shorter - {""} | {_core_trace.vm_name_of(os.fsencode(path.name))}


def default_trace_dirs() -> list[Path]:
    """Return the folders that $MCSIM_TRACE_DIR names."""
    named = os.environ.get("MCSIM_TRACE_DIR", "").split(os.pathsep)
    return [Path(folder) for folder in named if folder]


def trace_dirs_given(given: Sequence[str | os.PathLike[str]] | None) -> list[Path]:
    """Return folders of traces: those of `default_trace_dirs` if none are given.

    Raises
    ------
    ConfigError
        If they are not a list of paths.
    """
    if given is None:
        return default_trace_dirs()
    return [file_given("trace_dirs", each) for each in list_of("trace_dirs", given, "folders")]


def files_of(
    names: Sequence[str | os.PathLike[str]], dirs: Iterable[str | os.PathLike[str]]
) -> list[Path]:
    """Return the files of names, patterns and folders; `-` is standard input.

    Raises
    ------
    ConfigError
        If there is none of a name, or several match one that is no pattern.
    """
    finder = TraceFinder(dirs)
    return [file for name in names for file in _files_of(os.fspath(name), finder)]


def _files_of(name: str, finder: TraceFinder) -> list[Path]:
    if name == "-":
        return [STDIN]
    if found := finder.files(name, Path()):
        return found
    if Path(name).is_dir():
        raise ConfigError(f"{name}: no trace in this folder")
    if Path(name).exists():
        return [Path(name)]
    near = finder.nearest(name, Path())
    if Path(name).is_absolute():
        raise ConfigError(f"{name}: no such file{near}")
    here = "here or " if finder.folders else ""
    raise ConfigError(f"{name}: no such file {here}{searched(finder.folders)}{near}")


def paths_given(name: str, given: Any) -> list[Path]:
    """Return one path or several that a caller gave; ConfigError if a value is none."""
    if isinstance(given, (str, os.PathLike)):
        return [file_given(name, given)]
    paths = [file_given(name, path) for path in list_of(name, given, "paths")]
    if not paths:
        raise ConfigError(f"{name}: expected one path or more")
    return paths


def searched(dirs: Sequence[Path]) -> str:
    """Return the end of a message about a missing trace: the folders, or how to give them."""
    if not dirs:
        return "(give --trace-dir, or set MCSIM_TRACE_DIR)"
    return "in " + ", ".join(map(str, dirs))
