"""Joined traces: VMs with the same name in several traces become one VM.

Requests are merged by time, one batch of each trace in memory at a time. Traces that follow each
other in time are passed on without a copy.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim.base.arguments import list_of, shortened
from mcsim.base.errors import ConfigError
from mcsim.traces.batches import (
    Batch,
    batch_with,
    keyed,
    record_batch_of,
    schema_with_keys,
    view_of,
)
from mcsim.traces.digests import keys_digest
from mcsim.traces.merged import has_same_references, merged
from mcsim.traces.metadata import Counts, RowCounts, TraceMetadata
from mcsim.traces.store import BATCH_REQUESTS

if TYPE_CHECKING:
    from mcsim.traces.trace import Trace

_log = logging.getLogger(__name__)

_MOST_VMS = 2**16
_MOST_COMPLAINTS = 5
_DATES_SINCE = 10**17
"""Earliest time, in ns, that is written as a date: March 1973."""


@dataclass(frozen=True)
class Part:
    """A trace that was joined with others."""

    trace: Trace
    names: tuple[str, ...]
    """Names of its VMs in the joined trace."""
    shift: int = 0
    """Added to its times, which count references."""
    key_ids: npt.NDArray[np.uint64] | None = None
    """Ids in the joined trace of its text keys."""

    @property
    def source(self) -> str:
        """Name of its file."""
        return self.trace.metadata.source

    @property
    def first(self) -> int:
        """Time of the first request."""
        return self.trace.metadata.counts.first_time + self.shift

    @property
    def last(self) -> int:
        """Time of the last request."""
        return self.trace.metadata.counts.last_time + self.shift

    def batches(self, numbers: dict[str, int], only: str | None) -> Iterator[Batch]:
        """Yield the requests, or those of one VM, with the numbers of VMs in the joined trace."""
        own = None if only is None else self.names.index(only)
        of_vm = np.array([numbers[name] for name in self.names], np.uint16)
        is_unchanged = np.array_equal(of_vm, np.arange(len(of_vm)))
        is_mixed = own is not None and len(self.names) > 1 and not self.trace.has_many_vms
        for batch in self.trace.batches() if own is None else self.trace.batches_with(own):
            kept = batch.where(batch.vm == own) if is_mixed else batch
            time = kept.time + self.shift if self.shift else kept.time
            key = kept.offset if self.key_ids is None else self.key_ids[kept.offset]
            vm = kept.vm if is_unchanged else of_vm[kept.vm]
            yield kept._replace(time=time, vm=vm, offset=key)


@dataclass(frozen=True)
class Joined:
    """The record batches of traces that were joined, merged anew at every iteration."""

    parts: tuple[Part, ...]
    """In the order of their first requests."""
    vms: tuple[str, ...]
    keys: pa.Array | None = None
    """Text keys of the objects of all parts."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        is_keyed = any(part.trace.kind == "objects" for part in self.parts)
        for record_batch in map(record_batch_of, self._merged(None)):
            if is_keyed:
                schema = schema_with_keys(record_batch.schema, text=self.keys is not None)
                yield keyed(record_batch, schema, self.keys)
            else:
                yield record_batch

    def batches_with(self, vm: int) -> Iterator[Batch]:
        """Yield the requests of one VM alone."""
        yield from self._merged(self.vms[vm])

    def _merged(self, only: str | None) -> Iterator[Batch]:
        numbers = {name: number for number, name in enumerate(self.vms)}
        parts = [part for part in self.parts if only is None or only in part.names]
        rows = max(1, BATCH_REQUESTS // _most_at_a_time(parts))
        columns: dict[int, str] = {}

        def batches(part: Part) -> Iterator[Batch]:
            for batch in part.batches(numbers, only):
                columns.setdefault(len(batch), part.source)
                if len(columns) > 1:
                    classed, other = (columns[count] for count in sorted(columns, reverse=True))
                    raise ConfigError(
                        f"{classed} has classes of requests and {other} has none: they do not join"
                    )
                for begin in range(0, len(batch.time), rows):
                    yield batch_with(column[begin : begin + rows] for column in batch)

        return merged((part.first, batches(part)) for part in parts)


def _most_at_a_time(parts: Sequence[Part]) -> int:
    """Return how many traces are merged at the same time, at most."""
    ends = np.sort([part.last for part in parts])
    begins = np.array([part.first for part in parts])  # sorted
    over = np.searchsorted(ends, begins)
    return int(np.max(np.arange(1, len(parts) + 1) - over, initial=1))


def join(traces: Sequence[Trace], names: Sequence[Sequence[str]] | None = None) -> Trace:
    """Join traces: VMs with the same name become one VM, and requests are merged by time.

    Without a clock, a trace continues after the earlier ones that have one of its VMs. Traces with
    a VM in common that overlap in time give a warning.

    Parameters
    ----------
    traces : sequence of Trace
    names : sequence of sequence of str, optional
        Other names of their VMs.

    Raises
    ------
    ConfigError
        If some have a clock and others do not, or a trace is given twice.
    """
    from mcsim.traces.trace import Trace

    given: list[Trace] = list_of("traces", traces, "traces")
    if not given or not all(isinstance(trace, Trace) for trace in given):
        raise ConfigError(f"traces: expected one or more of Trace, got {shortened(traces)}")
    if len(given) == 1 and names is None:
        return given[0]
    check_alike(given)
    called = [trace.vms for trace in given] if names is None else names
    parts = [part for of, vms in zip(given, called, strict=True) for part in _parts_of(of, vms)]
    _check_distinct(parts)
    if given[0].time_base == "index":
        parts = _one_after_another(parts)
    vms = tuple(dict.fromkeys(chain.from_iterable(part.names for part in parts)))
    if len(vms) > _MOST_VMS:
        raise ConfigError(f"traces: {len(vms):,} VMs: at most {_MOST_VMS:,}")
    parts = sorted(parts, key=lambda part: part.first)
    parts, keys = with_joined_keys(parts)
    joined = Trace(Joined(tuple(parts), vms, keys), _metadata(parts, vms, keys))
    if (note := note_on(joined)) is not None:
        _log.info("%s", note)
    _warn_of_overlaps(parts)
    return joined


def joined_by_vm(traces: Sequence[Trace]) -> list[Trace]:
    """Join those traces that have VMs with the same name, so that no VM is in two traces.

    Raises
    ------
    ConfigError
        As of `join`.
    """
    parents = list(range(len(traces)))

    def root(index: int) -> int:
        while parents[index] != index:
            index = parents[index]
        return index

    first_of: dict[str, int] = {}
    for index, trace in enumerate(traces):
        for name in trace.vms:
            low, high = sorted((root(first_of.setdefault(name, index)), root(index)))
            parents[high] = low
    groups: dict[int, list[Trace]] = {}
    for index, trace in enumerate(traces):
        groups.setdefault(root(index), []).append(trace)
    return [join(group) for group in groups.values()]


def check_alike(traces: Sequence[Trace]) -> None:
    """Check that all traces have a clock, or none, and that all have blocks, or objects.

    Raises
    ------
    ConfigError
        If they differ; the message names two traces.
    """
    kinds = {trace.kind: trace.metadata.source for trace in reversed(traces)}
    if len(kinds) > 1:
        raise ConfigError(
            f"{kinds['blocks']} has blocks and {kinds['objects']} has objects: they do not merge"
        )
    sources = {trace.time_base: trace.metadata.source for trace in reversed(traces)}
    if len(sources) > 1:
        raise ConfigError(
            f"{sources['clock']} has a clock and {sources['index']} has none: they do not merge "
            "by time; `compare` with `each` replays each alone"
        )


def with_joined_keys(parts: Sequence[Part]) -> tuple[list[Part], pa.Array | None]:
    """Number the text keys of all parts together; return the parts and the keys."""
    keys: list[Any] = [part.trace.keys for part in parts]
    if all(of is None for of in keys):
        return list(parts), None
    if any(of is None for of in keys):
        named = {of is None: part.source for part, of in zip(parts, keys, strict=True)}
        raise ConfigError(
            f"{named[True]} has keys that are numbers and {named[False]} has text keys: they do "
            "not join"
        )
    encoded = pa.chunked_array(keys, pa.large_string()).combine_chunks().dictionary_encode()
    ids = view_of(encoded.indices).astype(np.uint64)
    ends = np.cumsum([len(of) for of in keys])
    of_parts = np.split(ids, ends[:-1])
    joined = [replace(part, key_ids=of) for part, of in zip(parts, of_parts, strict=True)]
    return joined, encoded.dictionary


def _parts_of(trace: Trace, names: Sequence[str]) -> list[Part]:
    """Return a trace as a part, or the parts that it was joined from, under other names."""
    batches = trace._batches
    if not isinstance(batches, Joined):
        return [Part(trace, tuple(names))]
    renamed = dict(zip(trace.vms, names, strict=True))
    return [Part(of.trace, tuple(renamed[name] for name in of.names)) for of in batches.parts]


def _check_distinct(parts: Sequence[Part]) -> None:
    """Check that no two parts have the same requests of the same VMs.

    Requests count, not bytes of files: a file may be compressed, or converted to another format.
    """
    seen: dict[object, list[Part]] = {}
    for part in parts:
        if not part.names:
            continue
        alike = seen.setdefault((part.names, part.trace.metadata.counts), [])
        same = next((other for other in alike if _has_same_requests(other.trace, part.trace)), None)
        alike.append(part)
        if same is None:
            continue
        what = f"{part.source}: the same trace is given twice"
        if same.source != part.source:
            what = f"{same.source} and {part.source} have the same content"
        raise ConfigError(f"{what}: VM {part.names[0]!r} would have every request twice")


def _has_same_requests(one: Trace, other: Trace) -> bool:
    """Return whether two traces have equal requests, apart from response times and classes."""
    if one is other or one.digest == other.digest:
        return True
    if one.kind != other.kind or one.metadata.keys_digest != other.metadata.keys_digest:
        return False
    return has_same_references(one.batches(), other.batches())


def _one_after_another(parts: Sequence[Part]) -> list[Part]:
    """Shift positions in a stream of references behind those of earlier parts with the same VM."""
    ends: dict[str, int] = {}
    shifted = []
    for part in parts:
        counts = part.trace.metadata.counts
        begin = max((ends.get(name, 0) for name in part.names), default=0)
        shift = max(0, begin - counts.first_time)
        end = shift + max(counts.last_time + 1, counts.first_time + counts.blocks)
        ends |= dict.fromkeys(part.names, end)
        shifted.append(replace(part, shift=shift))
    return shifted


def _metadata(parts: Sequence[Part], vms: tuple[str, ...], keys: pa.Array | None) -> TraceMetadata:
    of_all = [part.trace.metadata for part in parts]
    first = of_all[0]
    more = f" and {len(parts) - 1} more" if len(parts) > 1 else ""
    is_one_format = all((of.format, of.options) == (first.format, first.options) for of in of_all)
    cause = repr((vms, [(part.trace.digest, part.names) for part in parts]))
    return replace(
        first,
        source=first.source + more,
        source_digest=_digest(repr([of.source_digest for of in of_all])),
        digest=_digest(cause),
        format=first.format if is_one_format else "joined",
        options=first.options if is_one_format else {},
        vms=vms,
        counts=_sum(parts),
        rows=RowCounts(
            **{
                field.name: sum(getattr(of.rows, field.name) for of in of_all)
                for field in fields(RowCounts)
            }
        ),
        vm_from_file=False,
        keys_digest=keys_digest(keys),
        complaints=tuple(chain.from_iterable(of.complaints for of in of_all))[:_MOST_COMPLAINTS],
        synthetic=any(of.synthetic for of in of_all),
        notes=tuple(dict.fromkeys(chain.from_iterable(of.notes for of in of_all))),
        has_lengths=all(of.has_lengths for of in of_all),
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _sum(parts: Sequence[Part]) -> Counts:
    filled = [part for part in parts if part.trace.metadata.counts.rows]
    total = {
        of.name: sum(getattr(part.trace.metadata.counts, of.name) for part in filled)
        for of in fields(Counts)
    }
    total["first_time"] = min((part.first for part in filled), default=0)
    total["last_time"] = max((part.last for part in filled), default=0)
    return Counts(**total)


def _overlaps(parts: Sequence[Part]) -> list[tuple[str, Part, Part]]:
    """Return the pairs of parts that overlap in time, with a VM that both have."""
    latest: dict[str, Part] = {}
    found: dict[tuple[int, int], tuple[str, Part, Part]] = {}
    for part in parts:
        for name in part.names:
            before = latest.get(name)
            if before is not None and part.first < before.last:
                found.setdefault((id(before), id(part)), (name, before, part))
            if before is None or part.last > before.last:
                latest[name] = part
    return list(found.values())


def note_on(trace: Trace) -> str | None:
    """Return a line with the number of files that a trace was joined from, and their times."""
    batches = trace._batches
    if not isinstance(batches, Joined) or len(batches.parts) == 1:
        return None
    counts = trace.metadata.counts
    vms = trace.vms[0] if len(trace.vms) == 1 else f"{len(trace.vms)} VMs"
    joined = f"{vms}: {len(batches.parts)} files joined"
    if trace.time_base == "index":
        return f"{joined}: no clock, so files of a VM follow each other in the given order"
    first, last = counts.first_time, counts.last_time
    return f"{joined}, {_when(first, first)} to {_when(last, first)}"


def _warn_of_overlaps(parts: Sequence[Part]) -> None:
    if not (pairs := _overlaps(parts)):
        return
    name, one, other = pairs[0]
    begin, end = other.first, min(one.last, other.last)
    _log.warning(
        "%s: %s and %s overlap from %s to %s, and are merged by time%s",
        name,
        one.source,
        other.source,
        _when(begin, parts[0].first, "s"),
        _when(end, parts[0].first, "s"),
        f" ({len(pairs) - 1} more pairs overlap)" if len(pairs) > 1 else "",
    )


def _when(time: int, first: int, precision: str = "min") -> str:
    """Write a time as a date if the trace begins at one, else as a length of time."""
    if first < _DATES_SINCE:
        return f"{time / 1e9:,g} s"
    date = datetime.fromtimestamp(time // 10**9, UTC)
    return f"{date:%Y-%m-%d %H:%M:%S}" if precision == "s" else f"{date:%Y-%m-%d %H:%M}"
