"""The first requests of a file as a proposal reads them, and their hits in an unlimited cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from mcsim.base.errors import ConfigError
from mcsim.traces.batches import DISCARD, Batch, Kind, batch_with
from mcsim.traces.mapping import as_declared
from mcsim.traces.metadata import BLOCK_BYTES, OptionValue
from mcsim.traces.parse import Parse
from mcsim.traces.tables import keys_of

_MOST_REQUESTS = 100_000
_MOST_ACCESSES = 1_000_000


class Hits(NamedTuple):
    """Counts of an unlimited cache of blocks of 4 KiB, or of objects."""

    requests: int
    accesses: int
    distinct: int
    hits: int


class Trial(NamedTuple):
    """The first requests of a file."""

    kind: Kind
    rows: list[dict[str, str]]
    """Text by column."""
    hits: Hits


def try_reading(path: Path, format: str, options: Mapping[str, OptionValue], count: int) -> Trial:
    """Read the first requests of a file.

    Parameters
    ----------
    path : Path
    format : str
    options : mapping
        Parameters of the format.
    count : int
        Number of rows of text.

    Raises
    ------
    TraceError, ConfigError
        If the file cannot be read this way.
    """
    reader = Parse(path, format, as_declared(format, options)).reader()
    columns = reader.next()
    if columns is None:
        raise ConfigError(f"{path}: there are no requests in it")
    batch = batch_with(column[:_MOST_REQUESTS] for column in columns)
    keys, vms, has_clock = keys_of(reader.keys), reader.vms, reader.time_base == "clock"
    places = ("key", "size") if reader.kind == "objects" else ("offset", "length")
    rows = []
    for i in range(min(count, len(batch.time))):
        time, place = int(batch.time[i]), int(batch.offset[i])
        rows.append(
            {
                "time": _time_text(time) if has_clock else f"{time:,}",
                "VM": vms[batch.vm[i]],
                "op": ("read", "write", "discard")[batch.op[i]],
                places[0]: f"{place:,}" if keys is None else keys[place].as_py(),
                places[1]: f"{int(batch.length[i]):,}",
            }
        )
    return Trial(reader.kind, rows, unlimited_hits(batch, reader.kind))


def unlimited_hits(batch: Batch, kind: Kind) -> Hits:
    """Return the hits of requests, in the order of their times, in an unlimited cache."""
    cached: set[tuple[int, int]] = set()
    seen: set[tuple[int, int]] = set()
    requests = accesses = hits = 0
    for i in batch.time.argsort(kind="stable").tolist():
        if accesses >= _MOST_ACCESSES:
            break
        vm, offset, length = int(batch.vm[i]), int(batch.offset[i]), int(batch.length[i])
        if batch.op[i] == DISCARD:
            cached -= _discarded(cached, vm, offset, length, kind)
            continue
        requests += 1
        for block in _blocks_of(offset, length, kind):
            accesses += 1
            hits += (vm, block) in cached
            cached.add((vm, block))
            seen.add((vm, block))
    return Hits(requests, accesses, len(seen), hits)


def _blocks_of(offset: int, length: int, kind: Kind) -> Sequence[int]:
    if kind == "objects":
        return (offset,)
    end = (offset + length + BLOCK_BYTES - 1) // BLOCK_BYTES
    return range(offset // BLOCK_BYTES, end) if length else ()


def _discarded(
    cached: set[tuple[int, int]], vm: int, offset: int, length: int, kind: Kind
) -> set[tuple[int, int]]:
    """Return the cached blocks that a discard covers wholly."""
    if kind == "objects":
        return {(vm, offset)}
    first, end = -(-offset // BLOCK_BYTES), (offset + length) // BLOCK_BYTES
    if end - first < len(cached):
        return {(vm, block) for block in range(first, end)}
    return {(of, block) for of, block in cached if of == vm and first <= block < end}


def _time_text(ns: int) -> str:
    """Return a time as a date if it is one after 2000, else in seconds."""
    if ns < 946_684_800 * 10**9:
        return f"{ns / 1e9:.6f} s"
    date: Any = datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{date}.{ns % 10**9 // 1000:06d}"
