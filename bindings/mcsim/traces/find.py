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
    """Finds the trace files of VMs below some folders, which are looked through once.

    Parameters
    ----------
    dirs : iterable of path-like
        Folders, searched with all their subfolders.
    """

    def __init__(self, dirs: Iterable[str | os.PathLike[str]]) -> None:
        self.folders = [Path(folder) for folder in dirs]

    def find(self, name: str) -> Path | None:
        """Find the trace file of a VM.

        A file is the VM's if its name up to the first dot is (``web_3`` for
        ``msr/web_3.csv.zst``), but for logs, YAML and the like, which are no traces. `name` may
        also be a file's path inside a folder.

        Returns
        -------
        Path or None
            None if there is no such file.

        Raises
        ------
        ConfigError
            If several files could be meant; the message names them.
        """
        for folder in self.folders:
            if (folder / name).is_file():
                return folder / name
        found = self._by_name.get(name, {})
        if len(found) > 1:
            several = ", ".join(str(path) for path in found.values())
            raise ConfigError(f"trace {name!r} could be any of {several}")
        return next(iter(found.values()), None)

    @cached_property
    def _by_name(self) -> dict[str, dict[Path, Path]]:
        """The files, by the names of their VMs and by where they really are."""
        names: dict[str, dict[Path, Path]] = {}
        for folder in self.folders:
            for path in sorted(folder.rglob("*")):
                if path.suffix.lower() not in _NO_TRACES and path.is_file():
                    of_name = names.setdefault(_core_trace.vm_name_of(os.fsencode(path.name)), {})
                    of_name[resolved(path)] = path
        return names


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


def file_of(name: str, dirs: Iterable[str | os.PathLike[str]]) -> Path:
    """Return the file of that name, or the one that `TraceFinder` finds by it.

    Raises
    ------
    ConfigError
        If there is none, or several could be meant.
    """
    if Path(name).exists():
        return Path(name)
    finder = TraceFinder(dirs)
    found = finder.find(name)
    if found is None:
        where = ", ".join(map(str, finder.folders))
        below = f", and none below {where}" if where else "; --trace-dir says where to look"
        raise ConfigError(f"{name}: no such file{below}")
    return found
