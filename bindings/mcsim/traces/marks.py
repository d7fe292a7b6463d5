"""Marks: files in the cache folder with the names of the entries that a process has opened."""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from pathlib import Path

from mcsim.base.claims import (
    TEMPORARY_SUFFIX,
    file_system_ns,
    hold,
    is_held_elsewhere,
    new_claim,
    release,
)
from mcsim.base.files import sweep_abandoned

_PREFIX = ".in-use."


class _Marks:
    """The marks of this process, by folder."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[Path, set[str]] = {}

    def add(self, path: Path) -> None:
        with self._lock:
            mark = next((of for of in self._names if of.parent == path.parent), None)
            if mark is None:
                mark = path.with_name(f"{_PREFIX}{new_claim()}{TEMPORARY_SUFFIX}")
                self._names[mark] = set()
            names = self._names[mark]
            # Another process may have removed the mark while this one was suspended.
            is_there = mark.exists()
            if is_there and path.name in names:
                return
            added = {path.name} if is_there else {*names, path.name}
            with mark.open("ab") as file:
                file.write(b"".join(os.fsencode(name) + b"\0" for name in added))
            if not is_there:
                hold(mark)
                sweep_abandoned(mark)
            names.add(path.name)

    def remove(self) -> None:
        for mark in self._names:
            release(mark)
            with suppress(OSError):
                mark.unlink()


_marks = _Marks()


def mark_in_use(path: Path) -> None:
    """Add an entry to this process' mark in its folder, before the entry is opened.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    _marks.add(path)


def in_use_elsewhere(folder: Path) -> set[str]:
    """Return the names of entries in a folder that processes of other hosts have opened."""
    # The clock is a new file, after which the list of files is not a cached one.
    now = file_system_ns(folder)
    names: set[str] = set()
    for mark in folder.glob(f"{_PREFIX}*{TEMPORARY_SUFFIX}"):
        claim = mark.name.removeprefix(_PREFIX).removesuffix(TEMPORARY_SUFFIX)
        if is_held_elsewhere(mark, claim, now):
            with suppress(OSError):
                names.update(map(os.fsdecode, mark.read_bytes().split(b"\0")))
    return names


def _begin_child() -> None:
    """Start a forked process without marks; its parent keeps its own."""
    global _marks
    _marks = _Marks()


os.register_at_fork(after_in_child=_begin_child)
atexit.register(lambda: _marks.remove())
