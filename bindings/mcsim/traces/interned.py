"""Interned traces, kept as files that are mapped: made once on a machine and found by all runs.

A file is named after the requests, how they are seen, and the version of the format, so nothing is
ever found for anything else. Whoever comes first makes it. Who comes while it is being made makes
it too, and since both have the same bytes it does not matter which is left. A file that was found
to be damaged is made anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsim.base.errors import ConfigError, HostError, TraceError
from mcsim.base.files import replacing
from mcsim.base.units import parse_bytes
from mcsim.traces.parsed import cache_directory

if TYPE_CHECKING:
    from mcsim._core import engine
    from mcsim.traces.workload import Workload

__all__ = [
    "DEFAULT_LIMIT",
    "MANY_ACCESSES",
    "interned",
    "interned_directory",
    "interned_limit",
    "shrink",
]

_log = logging.getLogger(__name__)

SUFFIX = ".accesses"

DEFAULT_LIMIT = 16 * 2**30
"""Bytes that all files may have together, unless ``$MCSIM_CACHE_LIMIT`` says otherwise."""

_FEW_ACCESSES = 1 << 22
"""Are interned sooner than a file is on the disk."""

MANY_ACCESSES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 64
"""May take a quarter of the machine's memory to be interned, 16 bytes each."""


def interned(
    workload: Workload,
    view: Mapping[str, Any],
    progress: Callable[[int], object] | None = None,
    *,
    folder: Path | None = None,
    at_least: int = _FEW_ACCESSES,
) -> engine.Accesses:
    """Return the accesses of a workload, from the file that an earlier run made of them.

    If there is none it is made, in memory for nothing but the numbers of the blocks, and mapped
    like one that was found. If it cannot be written, the accesses are in memory.

    Parameters
    ----------
    workload, view, progress
        As of `Workload.intern`.
    folder : Path, optional
        Where the files are; `interned_directory` if not given.
    at_least : int
        Accesses to aligned blocks of 4 KiB of which a file is made; of fewer there is none.

    Raises
    ------
    ConfigError, TraceError
        As of `Workload.intern`.
    """
    if _accesses_of(workload, view) < at_least:
        return workload.intern(dict(view), progress)
    path = (folder or interned_directory()) / _name_of(workload, view)
    if (found := _found(path)) is not None:
        return found
    try:
        with replacing(path) as temporary:
            made = workload.intern(dict(view), progress, temporary)
    except HostError as error:
        _log.warning("%s; the interned trace is in memory", error)
        return workload.intern(dict(view), progress)
    shrink(path.parent, interned_limit(), keep=path)
    return made


def interned_directory() -> Path:
    """Return where interned traces are kept, beside those that were parsed."""
    return cache_directory() / "interned"


def interned_limit() -> int:
    """Return the bytes that all files in `interned_directory` may have together.

    Raises
    ------
    ConfigError
        If ``$MCSIM_CACHE_LIMIT`` is no size.
    """
    said = os.environ.get("MCSIM_CACHE_LIMIT")
    if said is None:
        return DEFAULT_LIMIT
    try:
        return parse_bytes(said)
    except ValueError as error:
        raise ConfigError(f"MCSIM_CACHE_LIMIT: {error}") from None


def shrink(folder: Path, limit: int, *, keep: Path | None = None) -> list[Path]:
    """Remove the files that were used longest ago until all have so many bytes together.

    Whoever has one mapped goes on with it.

    Parameters
    ----------
    keep : Path, optional
        Not this one.

    Returns
    -------
    list of Path
        Those that were removed.
    """
    files = []
    for path in folder.glob(f"*{SUFFIX}"):
        with suppress(OSError):  # others remove files too
            stat = path.stat()
            files.append((stat.st_mtime_ns, stat.st_size, path))
    total = sum(size for _, size, _ in files)
    removed = []
    for _, size, path in sorted(files):
        if total <= limit:
            break
        if path == keep:
            continue
        with suppress(OSError):
            path.unlink()
            removed.append(path)
        total -= size
    return removed


def _found(path: Path) -> engine.Accesses | None:
    from mcsim._core import engine

    if not path.is_file():
        return None
    try:
        accesses = engine.open_accesses(str(path))
    except (TraceError, HostError, ConfigError) as error:
        _log.warning("%s", error)
        return None
    with suppress(OSError):
        os.utime(path)  # so that it is used last
    return accesses


def _accesses_of(workload: Workload, view: Mapping[str, Any]) -> int:
    """Return about how many there are, of whole traces."""
    counts = {vm.trace.digest: vm.trace.metadata.counts for vm in workload.vms}
    reads = view.get("ops", "reads") == "reads"
    return sum(of.read_blocks if reads else of.blocks for of in counts.values())


def _name_of(workload: Workload, view: Mapping[str, Any]) -> str:
    """Return the name of the file, which says all that the accesses depend on."""
    from mcsim._core import engine, trace

    cause = {
        "version": engine.ACCESSES_VERSION,
        "view": dict(view),
        "time_base": workload.time_base,
        "vms": workload.describe(),
    }
    text = json.dumps(cause, sort_keys=True, separators=(",", ":"))
    source = trace.vm_name_of(workload.vms[0].trace.metadata.source)
    return f"{source}-{hashlib.sha256(text.encode()).hexdigest()[:16]}{SUFFIX}"
