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
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mcsim._core import engine, trace
from mcsim.base.errors import ConfigError, HostError, TraceError
from mcsim.base.files import replacing
from mcsim.base.memory import memory_limit
from mcsim.traces.cache import INTERNED, cache_directory, cache_limit, make_room, used

if TYPE_CHECKING:
    from mcsim.traces.workload import Workload

__all__ = [
    "FEW_ACCESSES",
    "interned",
    "is_kept",
    "is_many",
    "many_accesses",
    "name_of",
    "opened_if_whole",
]

_Kept = TypeVar("_Kept")

_log = logging.getLogger(__name__)

FEW_ACCESSES = 1 << 22
"""Are interned sooner than a file is on the disk."""


def many_accesses() -> int:
    """Return the number of accesses that take a quarter of the memory to intern, 16 bytes each."""
    return memory_limit() // 64


def interned(
    workload: Workload,
    view: Mapping[str, Any],
    progress: Callable[[int], object] | None = None,
    *,
    folder: Path | None = None,
    at_least: int = FEW_ACCESSES,
) -> engine.Accesses:
    """Return the accesses of a workload, from the file that an earlier run made of them.

    If there is none it is made, in memory for nothing but the numbers of the blocks, and mapped
    like one that was found. If it cannot be written, the accesses are in memory.

    Parameters
    ----------
    workload, view, progress
        As of `Workload.intern`.
    folder : Path, optional
        Of the cache; `cache_directory` if not given.
    at_least : int
        Accesses to aligned blocks of 4 KiB of which a file is made; of fewer there is none.

    Raises
    ------
    ConfigError, TraceError
        As of `Workload.intern`, and as of `cache_limit`.
    """
    if not is_many(workload, view, at_least):
        return workload.intern(dict(view), progress)
    cache = folder or cache_directory()
    path = cache / INTERNED / name_of(workload, view, "accesses")
    if (found := opened_if_whole(path, engine.open_accesses)) is not None:
        workload.warn_of_shared_blocks(view)
        return found
    limit = cache_limit()
    try:
        with replacing(path) as temporary:
            made = workload.intern(dict(view), progress, temporary)
    except HostError as error:
        _log.warning("%s; the interned trace is in memory", error)
        return workload.intern(dict(view), progress)
    make_room(cache, limit)
    return made


def is_kept(workload: Workload, view: Mapping[str, Any], folder: Path | None = None) -> bool:
    """Whether there is a file of the accesses of a workload."""
    return (
        (folder or cache_directory()) / INTERNED / name_of(workload, view, "accesses")
    ).is_file()


def is_many(workload: Workload, view: Mapping[str, Any], at_least: int = FEW_ACCESSES) -> bool:
    """Whether a workload has about so many accesses, of whole traces."""
    counts = {vm.trace.digest: vm.trace.metadata.counts for vm in workload.vms}
    reads = view.get("ops", "reads") == "reads"
    return sum(of.read_blocks if reads else of.blocks for of in counts.values()) >= at_least


def name_of(
    workload: Workload, view: Mapping[str, Any], kind: str, more: Mapping[str, Any] | None = None
) -> str:
    """Return the name of a file, which says all that the accesses depend on, and what more."""
    cause = {
        "version": engine.ACCESSES_VERSION,
        "view": dict(view),
        "time_base": workload.time_base,
        "vms": workload.describe(),
        **(more or {}),
    }
    text = json.dumps(cause, sort_keys=True, separators=(",", ":"))
    source = trace.vm_name_of(workload.vms[0].trace.metadata.source)
    return f"{source}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.{kind}"


def opened_if_whole(path: Path, open_file: Callable[[bytes], _Kept]) -> _Kept | None:
    """Open what is kept as a file; None if it is not there, or damaged, of which the log tells."""
    if not path.is_file():
        return None
    try:
        found = open_file(os.fsencode(path))
    except (TraceError, HostError, ConfigError) as error:
        _log.warning("%s", error)
        return None
    used(path)
    return found
