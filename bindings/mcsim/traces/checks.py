"""Checks of traces: signs of wrong times and lengths, rows that were skipped, shared blocks.

Signs are counted while a trace is parsed, and stored with it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from mcsim._core import trace as _core_trace
from mcsim.base.errors import TraceError, mistakes_in
from mcsim.base.inputs import printable
from mcsim.base.sizes import is_share, share_given
from mcsim.base.units import parse_count
from mcsim.traces.batches import DISCARD, Batch
from mcsim.traces.metadata import Counts, Signs, TraceMetadata

if TYPE_CHECKING:
    from mcsim.traces.trace import Trace

_log = logging.getLogger(__name__)

_YEAR_NS = 365 * 86400 * 10**9
_SMALL_BYTES = 64
_TABLES = ("arrow", "parquet")
_OF_PROGRAMS = ("lackey", "strace")
"""Formats in which small requests are usual."""

_ENOUGH_ROWS = 10
_MOST_PER_SECOND = 10**7
_EPOCH_BEGIN, _EPOCH_END = 946_684_800 * 10**9, 3_155_760_000 * 10**9
"""Times, in ns, of the years 2000 and 2070."""
_RELATIVE = 30
"""Smallest ratio of the first time to the span of times since 1970."""

_warned: set[str] = set()
"""Digests of traces that were warned of, and warnings about formats."""


class SignCounter:
    """Counts signs in batches, in the order of the source."""

    def __init__(self) -> None:
        self._rows = 0
        self._last_time: int | None = None
        self._backwards = 0
        self._gap = self._gap_at = 0
        self._sized = self._small = 0

    @classmethod
    def of(cls, counted: _core_trace.RequestCounts) -> Self:
        """Return the signs that the core counted."""
        signs = cls()
        signs._backwards, signs._gap, signs._gap_at = counted.backwards, counted.gap, counted.gap_at
        signs._sized, signs._small = counted.sized, counted.small
        return signs

    def add(self, batch: Batch) -> None:
        """Count the signs in the next batch."""
        if not len(batch.time):
            return
        before = batch.time[0] if self._last_time is None else self._last_time
        times = np.concatenate((np.array([before], np.int64), batch.time))
        is_back = times[1:] < times[:-1]
        # Differences of 64 bits without a sign do not overflow.
        gaps = np.diff(times.view(np.uint64))
        gaps[is_back] = 0
        longest = int(gaps.argmax())
        if int(gaps[longest]) > self._gap:
            self._gap, self._gap_at = int(gaps[longest]), self._rows + longest + 1
        self._backwards += int(np.count_nonzero(is_back))
        has_size = (batch.op != DISCARD) & (batch.length > 0)
        self._sized += int(np.count_nonzero(has_size))
        self._small += int(np.count_nonzero(has_size & (batch.length < _SMALL_BYTES)))
        self._rows += len(batch.time)
        self._last_time = int(times[-1])

    def signs(self, *, has_clock: bool, has_block_lengths: bool) -> Signs:
        """Return the signs that matter for such times and lengths."""
        has_gap = has_clock and self._gap > _YEAR_NS
        is_small = has_block_lengths and 2 * self._small > self._sized
        return Signs(
            self._backwards,
            self._gap if has_gap else 0,
            self._gap_at if has_gap else 0,
            self._small if is_small else 0,
        )


def warn_of_format(name: str, detected: _core_trace.DetectedFormat) -> None:
    """Log what is doubtful about the format that a file was recognised as, once in a process."""
    if not detected.note:
        return
    warning = f"{printable(name)}: {detected.note}"
    if warning not in _warned:
        _warned.add(warning)
        _log.warning("%s", warning)


def warn_of_signs(metadata: TraceMetadata, signs: Signs) -> None:
    """Log the warnings about a trace, once in a process."""
    if metadata.digest in _warned:
        return
    _warned.add(metadata.digest)
    for warning in _warnings(metadata, signs):
        _log.warning("%s: %s", metadata.source, warning)


def _warnings(metadata: TraceMetadata, signs: Signs) -> Iterator[str]:
    yield from metadata.notes
    counts = metadata.counts
    if signs.gap:
        yield (
            f"request {signs.gap_at:,} comes {signs.gap / _YEAR_NS:,.1f} years after the one "
            "before it: a time may be wrong, or in another unit"
        )
    if metadata.time_base == "clock":
        yield from _doubts_of_times(counts)
    if signs.backwards:
        yield (
            f"{signs.backwards:,} of {counts.rows:,} requests are earlier than the one before "
            "them in the file: they were sorted by time"
        )
    if signs.small and metadata.format not in _OF_PROGRAMS:
        yield (
            f"{signs.small:,} of {counts.requests:,} requests have fewer than {_SMALL_BYTES} "
            f"bytes: lengths may count sectors or blocks{_unit_option(metadata.format)}"
        )


def _doubts_of_times(counts: Counts) -> Iterator[str]:
    """Yield warnings about times that look like those of another unit."""
    first, span = counts.first_time, counts.last_time - counts.first_time
    if counts.rows >= _ENOUGH_ROWS and span > 0 and counts.rows / span * 10**9 > _MOST_PER_SECOND:
        yield (
            f"{counts.rows:,} requests take {span / 10**9:.3g} s, {counts.rows / span * 10**9:.2g} "
            "a second: times may be in another unit (time_unit)"
        )
    for factor, words in ((1_000, "1,000"), (10**6, "a million"), (10**9, "10^9")):
        if first > _RELATIVE * span and _EPOCH_BEGIN < first * factor < _EPOCH_END:
            date = datetime.fromtimestamp(first * factor // 10**9, UTC)
            yield (
                f"times begin {first / 10**9:,.6g} s after 1970, and in a unit {words} times as "
                f"long on {date:%Y-%m-%d}: they may be in another unit (time_unit)"
            )
    if first > _EPOCH_END:
        date = datetime.fromtimestamp(first // 10**9, UTC)
        yield f"times begin in the year {date:%Y}: they may be in another unit (time_unit)"


def _unit_option(format: str) -> str:
    """Return how the unit of lengths is stated, if the format lets it be stated."""
    params = {of["name"]: [p["name"] for p in of["params"]] for of in _core_trace.formats()}
    if format in _TABLES or "length_unit" in params.get(format, ()):
        return " (length_unit: sectors, or blocks)"
    return f", but format {format} has bytes"


_FEW_SKIPPED = 10
_SHARE_SKIPPED = 0.01


def check_skipped(
    metadata: TraceMetadata, source: Path, max_skipped: int | float | str | None
) -> None:
    """Check that not too many rows of a trace were skipped.

    Raises
    ------
    TraceError
        If more than `max_skipped` were; by default 10, or 1 % if that is more.
    ConfigError
        If `max_skipped` is not a number of rows or a share.
    """
    rows, counts = metadata.rows, metadata.counts
    read = counts.rows - rows.repeated + rows.filtered + rows.flushes + rows.skipped
    limit = max(_FEW_SKIPPED, int(_SHARE_SKIPPED * read))
    if max_skipped is not None:
        limit = _limit_of(max_skipped, read)
    if rows.skipped > limit:
        first = f" (first: {metadata.complaints[0]})" if metadata.complaints else ""
        raise TraceError(
            f"{source}: {rows.skipped:,} of {read:,} rows are unreadable, and at most {limit:,} "
            f"may be skipped{first}: state another format or mapping, or max_skipped: 100%"
        )


def _limit_of(max_skipped: int | float | str, rows: int) -> int:
    if isinstance(max_skipped, int | str) and not is_share(max_skipped):
        with mistakes_in("max_skipped"):
            return parse_count(max_skipped)
    return int(share_given("max_skipped", max_skipped, zero=True) * rows)


_MOST_SHARED = 1 << 17
"""Number of requests, from the first, that are checked."""


def warn_of_shared_blocks(traces: Iterable[Trace], block_bytes: int) -> None:
    """Log a warning for traces in which several offsets, probably ids, are in one block.

    Traces with lengths, or with a stated unit larger than a byte, are left out.
    """
    for trace in {trace.digest: trace for trace in traces}.values():
        meta = trace.metadata
        is_stated = "offset_unit" in meta.options or meta.options.get("unit_bytes", 1) != 1
        if meta.has_lengths or is_stated or meta.kind == "objects":
            continue
        batch = next(trace.batches(), None)
        if batch is None:
            continue
        offsets = np.unique(batch.offset[:_MOST_SHARED])
        blocks = len(np.unique(offsets // np.uint64(block_bytes)))
        if len(offsets) > blocks:
            _log.warning(
                "%s: requests have no length, and %s distinct offsets among the first %s are in "
                "%s block%s of %s bytes: if offsets are ids, map them as key, not as "
                "offset",
                meta.source,
                f"{len(offsets):,}",
                f"{min(len(batch.offset), _MOST_SHARED):,}",
                f"{blocks:,}",
                "" if blocks == 1 else "s",
                f"{block_bytes:,}",
            )
