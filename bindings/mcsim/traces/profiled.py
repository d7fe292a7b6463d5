"""Measurements of interned traces in the trace cache.

There is a file for each meter and one for the curves of the whole trace, because runs differ in
the meters of their systems. The digest in the name covers the interned trace, the meter and the
version of the format.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsim._core import engine, locality
from mcsim.base.errors import HostError
from mcsim.traces.cache import INTERNED, adding, cache_directory, find
from mcsim.traces.interned import FEW_ACCESSES, is_many, name_of
from mcsim.traces.workload import ON_DEMAND

if TYPE_CHECKING:
    from mcsim.traces.workload import Workload

_log = logging.getLogger(__name__)


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
    """Return what meters show of a workload, and its whole curves.

    What is not found is measured, all in one pass, and kept.

    Parameters
    ----------
    workload, view
        As of `Workload.intern`.
    accesses : Accesses
        The workload as the view shows it.
    meters : sequence of MeterSpec
    progress : callable, optional
        Told of accesses done.
    folder : Path, optional
        Of the cache; `cache_directory` if not given.
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
