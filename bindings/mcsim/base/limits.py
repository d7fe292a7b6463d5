"""Limits of the host: its memory, and errors of Python and of libraries that name them."""

from __future__ import annotations

import errno
import os
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from mcsim.base.errors import (
    REMEDIES,
    HostError,
    McsimError,
    MissingOutputError,
    OutOfMemoryError,
)

_NO_THREAD = "can't start new thread"

_NO_MEMORY = ("bad_alloc", "cannot allocate memory", "failed to map segment", "zero-fill pages")
"""Parts of messages of the loader of shared libraries, in lower case."""

_LEAST_ADDRESS_SPACE = 1 << 30
"""With less, libraries end the process while they are loaded, without an exception."""


def limit_error(error: BaseException) -> McsimError | None:
    """Return an error with the limit of the host that an exception or one of its causes reports.

    None if there is no such cause.

    Examples
    --------
    >>> import errno
    >>> from mcsim.base.limits import limit_error
    >>> try:
    ...     raise mc.ConfigError("x.yaml: no file") from OSError(errno.ENFILE, "Too many")
    ... except ValueError as error:
    ...     print(limit_error(error))
    x.yaml: no file; the host has no more open files
    """
    for cause in _causes(error):
        text = str(cause).lower()
        if isinstance(cause, RuntimeError) and _NO_THREAD in text:
            return thread_error()
        if isinstance(cause, MemoryError) or (
            isinstance(cause, ImportError | OSError) and any(part in text for part in _NO_MEMORY)
        ):
            return memory_error(error if isinstance(error, McsimError) else None)
        if isinstance(cause, OSError) and cause.errno in REMEDIES:
            remedy = REMEDIES[cause.errno]
            return HostError(str(error) if remedy in str(error) else f"{error}; {remedy}")
        if isinstance(cause, ImportError) and os.strerror(errno.EMFILE).lower() in text:
            return HostError(f"{cause}; {REMEDIES[errno.EMFILE]}")
    return None


@contextmanager
def limits_named() -> Iterator[None]:
    """Raise the error of `limit_error` instead of an exception that has one; also a decorator.

    Raises
    ------
    HostError, OutOfMemoryError
    """
    try:
        yield
    except Exception as error:
        limit = None if isinstance(error, MissingOutputError) else limit_error(error)
        if isinstance(error, HostError) and isinstance(limit, OutOfMemoryError):
            raise
        if limit is None or (str(limit) == str(error) and isinstance(error, type(limit))):
            raise
        raise limit from error


def check_address_space() -> None:
    """Check that the limit of the address space, if there is one, leaves room for libraries.

    Raises
    ------
    OutOfMemoryError
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    # OpenBLAS reserves buffers for each thread, and allocators of Arrow large arenas.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if limit < _LEAST_ADDRESS_SPACE:
        raise OutOfMemoryError(
            f"the limit of memory, `ulimit -v`, is {limit // 1024:,} KiB; mcsim needs "
            f"{_LEAST_ADDRESS_SPACE // 1024:,} KiB or more"
        )


def memory_error(error: McsimError | None = None) -> McsimError:
    """Return an error that names the limit of memory, if there is one."""
    text = str(error or "there is not enough memory")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and "ulimit -v" not in text:
        text += f"; its limit, `ulimit -v`, is {limit // 1024:,} KiB"
    return OutOfMemoryError(text)


def thread_error() -> HostError:
    """Return an error that names the limits of threads."""
    return HostError(
        "the system starts no more threads: raise the limits of threads (`ulimit -u`, or that of "
        "the container) and of memory (`ulimit -v`)"
    )


@contextmanager
def thread_faults() -> Iterator[None]:
    """Raise HostError if the block cannot start a thread."""
    try:
        yield
    except RuntimeError as error:
        if _NO_THREAD not in str(error):
            raise
        raise thread_error() from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and the exceptions that led to it."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


_LIMITS = ("memory.max", "memory.high", "memory.limit_in_bytes")
_USED = ("memory.current", "memory.usage_in_bytes")
_EVICTABLE = ("active_file", "inactive_file")

# Lines of /proc/self/mountinfo: group at the mount point, mount point, file system, its options.
_MOUNT = re.compile(r"\S+ \S+ \S+ (\S+) (\S+) .*- (cgroup2?) \S+ (\S+)")
_GROUP = re.compile(r"\d+:([^:]*):(.+)")


def memory_limit(root: Path = Path("/")) -> int:
    """Return the most bytes that this process can get: physical memory, or the least limit."""
    return min([_physical(), *(limit for group in _groups(root) for limit in _limits(group))])


def memory_available(root: Path = Path("/")) -> int:
    """Return the bytes that this process can have now, including those that it has."""
    free = [_free(root)]
    for group in _groups(root):
        free += [limit - _used(group) for limit in _limits(group)]
    return max(0, min(free)) + resident()


def resident() -> int:
    """Return the bytes of memory that this process has."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _physical() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _free(root: Path) -> int:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return _physical() - resident()


def _groups(root: Path) -> Iterator[Path]:
    """Yield the folders of this process' groups that count memory, each before its parent."""
    mounts = dict(_mounts(root))
    for controllers, name in _matches(_GROUP, root / "proc/self/cgroup"):
        for controller in mounts.keys() & set(controllers.split(",")):
            top, mount = mounts[controller]
            group = PurePosixPath(name)
            # A container may see its own group as the mount, under a name of the host's.
            inside = group.is_relative_to(top) and ".." not in group.parts
            below = group.relative_to(top) if inside else PurePosixPath()
            yield from (mount / path for path in (below, *below.parents))


def _mounts(root: Path) -> Iterator[tuple[str, tuple[str, Path]]]:
    """Yield controller ('' for version 2), group at the mount point, and mount point."""
    for top, mount, system, options in _matches(_MOUNT, root / "proc/self/mountinfo"):
        if system == "cgroup2" or "memory" in options.split(","):
            yield "" if system == "cgroup2" else "memory", (top, root / mount.lstrip("/"))


def _limits(group: Path) -> Iterator[int]:
    for name in _LIMITS:
        for line in _lines(group / name):
            if line.isdigit():
                yield int(line)


def _used(group: Path) -> int:
    """Return the bytes in use by a group, without those of files, which the kernel can evict."""
    used = sum(int(line) for name in _USED for line in _lines(group / name) if line.isdigit())
    stat = dict(line.split(" ", 1) for line in _lines(group / "memory.stat"))
    # In version 1, the totals include the groups below.
    prefix = "total_" if "total_inactive_file" in stat else ""
    return used - sum(int(stat.get(f"{prefix}{name}", 0)) for name in _EVICTABLE)


def _matches(pattern: re.Pattern[str], file: Path) -> Iterator[tuple[str, ...]]:
    return (found.groups() for line in _lines(file) if (found := pattern.fullmatch(line)))


def _lines(file: Path) -> list[str]:
    with suppress(OSError):
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    return []
