"""What is kept of traces in the user's cache folder, so that nothing is made twice on a machine.

Everything in it can be made again, and is when it is needed: entries may be removed at any time,
whoever has one open goes on with it. Those used longest ago go first where there is a limit; when
one was used is its time of access, which is set where the file system does not.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from mcsim._core import engine, locality
from mcsim.base.errors import McsimError, mistakes_in
from mcsim.base.units import format_count, parse_bytes
from mcsim.traces.digests import read_note
from mcsim.traces.store import open_store

__all__ = [
    "DEFAULT_LIMIT",
    "INTERNED",
    "KINDS",
    "Entry",
    "Kind",
    "cache_directory",
    "cache_limit",
    "entries",
    "make_room",
    "used",
]

DEFAULT_LIMIT = 64 * 2**30
"""Bytes that all entries may have together, unless ``$MCSIM_CACHE_LIMIT`` says otherwise."""


INTERNED = "interned"
"""The folder of interned traces in that of the cache."""


@dataclass(frozen=True)
class Kind:
    """One kind of what is kept.

    Attributes
    ----------
    name : str
        As `mcsim cache ls` shows it.
    folder : str
        In the cache folder; may be empty.
    pattern : Pattern
        Of the whole names of its files. It has a digest in it, so that no file of others is taken
        for one in a folder that somebody uses for more than this.
    describe : callable
        Says in a few words what a file has.
    check : callable
        Reads a file, all of it, and raises an `McsimError` if it is damaged.
    is_listed : bool
        Whether `mcsim cache ls` shows files of it one by one.
    """

    name: str
    folder: str
    pattern: re.Pattern[str]
    describe: Callable[[Path], str]
    check: Callable[[Path], object]
    is_listed: bool = True


@dataclass(frozen=True)
class Entry:
    """One file that is kept."""

    path: Path
    kind: Kind
    bytes: int
    used_ns: int

    @property
    def used(self) -> datetime:
        """When it was used last."""
        return datetime.fromtimestamp(self.used_ns / 1e9, UTC)

    def describe(self) -> str:
        """Say in a few words what it has; that is no use of it."""
        try:
            with self._unused():
                return self.kind.describe(self.path)
        except (McsimError, OSError, ValueError, KeyError):
            return "damaged"

    def fault(self) -> str | None:
        """Read all of it, and return what is wrong with it; that is no use of it."""
        try:
            with self._unused():
                self.kind.check(self.path)
        except (McsimError, OSError, ValueError, KeyError, TypeError) as error:
            return str(error)
        return None

    @contextmanager
    def _unused(self) -> Iterator[None]:
        before = self.path.stat()
        try:
            yield
        finally:
            with suppress(OSError):
                os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def remove(self) -> bool:
        """Remove it; False if it is gone already or may not be removed."""
        try:
            self.path.unlink()
        except OSError:
            return False
        return True


def cache_directory() -> Path:
    """Return where is kept what was made of traces.

    It is ``$MCSIM_CACHE_DIR`` or ``mcsim/traces`` in the user's cache folder.
    """
    if named := os.environ.get("MCSIM_CACHE_DIR"):
        return Path(named)
    return platformdirs.user_cache_path("mcsim", appauthor=False) / "traces"


def cache_limit() -> int:
    """Return the bytes that all entries may have together.

    Raises
    ------
    ConfigError
        If ``$MCSIM_CACHE_LIMIT`` is no size.
    """
    said = os.environ.get("MCSIM_CACHE_LIMIT")
    if not said:
        return DEFAULT_LIMIT
    with mistakes_in("MCSIM_CACHE_LIMIT"):
        return parse_bytes(said)


def entries(folder: Path) -> Iterator[Entry]:
    """Return what is kept in a cache folder, by kind and name; files of others are not."""
    for kind in KINDS:
        for path in sorted((folder / kind.folder).glob("*")):
            if kind.pattern.fullmatch(path.name) is None:
                continue
            with suppress(OSError):  # others remove files too
                found = path.stat()
                if not stat.S_ISREG(found.st_mode):
                    continue
                yield Entry(path, kind, found.st_size, max(found.st_atime_ns, found.st_mtime_ns))


def make_room(folder: Path, limit: int, *, since_ns: int | None = None) -> list[Entry]:
    """Remove what was used longest ago until the rest has at most so many bytes.

    Parameters
    ----------
    folder : Path
        Of the cache.
    limit : int
        Bytes.
    since_ns : int, optional
        What was used from then on stays; if not given, what was used since this process began.

    Returns
    -------
    list of Entry
        What was removed.
    """
    stays_ns = _BEGUN_NS if since_ns is None else since_ns
    found = sorted(entries(folder), key=lambda entry: entry.used_ns)
    total = sum(entry.bytes for entry in found)
    removed = []
    for entry in found:
        if total <= limit or entry.used_ns >= stays_ns:
            break
        if entry.remove():
            removed.append(entry)
        total -= entry.bytes
    return removed


def used(path: Path) -> None:
    """Let an entry be the last that is removed."""
    with suppress(OSError):  # of others, or in a folder that is only read
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))


_BEGUN_NS = time.time_ns()


def _of_store(path: Path) -> str:
    metadata = open_store(path).metadata
    kind = "generated from" if metadata.synthetic else "of"
    return f"{format_count(metadata.counts.requests)} requests {kind} {metadata.source}"


def _check_store(path: Path) -> None:
    for _ in open_store(path):
        pass


def _of_note(_: Path) -> str:
    return "of a file that was parsed"


def _of_interned(path: Path) -> str:
    found = engine.open_accesses(os.fsencode(path), checked=True)
    vms = f"{len(found.vms)} VM{'s' if len(found.vms) > 1 else ''}"
    accesses = format_count(found.access_count)
    return f"{accesses} accesses of {vms} in blocks of {found.block_bytes} bytes"


def _check_interned(path: Path) -> None:
    engine.open_accesses(os.fsencode(path))


def _of_profile(path: Path) -> str:
    return locality.describe_profile(os.fsencode(path))


KINDS = (
    Kind("trace", "", re.compile(r".+-[0-9a-f]{16}\.arrow"), _of_store, _check_store),
    Kind(
        "interned",
        INTERNED,
        re.compile(r".+-[0-9a-f]{16}\.accesses"),
        _of_interned,
        _check_interned,
    ),
    Kind(
        "profile",
        INTERNED,
        re.compile(r".+-[0-9a-f]{16}\.profile"),
        _of_profile,
        _of_profile,
    ),
    Kind("digest", "", re.compile(r"digest-[0-9a-f]{32}\.json"), _of_note, read_note, False),
)
