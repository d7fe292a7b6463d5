"""Memory for this process: that of the machine, within the limits of its control groups.

Control groups limit containers and batch jobs. A limit applies to a group and all groups below it,
so the least limit of a process' group and of its ancestors counts. Both versions of control groups
are read, which one machine may have side by side.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

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
