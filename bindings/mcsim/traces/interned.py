"""Interned traces in the trace cache: files that are mapped, made once and found by all runs.

The digest in the name covers the requests, the view and the version of the format. Processes that
make the same file at a time write the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsim._core import engine, trace
from mcsim.base.errors import HostError
from mcsim.base.memory import memory_limit
from mcsim.traces.cache import INTERNED, adding, cache_directory, find

if TYPE_CHECKING:
    from mcsim.traces.workload import Workload

_log = logging.getLogger(__name__)

FEW_ACCESSES = 1 << 22
"""Fewer are interned faster than a file is written."""


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
    """Return the accesses of a workload, mapped from its file in the cache.

    A missing file is made first; that takes memory for the numbers of the blocks only. If it
    cannot be written, the accesses are in memory.

    Parameters
    ----------
    workload, view, progress
        As of `Workload.intern`.
    folder : Path, optional
        Of the cache; `cache_directory` if not given.
    at_least : int
        Least number of accesses, to aligned blocks of 4 KiB, that are worth a file.

    Raises
    ------
    ConfigError, TraceError
        As of `Workload.intern`, and as of `cache_limit`.
    """
    if not is_many(workload, view, at_least):
        return workload.intern(dict(view), progress)
    cache = folder or cache_directory()
    path = cache / INTERNED / name_of(workload, view, "accesses")
    if (found := find(path, engine.open_accesses)) is not None:
        workload.warn_of_shared_blocks(view)
        return found
    try:
        with adding(cache, path) as temporary:
            return workload.intern(dict(view), progress, temporary)
    except HostError as error:
        _log.warning("%s; the interned trace is in memory", error)
        return workload.intern(dict(view), progress)


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
