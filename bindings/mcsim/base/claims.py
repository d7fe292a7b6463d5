"""Who is at work on a file or a folder that machines share, told without locks.

What is being made has a name with a claim in it: host, job, process and a random part, so that no
two are called the same. The time it was changed last is a lease, which a thread renews while the
process works. What was left behind is what is of a process of this very machine that is gone, or
of elsewhere and not renewed for `LEASE_SECONDS`.

Times are compared with the time of something that was changed just now in the same folder: all of
them are told by the clock of the file system, whatever those of the hosts say.
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

__all__ = [
    "TEMPORARY_SUFFIX",
    "changed_ns",
    "claim_folder",
    "hold",
    "is_claim",
    "is_claimed",
    "is_left",
    "leave_all",
    "left_in",
    "let_go",
    "new_claim",
    "release",
    "where_others_tidy",
]

LEASE_SECONDS = 180.0
"""Longer than network file systems show a time of before (60 s), and a server is away at times."""

RENEWED_SECONDS = 20.0

TEMPORARY_SUFFIX = ".mcsim-part"
"""Of files with a claim that are nobody's results, and swept away when their process is gone."""

_TIMES = 100

_CLAIM = re.compile(
    r"(?P<host>[\w-]*)\.(?P<job>[\w-]*)\.(?P<process>\d+)-(?P<begun>\d+)-(?P<place>[0-9a-f]{8})"
    r"\.(?P<random>[0-9a-f]{8})"
)
_FREE = re.compile(r"left\.[0-9a-f]{8}")

_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "HQ_JOB_ID", "LSB_JOBID", "JOB_ID")


def new_claim() -> str:
    """Return a claim of this process that there never was before."""
    host = _plain(_host()) or "host"
    job = next((_plain(os.environ[name]) for name in _JOBS if os.environ.get(name)), "")
    process = os.getpid()
    begun = _begun(process) or 0
    return f"{host}.{job or 'nojob'}.{process}-{begun}-{_place()}.{secrets.token_hex(4)}"


def is_claim(name: str) -> bool:
    """Tell whether a name is that of something that is, or was, somebody's."""
    return bool(_CLAIM.fullmatch(name) or _FREE.fullmatch(name))


def is_left(path: Path, claim: str, now_ns: int) -> bool:
    """Tell whether nobody is at work any more on what has this claim in its name.

    Parameters
    ----------
    path : Path
    claim : str
        If it is none, it is that of another version of mcsim, and not for this one to judge.
    now_ns : int
        The time of the file system, as of `changed_ns`.
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


def changed_ns(path: Path) -> int:
    """Return when a file or folder was changed; network file systems ask the server for it."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.fstat(file).st_mtime_ns
    finally:
        os.close(file)


def claim_folder(home: Path) -> Path:
    """Make a folder in `home` that is this process's alone, with what it finds left there.

    Each folder that somebody left is now in it, under a name that begins with ``taken.``. Of
    several that find the same one gets it.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    mine = home / new_claim()

    def make() -> None:
        home.mkdir(parents=True, exist_ok=True)
        mine.mkdir()

    where_others_tidy(make)
    hold(mine)
    reached("claim made")
    for left in left_in(home, changed_ns(mine)):
        with suppress(OSError):  # somebody else was first, or it is another user's
            left.rename(mine / f"taken.{secrets.token_hex(4)}")
            reached("claim taken")
    return mine


def where_others_tidy(make: Callable[[], None]) -> None:
    """Make something in a folder that it makes too; others remove that as often as it is empty.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    for again in range(_TIMES, -1, -1):
        try:
            return make()
        except (FileNotFoundError, FileExistsError):
            if not again:
                raise


def left_in(home: Path, now_ns: int) -> Iterator[Path]:
    """Return the folders in `home` that nobody is at work on."""
    for path in sorted(home.iterdir()):
        if is_left(path, path.name, now_ns) and path.is_dir() and not path.is_symlink():
            yield path


def is_claimed(home: Path) -> bool:
    """Tell whether somebody is at work on a folder in `home`."""
    now = _now_ns(home.parent)
    try:
        claimed = [path for path in home.iterdir() if _CLAIM.fullmatch(path.name)]
    except FileNotFoundError:
        return False
    return not all(is_left(path, path.name, now) for path in claimed)


def let_go(mine: Path, *, keep: bool) -> None:
    """Leave a folder to whoever comes next, or remove it, and its home if that is empty then."""
    release(mine)
    with suppress(OSError):
        if keep:
            mine.rename(mine.with_name(f"left.{secrets.token_hex(4)}"))
        else:
            shutil.rmtree(mine)
    with suppress(OSError):
        mine.parent.rmdir()


def leave_all() -> None:
    """Leave everything that this process holds to others, for it ends here and now."""
    for path in _renewer.held():
        with suppress(OSError):
            if path.is_dir():
                path.rename(path.with_name(f"left.{secrets.token_hex(4)}"))
            else:
                path.unlink()


def hold(path: Path) -> None:
    """Renew the lease of a file or folder from now on, until it is gone."""
    _renewer.add(path)


def release(path: Path) -> None:
    """Renew the lease of a file or folder no longer."""
    _renewer.forget(path)


class _Renewer:
    """A thread that renews the leases of a process, once there are some."""

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
                except OSError:  # the next time, perhaps
                    continue


_renewer = _Renewer()


def _begin_child() -> None:
    """What a process holds is not held by those it forks, which have none of its threads."""
    global _renewer
    _renewer = _Renewer()


os.register_at_fork(after_in_child=_begin_child)


def _host() -> str:
    return os.uname().nodename


def _now_ns(folder: Path) -> int:
    """Return the time of a file system; that of the host where one may only look."""
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
    """Return what names where processes have the numbers that they have here.

    That is a host since it was started, and in it a container. Where it cannot be told no other
    process is in the same place.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        known = f"{_host()} {boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return secrets.token_hex(4)
    return hashlib.sha256(known.encode()).hexdigest()[:8]


def _begun(process: int) -> int | None:
    """Return when a process began, in the kernel's ticks; None if it ended or is not shown."""
    try:
        stat = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return None
    state, *fields = stat.rpartition(b") ")[2].split()
    return None if state in b"ZX" else int(fields[18])


def _is_alive(process: int, begun: int) -> bool:
    """Tell whether a process of this place is at work; another may have its number by now."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it may be hidden
    return _begun(process) == begun
