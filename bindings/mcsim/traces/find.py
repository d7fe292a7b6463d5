"""The trace file that a name stands for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from mcsim._core import trace as _core_trace
from mcsim.base.errors import ConfigError

__all__ = ["find_trace"]


def find_trace(name: str, dirs: Iterable[str | os.PathLike[str]]) -> Path | None:
    """Find the trace file of a VM below some folders.

    A file is the VM's if its name up to the first dot is (``web_3`` for
    ``msr/web_3.csv.zst``); `name` may also be a file's path inside a folder.

    Parameters
    ----------
    name : str
        A VM's name.
    dirs : iterable of path-like
        Folders, searched with all their subfolders.

    Returns
    -------
    Path or None
        None if there is no such file.

    Raises
    ------
    ConfigError
        If several files could be meant; the message names them.
    """
    folders = [Path(folder) for folder in dirs]
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    found = {
        path.resolve(): path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and _core_trace.vm_name_of(path.name) == name
    }
    if len(found) > 1:
        several = ", ".join(str(path) for path in found.values())
        raise ConfigError(f"trace {name!r} could be any of {several}")
    return next(iter(found.values()), None)
