"""Lease files: mark a path as in use by a process, without locks.

A file or folder in the making has a claim in its name: host, job, process and a random part, so
that all names differ. Its modification time is a lease, which a thread renews while the process
works. A path is abandoned if its process on this host has ended, or if the lease of another host
was not renewed for `LEASE_SECONDS`.

Leases are compared with the modification time of a new file in the same folder, so only the clock
of the file system counts, not those of the hosts.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from mcsim.base.faults import reached

LEASE_SECONDS = 180.0
"""Longer than network file systems cache modification times (60 s), or a server restarts."""

RENEWED_SECONDS = 20.0

TEMPORARY_SUFFIX = ".mcsim-part"
"""Suffix of temporary files with a claim; they are removed once their process has ended."""

_TIMES = 100

_CLAIM = re.compile(
    r"(?P<host>[\w-]*)\.(?P<job>[\w-]*)\.(?P<process>\d+)-(?P<begun>\d+)-(?P<place>[0-9a-f]{8})"
    r"\.(?P<random>[0-9a-f]{8})"
)
_FREE = re.compile(r"left\.[0-9a-f]{8}")

_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "HQ_JOB_ID", "LSB_JOBID", "JOB_ID")


def new_claim() -> str:
    """Return a new claim of this process."""
    host = _plain(_host()) or "host"
    job = next((_plain(os.environ[name]) for name in _JOBS if os.environ.get(name)), "")
    process = os.getpid()
    begun = _begun(process) or 0
    return f"{host}.{job or 'nojob'}.{process}-{begun}-{_place()}.{secrets.token_hex(4)}"


def is_claim(name: str) -> bool:
    """Return whether a name is a claim, held or abandoned."""
    return bool(_CLAIM.fullmatch(name) or _FREE.fullmatch(name))


def is_left(path: Path, claim: str, now_ns: int) -> bool:
    """Return whether the path with this claim in its name is abandoned.

    Parameters
    ----------
    path : Path
    claim : str
        A text that is not a claim of this version counts as held.
    now_ns : int
        Time of the file system, as of `file_system_ns`.
    """
    if _FREE.fullmatch(claim):
        return True
    if (claimed := _CLAIM.fullmatch(claim)) is None:
        return False
    if claimed["place"] == _place():
        return not _is_alive(int(claimed["process"]), int(claimed["begun"]))
    try:
        return now_ns - changed_ns(path) > LEASE_SECONDS * 1e9
    except OSError:
        return False


def is_held_elsewhere(path: Path, claim: str, now_ns: int) -> bool:
    """Return whether a process of another host holds what has this claim in its name."""
    claimed = _CLAIM.fullmatch(claim)
    if claimed is None or claimed["place"] == _place():
        return False
    return not is_left(path, claim, now_ns)


def changed_ns(path: Path) -> int:
    """Return the modification time, which network file systems refresh for an open file."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.fstat(file).st_mtime_ns
    finally:
        os.close(file)


def claim_folder(home: Path) -> Path:
    """Create a folder in `home` for this process, and move abandoned folders into it.

    Their names begin with ``taken.`` then. One of several processes gets an abandoned folder.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    mine = home / new_claim()

    def make() -> None:
        home.mkdir(parents=True, exist_ok=True)
        # The name is new: if it exists, a network file system repeated the call.
        mine.mkdir(exist_ok=True)

    retry_on_missing_parent(make)
    hold(mine)
    reached("claim made")
    for left in left_in(home, changed_ns(mine)):
        with suppress(OSError):  # another process was first, or another user owns it
            left.rename(mine / f"taken.{secrets.token_hex(4)}")
            reached("claim taken")
    return mine


def retry_on_missing_parent(make: Callable[[], None]) -> None:
    """Call `make` again if another process removed the empty folder that it has created.

    Raises
    ------
    OSError
        If `make` fails otherwise, or too often.
    """
    for left in range(_TIMES, -1, -1):
        try:
            return make()
        except (FileNotFoundError, FileExistsError):
            if not left:
                raise


def left_in(home: Path, now_ns: int) -> Iterator[Path]:
    """Return the abandoned folders in `home`."""
    for path in sorted(home.iterdir()):
        if is_left(path, path.name, now_ns) and path.is_dir() and not path.is_symlink():
            yield path


def is_claimed(home: Path) -> bool:
    """Return whether a process holds a folder in `home`."""
    now = file_system_ns(home.parent)
    try:
        claimed = [path for path in home.iterdir() if _CLAIM.fullmatch(path.name)]
    except FileNotFoundError:
        return False
    return not all(is_left(path, path.name, now) for path in claimed)


def release_lease(mine: Path, *, keep: bool) -> None:
    """Rename a folder as abandoned, or remove it; remove its home if that is empty."""
    release(mine)
    with suppress(OSError):
        if keep:
            mine.rename(mine.with_name(f"left.{secrets.token_hex(4)}"))
        else:
            shutil.rmtree(mine)
    with suppress(OSError):
        mine.parent.rmdir()


def leave_all() -> None:
    """Release all leases, before the process ends without cleanup."""
    for path in _renewer.held():
        with suppress(OSError):
            if path.is_dir():
                path.rename(path.with_name(f"left.{secrets.token_hex(4)}"))
            else:
                path.unlink()


def hold(path: Path) -> None:
    """Renew the lease of a file or folder until it is removed."""
    _renewer.add(path)


def release(path: Path) -> None:
    """Stop renewing the lease of a file or folder."""
    _renewer.forget(path)


class _Renewer:
    """Renew the leases of a process in a thread, which starts with the first lease."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[Path] = set()
        self._thread: threading.Thread | None = None

    def add(self, path: Path) -> None:
        with self._lock:
            self._held.add(path)
            if self._thread is None:
                self._thread = threading.Thread(target=self._renew, name="leases", daemon=True)
                self._thread.start()

    def forget(self, path: Path) -> None:
        with self._lock:
            self._held.discard(path)

    def held(self) -> list[Path]:
        with self._lock:
            return list(self._held)

    def _renew(self) -> None:
        asleep = threading.Event()
        while not asleep.wait(RENEWED_SECONDS):
            for path in self.held():
                try:
                    os.utime(path)
                except FileNotFoundError:
                    self.forget(path)
                except OSError:  # may be temporary
                    continue


_renewer = _Renewer()


def _begin_child() -> None:
    """Start a forked process without leases: it has no thread that renews them."""
    global _renewer
    _renewer = _Renewer()


os.register_at_fork(after_in_child=_begin_child)


def _host() -> str:
    return os.uname().nodename


def file_system_ns(folder: Path) -> int:
    """Return the time of the file system; the host's if the folder is read-only."""
    clock = folder / f".clock.{new_claim()}{TEMPORARY_SUFFIX}"
    try:
        clock.touch()
        now = changed_ns(clock)
        clock.unlink()
    except OSError:
        return time.time_ns()
    return now


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", name)[:32]


@cache
def _place() -> str:
    """Return an id of the host, its boot and the container: process numbers are unique there.

    It is random if the host does not show these.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        known = f"{_host()} {boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return secrets.token_hex(4)
    return hashlib.sha256(known.encode()).hexdigest()[:8]


def _begun(process: int) -> int | None:
    """Return the start time of a process in kernel ticks; None if it ended or is hidden."""
    try:
        stat = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return None
    state, *fields = stat.rpartition(b") ")[2].split()
    return None if state in b"ZX" else int(fields[18])


def _is_alive(process: int, begun: int) -> bool:
    """Return whether a process of this place runs; its number may have been reused."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it may be hidden
    return _begun(process) == begun
