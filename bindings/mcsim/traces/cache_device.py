"""Hits, promotions and latencies of a real cache, from blktrace of its devices."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from mcsim.base.errors import ConfigError, TraceError
from mcsim.tables.result_columns import TABLES
from mcsim.tables.result_table import ResultTable
from mcsim.traces.block_events import COMPLETED, BlockEvents, device_name, read_block_events
from mcsim.traces.cache_requests import BCACHE_SHIFT, Matching, Request
from mcsim.traces.find import files_of

TraceFile: TypeAlias = str | os.PathLike[str]

_NO_BELOW = "needs the file of the origin or of the cache"
_NO_ORIGIN = "needs the file of the backing device"
_NO_CACHE = "needs the file of the cache"
_WRITE_THROUGH = (
    "every write reaches the origin, hits of a write-through cache too: needs the cache"
)
_NO_COMPLETIONS = "no completions in the file of the device"
_NO_LATENCY = "copies are no requests of the device"
_NO_WRITE_HITS = "bcache inserts every write, and counts hits of reads alone"
_NO_PROMOTIONS = "bcache writes missed blocks and requests to the cache alike"
_MIXED_WRITES = "of requests and of missed blocks"


def cache_device(
    device: TraceFile, origin: TraceFile | None = None, cache: TraceFile | None = None
) -> ResultTable:
    """Return what a real cache did with requests, from blktrace of its devices.

    Parameters
    ----------
    device : path-like
        Binary events of the cache device, such as those of ``dm-1`` or ``bcache0``.
    origin, cache : path-like, optional
        Those of the device behind it, and of the device that caches, of the same time.

    Returns
    -------
    ResultTable
        A row for each class of requests, with their latency, and for promotions and write-backs.
        Values that the files do not show are None; column ``reason`` has the cause.

    Raises
    ------
    ConfigError
        If the devices do not fit each other.
    TraceError
        If a file is not of blktrace, or has events of several devices.
    """
    upper = _events(device)
    given = {"origin": origin, "cache": cache}
    below = {name: _events_of(name, file) for name, file in given.items() if file is not None}
    _check_distinct({"device": upper, **below})
    found = Matching(upper, below)
    is_mapped = any(np.any(of.from_device == upper.device) for of in below.values())
    if not is_mapped and not np.any(upper.event == COMPLETED):
        found.match_bcache()
        _check_completions(found)
        return _table(found, "bcache", _bcache_rows(found))
    found.match_remaps()
    _check_remaps(found)
    return _table(found, "device mapper", _mapped_rows(found))


def real_hit_ratio(found: ResultTable, ops: str, by: str) -> float:
    """Return the share of requests, or of their bytes, that hit in a real cache.

    Parameters
    ----------
    found : ResultTable
        A table of `cache_device`.
    ops : {'reads', 'all', 'writes'}
    by : {'requests', 'bytes'}

    Raises
    ------
    ConfigError
        If the files do not show it.
    """
    if by == "blocks":
        raise ConfigError("by: a real cache counts requests; expected 'requests' or 'bytes'")
    kinds = {"reads": ["read"], "writes": ["write"], "all": ["read", "write"]}[ops]
    rows = {row["kind"]: row for row in found.to_arrow().to_pylist()}
    hits, total = 0, 0
    for kind in kinds:
        for of in ("hits", "misses"):
            row = rows[f"{kind} {of}"]
            if row[by] is None:
                raise ConfigError(f"against: {kind} {of} of the real cache: {row['reason']}")
            total += row[by]
            hits += row[by] if of == "hits" else 0
    if not total:
        raise ConfigError(f"against: the real cache had no {ops} that are counted")
    return hits / total


def _events(file: TraceFile) -> BlockEvents:
    return read_block_events([Path(path) for path in files_of([file], [])])


def _events_of(name: str, file: TraceFile) -> BlockEvents:
    try:
        return _events(file)
    except (ConfigError, TraceError) as error:
        raise type(error)(f"{name}: {error}") from error


# --- Whether the devices fit --------------------------------------------------------------------


def _check_distinct(devices: Mapping[str, BlockEvents]) -> None:
    names: dict[int, str] = {}
    for name, events in devices.items():
        if (other := names.setdefault(events.device, name)) != name:
            raise ConfigError(f"{name}: has the events of {events.name}, as {other}")


def _check_remaps(found: Matching) -> None:
    """Check that remaps are from the cache device, at its times, and not of exchanged files."""
    upper = found.upper
    for name, events in found.below.items():
        is_own = events.from_device == upper.device
        others = np.unique(events.from_device[~is_own & (events.from_device != 0)])
        if not is_own.any() and len(others):
            raise ConfigError(
                f"{name}: {events.name} has requests of {device_name(int(others[0]))}, none of "
                f"{upper.name}"
            )
        if found.linked[name] < np.count_nonzero(is_own) / 2:
            raise ConfigError(
                f"{name}: {events.name} was recorded at another time than {upper.name}"
            )
        keeps_sectors = bool(np.all(events.sector[is_own] == events.from_sector[is_own]))
        has_several = len(np.unique(events.sector[is_own])) > 1
        if has_several and keeps_sectors == (name == "cache"):
            where = f"the same sectors on {events.name}, as on an origin"
            if not keeps_sectors:
                where = f"other sectors on {events.name}, as on a cache"
            raise ConfigError(f"{name}: requests of {upper.name} have {where}")
    if found.below and found.requests and not found.linked:
        names = " and ".join(events.name for events in found.below.values())
        raise ConfigError(f"device: no request of {upper.name} was mapped to {names}")


def _check_completions(found: Matching) -> None:
    """Check that the backing device completes the requests of bcache."""
    if "origin" in found.below and found.linked["origin"] < len(found.requests) / 2:
        raise ConfigError(
            f"origin: {found.below['origin'].name} does not complete the requests of "
            f"{found.upper.name}, {BCACHE_SHIFT} sectors further on"
        )


# --- The table ----------------------------------------------------------------------------------

_Row: TypeAlias = tuple[Any, ...]


def _row(kind: str, requests: Sequence[Request], of: int, reason: str = "") -> _Row:
    """Return a class of requests with its latency."""
    times = [request.done - request.time for request in requests if request.done is not None]
    latency: Sequence[float | None] = (None, None, None)
    if times:
        latency = [float(np.mean(times)), *map(float, np.percentile(times, [50, 99]))]
    if requests and not times:
        reason = reason or _NO_COMPLETIONS
    size = sum(request.bytes for request in requests)
    return kind, len(requests), len(requests) / of if of else None, size, *latency, reason


def _unknown(kind: str, reason: str) -> _Row:
    return kind, None, None, None, None, None, None, reason


def _copied(kind: str, sizes: Sequence[int], reason: str = _NO_LATENCY) -> _Row:
    return kind, len(sizes), None, sum(sizes), None, None, None, reason


def _mapped_rows(found: Matching) -> list[_Row]:
    """Return the classes of dm-cache: a hit is mapped to the cache, a miss to the origin alone."""
    requests, below = found.requests, found.below
    has_cache = "cache" in below
    rows = []
    for kind, writes in (("read", False), ("write", True)):
        of = [request for request in requests if request.writes == writes]
        hits = [one.is_cached if has_cache else not one.reaches_origin for one in of]
        reason = "" if below else _NO_BELOW
        if writes and of and below and not has_cache and not any(hits):
            reason = _WRITE_THROUGH
        for name, are_hits in (("hits", True), ("misses", False)):
            which = [one for one, hit in zip(of, hits, strict=True) if hit == are_hits]
            title = f"{kind} {name}"
            rows.append(_unknown(title, reason) if reason else _row(title, which, len(requests)))
    rows.append(_row("all requests", requests, len(requests)))
    if not below:
        return [*rows, _unknown("promotions", _NO_BELOW), _unknown("write-backs", _NO_BELOW)]
    copies = found.copies["cache" if has_cache else "origin"]
    promoted, cleaned = copies.writes, copies.reads
    if not has_cache:
        promoted, cleaned = cleaned, promoted
    return [*rows, _copied("promotions", promoted), _copied("write-backs", cleaned)]


def _bcache_rows(found: Matching) -> list[_Row]:
    """Return the classes of bcache: a read that its backing device reads is a miss."""
    requests = found.requests
    reads = [request for request in requests if not request.writes]
    writes = [request for request in requests if request.writes]
    has_origin = "origin" in found.below
    hits = [request for request in reads if not request.reaches_origin]
    misses = [request for request in reads if request.reaches_origin]
    no_origin = "" if has_origin else _NO_ORIGIN
    rows = [
        *(
            _row(kind, which, len(requests)) if has_origin else _unknown(kind, _NO_ORIGIN)
            for kind, which in (("read hits", hits), ("read misses", misses))
        ),
        _unknown("write hits", _NO_WRITE_HITS),
        _unknown("write misses", _NO_WRITE_HITS),
        _row("writes", writes, len(requests), no_origin),
        _row("all requests", requests, len(requests), no_origin),
        _unknown("promotions", _NO_PROMOTIONS),
        _copied("write-backs", found.copies["origin"].writes)
        if has_origin
        else _unknown("write-backs", _NO_ORIGIN),
    ]
    if "cache" not in found.below:
        return [*rows, _unknown("cache writes", _NO_CACHE), _unknown("metadata writes", _NO_CACHE)]
    copies = found.copies["cache"]
    return [
        *rows,
        _copied("cache writes", copies.writes, _MIXED_WRITES),
        _copied("metadata writes", copies.metadata),
    ]


def _table(found: Matching, kind: str, rows: Sequence[_Row]) -> ResultTable:
    below = ", ".join(f"{name} {events.name}" for name, events in found.below.items())
    notes = []
    if found.left_out:
        notes.append(f"{found.left_out:,} flushes and discards are left out")
    pending = sum(request.done is None for request in found.requests)
    if 0 < pending < len(found.requests):
        notes.append(f"{pending:,} requests without a completion have no latency")
    return ResultTable.of_rows(
        TABLES["cache-device"],
        rows,
        "cache-device",
        title=f"{found.upper.name} ({kind})" + (f": {below}" if below else ""),
        answer=_answer(rows),
        notes=notes,
    )


def _answer(rows: Sequence[_Row]) -> str:
    counts = {row[0]: row[1] for row in rows}
    hits, total, what = (
        [counts["read hits"], counts["write hits"]],
        counts["all requests"],
        "requests",
    )
    if hits[1] is None:
        hits, what = hits[:1], "reads"
        total = (counts["read hits"] or 0) + (counts["read misses"] or 0)
    if hits[0] is None or not total:
        return "the files do not show what hits"
    count = sum(hits)
    return f"{count:,} of {total:,} {what} hit ({100 * count / total:.2f} %)"
