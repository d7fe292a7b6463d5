"""The trace cache: parsed, generated, interned and measured traces in the user's cache folder.

Only this user can read its files. Entries of other users are not used, except those of root.

An entry is a file, named by a digest of all that it depends on, so it never goes stale. The
function `find` opens an entry, `adding` makes one, and `kept_store` does both for stores. Above a
limit, the least recently used are removed first; entries that other hosts use stay (`marks`).
"""

from __future__ import annotations

import logging
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import platformdirs

from mcsim.base.errors import (
    ConfigError,
    HostError,
    McsimError,
    TraceError,
    is_host_fault,
    mistakes_in,
)
from mcsim.base.files import cannot_write, replacing
from mcsim.base.private import (
    check_trusted_folder,
    make_private,
    make_private_folder,
    why_untrusted,
)
from mcsim.base.units import parse_bytes
from mcsim.traces.kinds import INTERNED as INTERNED
from mcsim.traces.kinds import KINDS, Kind
from mcsim.traces.marks import in_use_elsewhere, mark_in_use
from mcsim.traces.store import Store, open_store

_log = logging.getLogger(__name__)

_Opened = TypeVar("_Opened")

_MOST_BYTES = 16 * 2**30
_PART_OF_DISK = 10


@dataclass(frozen=True)
class Entry:
    """One file of the cache."""

    path: Path
    kind: Kind
    bytes: int
    used_ns: int

    @property
    def used(self) -> datetime:
        """Time of the last use."""
        return datetime.fromtimestamp(self.used_ns / 1e9, UTC)

    def describe(self) -> str:
        """Return a short description; that does not count as use."""
        try:
            with self._unused():
                return self.kind.describe(self.path)
        except (McsimError, OSError, ValueError, KeyError):
            return "damaged"

    def fault(self) -> str | None:
        """Check the whole file, and return its fault; that does not count as use."""
        try:
            if (why := why_untrusted(self.path)) is not None:
                return f"{self.path}: {why}"
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
        """Remove it; return False if that fails or it is removed already."""
        try:
            self.path.unlink()
        except OSError:
            return False
        return True


def cache_directory() -> Path:
    """Return the folder of the cache: ``$MCSIM_CACHE_DIR`` or ``mcsim/traces`` of the user's."""
    if named := os.environ.get("MCSIM_CACHE_DIR"):
        return Path(named)
    return _user_directory()


def _user_directory() -> Path:
    return platformdirs.user_cache_path("mcsim", appauthor=False) / "traces"


_REMEDY = "set MCSIM_CACHE_DIR or --cache-dir to a folder that only you can write (chmod 700)"


def open_cache(folder: Path) -> None:
    """Create a folder of the cache, or check that no other user can write it.

    Raises
    ------
    ConfigError
        If another user can.
    HostError
        If it cannot be created.
    """
    try:
        is_own = _user_directory() in (folder, folder.parent)
        make_private_folder(folder, _REMEDY, is_own=is_own)
    except OSError as error:
        raise cannot_write(folder, error.errno, "cannot write there") from error


def check_cache(folder: Path) -> None:
    """Check that no other user can write a folder of the cache or a folder in it.

    Raises
    ------
    ConfigError
        If one can.
    """
    for path in {folder / kind.folder for kind in KINDS}:
        with suppress(FileNotFoundError):
            check_trusted_folder(path, _REMEDY)


def is_trusted(path: Path) -> bool:
    """Return whether a file of the cache is there, and of this user or root; log if it is not.

    Raises
    ------
    ConfigError
        If another user can write its folder.
    """
    try:
        check_trusted_folder(path.parent, _REMEDY)
        if (why := why_untrusted(path)) is None:
            make_private(path)
            return path.is_file()
    except OSError:
        return False
    _log.warning("%s: %s; it is not used", path, why)
    return False


