"""Counters of a real cache before and after, as text: dm-cache, dm-writecache, bcache, ZFS."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcsim.base.errors import ConfigError, TraceError
from mcsim.base.inputs import is_regular, printable, read_regular
from mcsim.tables.result_columns import TABLES
from mcsim.tables.result_table import ResultTable

Counters = Mapping[str, int]

_NO_BYTES = "counters have no bytes and no latency"
_OF_PIECES = "a request is counted once for each cache block that it touches"
_READS_ALONE = "counts reads alone"

_DM_CACHE = (
    *("read hits", "read misses", "write hits", "write misses"),
    *("demotions", "promotions", "dirty"),
)
_WRITECACHE = (
    *("error", "blocks", "free", "in write-back", "reads", "read hits", "writes"),
    *("uncommitted hits", "committed hits", "around", "allocated", "blocked"),
    *("flushes", "discards"),
)
_STATUS = re.compile(r"(?:\S+:\s+)?\d+ \d+ (cache|writecache) (.*)")
_IN_A_FILE = re.compile(r"(?:.*/)?(cache_\w+|bypassed)[:\s]\s*(\d+)\s*", re.ASCII)
_OF_ARC = re.compile(r"(\w+)\s+\d+\s+(\d+)\s*", re.ASCII)


@dataclass(frozen=True)
class _Kind:
    """A kind of cache: its title, the rows of its table, and what its counters leave out."""

    title: str
    rows: Callable[[Counters], Mapping[str, int | str]]
    notes: tuple[str, ...] = ()


def _of_dm_cache(of: Counters) -> Mapping[str, int | str]:
    kinds = ("read hits", "read misses", "write hits", "write misses", "promotions", "demotions")
    return {kind: of[kind] for kind in kinds}


def _of_writecache(of: Counters) -> Mapping[str, int | str]:
    hits = of["uncommitted hits"] + of["committed hits"]
    return {
        "read hits": of["read hits"],
        "read misses": of["reads"] - of["read hits"],
        "write hits": hits,
        "write misses": of["writes"] - hits,
        "promotions": of["allocated"],
    }


def _of_bcache(of: Counters) -> Mapping[str, int | str]:
    return {
        "read hits": of["cache_hits"] + of.get("cache_bypass_hits", 0),
        "read misses": of["cache_misses"] + of.get("cache_bypass_misses", 0),
        "write hits": f"bcache {_READS_ALONE}",
        "write misses": f"bcache {_READS_ALONE}",
    }


def _of_arc(of: Counters) -> Mapping[str, int | str]:
    demand = [f"demand_{what}" for what in ("data", "metadata")]
    return {
        "read hits": sum(of[f"{each}_hits"] for each in demand),
        "read misses": sum(of[f"{each}_misses"] for each in demand),
        "write hits": f"ZFS {_READS_ALONE}",
        "write misses": f"ZFS {_READS_ALONE}",
    }


_KINDS = {
    "cache": _Kind(
        "dm-cache",
        _of_dm_cache,
        ("In write-back, a write of a whole block that is promoted is counted nowhere.",),
    ),
    "writecache": _Kind(
        "dm-writecache",
        _of_writecache,
        ("Blocks of the cache are counted. A read that misses is not inserted.",),
    ),
    "bcache": _Kind(
        "bcache",
        _of_bcache,
        (
            "The kernel adds counts every 13.6 s, modulo 65,536: above 4,800 reads/s of one kind "
            "some are lost.",
        ),
    ),
    "arc": _Kind("ZFS", _of_arc, ("Prefetches are left out; L2ARC counts as a miss.",)),
}


def cache_counters(before: str | os.PathLike[str], after: str | os.PathLike[str]) -> ResultTable:
    """Return what a real cache counted between two moments.

    Parameters
    ----------
    before, after : path-like
        Text of ``dmsetup status NAME`` for dm-cache and dm-writecache, of ``grep .
        /sys/block/bcache0/bcache/stats_total/*`` for bcache, or of
        ``/proc/spl/kstat/zfs/arcstats``.

    Returns
    -------
    ResultTable
        The table of `cache_device`, without bytes and latencies.

    Raises
    ------
    ConfigError
        If the files are of two caches, or a counter has fallen.
    TraceError
        If a file has no such counters.

    Examples
    --------
    >>> from pathlib import Path
    >>> status = "0 65536 cache 8 27/1024 64 100/512 {} 0 0 0 100 0 1 writeback 0 smq 0 rw -"
    >>> for name, counts in (("a", "10 90"), ("b", "70 130")):
    ...     _ = Path(f"{name}.txt").write_text(status.format(counts))
    >>> mc.cache_counters("a.txt", "b.txt").answer
    '60 of 100 requests hit (60.00 %)'
    """
    first, second = (Path(file) for file in (before, after))
    (kind, old), (other, new) = _read(first), _read(second)
    if kind != other:
        raise ConfigError(
            f"after: {second} is of {_KINDS[other].title}, {first} of {_KINDS[kind].title}"
        )
    rows = _KINDS[kind].rows({name: _rise(name, old, new, second) for name in old if name in new})
    every: dict[str, int | str] = {**rows, "all requests": _OF_PIECES}
    return ResultTable.of_rows(
        TABLES["cache-device"],
        [_row(name, count) for name, count in every.items()],
        "cache-device",
        title=f"{_KINDS[kind].title}, from {first} to {second}",
        answer=_answer(rows),
        notes=[*_KINDS[kind].notes, f"{_OF_PIECES[0].upper()}{_OF_PIECES[1:]}."],
    )


def _row(kind: str, count: int | str) -> tuple[Any, ...]:
    is_known = isinstance(count, int)
    known = count if is_known else None
    return kind, known, None, None, None, None, None, _NO_BYTES if is_known else count


def _rise(name: str, old: Counters, new: Counters, file: Path) -> int:
    change = new[name] - old[name]
    if change < 0 and name not in ("dirty", "free", "in write-back", "blocks", "error"):
        raise ConfigError(
            f"after: {file}: {name} fell from {old[name]:,} to {new[name]:,}: the files are "
            "exchanged, or the cache was made anew in between"
        )
    return change


def _answer(rows: Mapping[str, int | str]) -> str:
    kinds = ("read", "write") if isinstance(rows["write hits"], int) else ("read",)
    hits = sum(int(rows[f"{kind} hits"]) for kind in kinds)
    total = hits + sum(int(rows[f"{kind} misses"]) for kind in kinds)
    what = "requests" if len(kinds) > 1 else "reads"
    share = f" ({100 * hits / total:.2f} %)" if total else ""
    return f"{hits:,} of {total:,} {what} hit{share}"


def _read(file: Path) -> tuple[str, Counters]:
    """Return the kind of the counters in a file, and the counters."""
    if not is_regular(file):
        raise ConfigError(f"{printable(file)!r}: expected a file with counters as text")
    lines = read_regular(file).decode("utf-8", "replace").splitlines()
    found = [match for line in lines if (match := _STATUS.fullmatch(line.strip()))]
    if len(found) > 1:
        raise TraceError(
            f"{file}: {len(found)} caches; give the status of one (dmsetup status NAME)"
        )
    if found:
        return found[0][1], _status(file, found[0][1], found[0][2].split())
    if counts := _matched(_IN_A_FILE, lines):
        _check(file, counts, ("cache_hits", "cache_misses"))
        return "bcache", counts
    counts = _matched(_OF_ARC, lines)
    demand = [f"demand_{of}_{what}" for of in ("data", "metadata") for what in ("hits", "misses")]
    if not any(name in counts for name in demand):
        raise TraceError(
            f"{file}: expected the text of dmsetup status of a cache, of stats_total of bcache, or "
            "of arcstats"
        )
    _check(file, counts, demand)
    return "arc", counts


def _matched(pattern: re.Pattern[str], lines: list[str]) -> dict[str, int]:
    matches = (pattern.fullmatch(line.strip()) for line in lines)
    return {match[1]: int(match[2]) for match in matches if match}


def _check(file: Path, counts: Counters, names: list[str] | tuple[str, ...]) -> None:
    if missing := [name for name in names if name not in counts]:
        raise TraceError(f"{file}: {', '.join(missing)} is missing")


def _status(file: Path, target: str, words: list[str]) -> Counters:
    """Read the counters of a line of the device mapper."""
    names = _DM_CACHE if target == "cache" else _WRITECACHE
    # Four words of sizes come before the counters of dm-cache.
    given = words[4:] if target == "cache" else words
    values = given[: len(names)]
    if len(values) < len(names) or not all(word.isdecimal() for word in values):
        raise TraceError(
            f"{file}: expected {len(names)} counters of a {_KINDS[target].title} "
            f"({', '.join(names)}), got {' '.join(given[: len(names)]) or 'none'}"
        )
    return dict(zip(names, map(int, values), strict=True))
