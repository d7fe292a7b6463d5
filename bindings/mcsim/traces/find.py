"""The trace file that a name stands for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from mcsim._core import trace as _core_trace
from mcsim.base.arguments import file_given, list_of
from mcsim.base.errors import ConfigError
from mcsim.base.inputs import resolved

# What lies beside traces under their names and is none.
_NO_TRACES = frozenset(
    (".ini", ".ipynb", ".json", ".log", ".md", ".pdf", ".png", ".py", ".svg", ".yaml", ".yml")
)


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

    @cached_property
    def _by_name(self) -> dict[str, dict[Path, Path]]:
        return _by_name(path for folder in self.folders for path in sorted(folder.rglob("*")))


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


def file_of(name: str | os.PathLike[str], dirs: Iterable[str | os.PathLike[str]]) -> Path:
    """Return the file or folder of that path, or the file that `TraceFinder` finds.

    Raises
    ------
    ConfigError
        If there is none, or several match.
    """
    if Path(name).exists():
        return Path(name)
    finder = TraceFinder(dirs)
    found = finder.find(os.fspath(name), Path())
    if found is None:
        raise ConfigError(f"{name}: no such file {searched(finder.folders)}")
    return found


def searched(dirs: Sequence[Path]) -> str:
    """Return the end of a message about a missing trace: the folders, or how to give them."""
    if not dirs:
        return "(give --trace-dir, or set MCSIM_TRACE_DIR)"
    return "in " + ", ".join(map(str, dirs))
