"""Interned traces and their measurements in the trace cache: files that all runs share.

The digest in the name covers the requests, the view and the version of the format. Processes that
make the same file at a time write the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsim import _core
from mcsim._core import engine, locality, trace
from mcsim.base.errors import HostError
from mcsim.base.limits import memory_limit
from mcsim.references.workload import ON_DEMAND
from mcsim.traces.cache import INTERNED, adding, cache_directory, find
from mcsim.traces.replayed import Rows, read_rows, write_rows

if TYPE_CHECKING:
    from mcsim.references.workload import Workload

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
        Folder of the cache; `cache_directory` if not given.
    at_least : int
        Least number of accesses, to aligned blocks of 4 KiB, that are worth a file.

    Raises
    ------
    ConfigError, TraceError
        As of `Workload.intern`, and as of `cache_limit`.
    """
    if (streamed := workload.streamed(view)) is not None:
        return streamed
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
    """Return whether the whole traces of a workload have about this number of accesses."""
    counts = {vm.trace.digest: vm.trace.metadata.counts for vm in workload.vms}
    reads = view.get("ops", "reads") == "reads"
    return sum(of.read_blocks if reads else of.blocks for of in counts.values()) >= at_least


def name_of(
    workload: Workload, view: Mapping[str, Any], kind: str, more: Mapping[str, Any] | None = None
) -> str:
    """Return the name of a file: a digest of all inputs of the accesses."""
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


def reduced_accesses(accesses: engine.Accesses) -> tuple[Any, ...]:
    """Return how `pickle` makes interned accesses again."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "accesses"
        engine.write_accesses(accesses, os.fsencode(file))
        return _restored, (file.read_bytes(),)


def _restored(content: bytes) -> engine.Accesses:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "accesses"
        file.write_bytes(content)
        return engine.open_accesses(os.fsencode(file))  # mapped: the file may go


def profiled(
    workload: Workload,
    view: Mapping[str, Any],
    accesses: engine.Accesses,
    meters: Sequence[locality.MeterSpec],
    progress: Callable[[int], object] | None = None,
    *,
    folder: Path | None = None,
    at_least: int = FEW_ACCESSES,
) -> locality.Characterised:
    """Return the meters of a workload, and its whole curves, from the cache or by measurement.

    All missing ones are measured in one pass, and stored in the cache.

    Parameters
    ----------
    workload, view
        As of `Workload.intern`.
    accesses : Accesses
        Accesses of the workload in this view.
    meters : sequence of MeterSpec
    progress : callable, optional
        Notified of the number of accesses done.
    folder : Path, optional
        Folder of the cache; `cache_directory` if absent.
    at_least : int
        Accesses to aligned blocks of 4 KiB of which files are made, as of `interned`.

    Raises
    ------
    ConfigError
        If the trace cannot be measured so, and as of `cache_limit`.
    """
    if not is_many(workload, view, at_least):
        return locality.characterise(accesses, meters, progress)
    cache = folder or cache_directory()
    files = dict(_files(workload, view, meters, cache))
    known = {}
    for path, meter in files.items():
        read = partial(locality.read_profile, accesses, meter)
        if (found := find(path, read)) is not None:
            known[path] = found
    whole = locality.characterise(accesses, meters, progress, known=list(known.values()))
    try:
        for path in [path for path in files if path not in known]:
            with adding(cache, path) as temporary:
                locality.write_profile(whole, files[path], os.fsencode(temporary))
    except HostError as error:
        _log.warning("%s; what was measured is in memory", error)
    return whole


def remembered(
    workload: Workload,
    view: Mapping[str, Any],
    cause: Mapping[str, Any],
    replay: Callable[[], Rows],
    *,
    folder: Path | None = None,
    at_least: int = FEW_ACCESSES,
) -> Rows:
    """Return what replays of a workload found, from the cache or by replaying.

    Parameters
    ----------
    workload, view
        As of `Workload.intern`.
    cause : mapping
        All else that the rows depend on, in a form of JSON. The build of the core is added.
    replay : callable
    folder : Path, optional
        Folder of the cache; `cache_directory` if absent.
    at_least : int
        As of `interned`.

    Raises
    ------
    ConfigError
        As of `cache_limit`.
    """
    if not is_many(workload, view, at_least):
        return replay()
    cache = folder or cache_directory()
    build = Path(_core.__file__).stat()
    more = {"build": [build.st_size, build.st_mtime_ns], "cause": cause}
    path = cache / INTERNED / name_of(workload, view, "replayed", more)
    if (found := find(path, read_rows)) is not None:
        return found
    rows = replay()
    try:
        with adding(cache, path) as temporary:
            write_rows(Path(temporary), rows)
    except HostError as error:
        _log.warning("%s; what was replayed is in memory", error)
    return rows


def is_profile_kept(
    workload: Workload, view: Mapping[str, Any], folder: Path | None = None
) -> bool:
    """Whether there is a profile of a workload, though perhaps not of all meters."""
    return any(path.is_file() for path, _ in _files(workload, view, (), folder))


def _files(
    workload: Workload,
    view: Mapping[str, Any],
    meters: Sequence[locality.MeterSpec],
    folder: Path | None,
) -> Iterator[tuple[Path, locality.MeterSpec | None]]:
    """Yield where the whole curves are, and what is measured for each meter, with that."""
    cache = (folder or cache_directory()) / INTERNED
    # Nothing else depends on which columns of requests are kept.
    view = {key: value for key, value in view.items() if key not in ON_DEMAND}
    beside = [meter for meter in meters if meter.params.get("foresight") != "whole"]
    for meter in (None, *(meter.measured_as for meter in beside)):
        more = {"profile": locality.PROFILE_VERSION, "meter": meter and meter.to_dict()}
        yield cache / name_of(workload, view, "profile", more), meter