def cache_limit(folder: Path) -> int:
    """Return the limit of the total size of all entries, in bytes.

    The limit is ``$MCSIM_CACHE_LIMIT``. The default is a tenth of the file system, at most half of
    the space that is free or taken by entries, and at most 16 GiB. Entries do not change it.

    Raises
    ------
    ConfigError
        If ``$MCSIM_CACHE_LIMIT`` is no size.
    """
    said = os.environ.get("MCSIM_CACHE_LIMIT")
    if not said:
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        disk = shutil.disk_usage(there)
        taken = sum(entry.bytes for entry in entries(folder))
        return min(_MOST_BYTES, disk.total // _PART_OF_DISK, (disk.free + taken) // 2)
    with mistakes_in("MCSIM_CACHE_LIMIT"):
        return parse_bytes(said)


def entries(folder: Path) -> Iterator[Entry]:
    """Return the entries of a cache folder, by kind and name; other files are ignored."""
    for kind in KINDS:
        for path in sorted((folder / kind.folder).glob("*")):
            if kind.pattern.fullmatch(path.name) is None:
                continue
            with suppress(OSError):  # other processes remove files, too
                found = path.stat()
                if not stat.S_ISREG(found.st_mode):
                    continue
                yield Entry(path, kind, found.st_size, max(found.st_atime_ns, found.st_mtime_ns))


def make_room(folder: Path, limit: int, *, since_ns: int | None = None) -> list[Entry]:
    """Remove the least recently used entries until the others keep to a limit.

    Parameters
    ----------
    folder : Path
        Folder of the cache.
    limit : int
        Total size in bytes.
    since_ns : int, optional
        Entries used later stay; the start of this process if not given. Entries that processes
        of other hosts have opened stay, too.

    Returns
    -------
    list of Entry
        The removed ones.
    """
    stays_ns = _BEGUN_NS if since_ns is None else since_ns
    found = sorted(entries(folder), key=lambda entry: entry.used_ns)
    total = sum(entry.bytes for entry in found)
    removed = []
    for entry in found:
        if total <= limit or entry.used_ns >= stays_ns:
            break
        if entry.path.name in in_use_elsewhere(entry.path.parent):
            continue
        if entry.remove():
            removed.append(entry)
        total -= entry.bytes
    return removed


def find(path: Path, open_entry: Callable[[bytes], _Opened]) -> _Opened | None:
    """Open an entry; None if it is missing, or damaged, which is logged."""
    if not is_trusted(path):
        return None
    try:
        mark_used(path)
        return open_entry(os.fsencode(path))
    except (TraceError, HostError, ConfigError) as error:
        _log.warning("%s", error)
        return None


@contextmanager
def adding(cache: Path, path: Path) -> Iterator[Path]:
    """Open a temporary file that becomes an entry; others make room for it afterwards.

    Raises
    ------
    ConfigError
        As of `cache_limit`.
    HostError
        As of `replacing`.
    """
    with _made_room(cache, path):
        open_cache(cache)
        open_cache(path.parent)
        with replacing(path, private=True) as temporary:
            yield temporary


@contextmanager
def _made_room(cache: Path, path: Path) -> Iterator[None]:
    """Mark an entry that the block makes as used; remove others above the limit."""
    limit = cache_limit(cache)
    yield
    mark_used(path)
    make_room(cache, limit)


def kept_store(path: Path, digest: str, source: Path, make: Callable[[], Store]) -> Store:
    """Return a store that was made of a file before, or make it.

    A damaged store is made anew, whenever that is found, and a warning is logged.

    Parameters
    ----------
    path : Path
    digest : str
        Identity of its requests.
    source : Path
        File that it is made from.
    make : callable
        Makes it at `path`.

    Raises
    ------
    TraceError
        If it is found to be damaged while it is read, and cannot be made anew.
    """

    def make_anew(why: TraceError) -> None:
        try:
            make()
        except (McsimError, OSError) as error:
            kind = HostError if is_host_fault(error) and source.exists() else TraceError
            raise kind(f"{why}, and cannot be made anew: {error}") from error
        _log.warning("%s: it was made anew from %s", why, source)

    open_cache(path.parent)
    if is_trusted(path):
        try:
            mark_used(path)
            store = open_store(path, make_anew)
            if store.metadata.digest == digest:
                return store
        except TraceError as error:
            make_anew(error)
            return open_store(path)
    with _made_room(path.parent, path):
        return make()


def mark_used(path: Path) -> None:
    """Make an entry the most recently used, and mark it as in use by this process."""
    with suppress(OSError):  # it is missing, or of another user, or the folder is read-only
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
        mark_in_use(path)


_BEGUN_NS = time.time_ns()
