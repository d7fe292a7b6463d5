"""Trace files read once: parsed into a store that is kept and found again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mcsim._core import trace as _core_trace
from mcsim.base.errors import ConfigError, TraceError, mistakes_in
from mcsim.base.inputs import printable
from mcsim.base.sizes import is_share, share_given
from mcsim.base.units import parse_bytes, parse_count
from mcsim.traces.batches import Batch, batch_with
from mcsim.traces.cache import is_trusted, mark_used, open_cache
from mcsim.traces.checks import SignCounter
from mcsim.traces.digests import (
    file_digest,
    file_state,
    is_settled,
    keys_digest,
    note_path,
    read_note,
    write_note,
)
from mcsim.traces.files import kept_store, write_store
from mcsim.traces.pipes import Spool
from mcsim.traces.store import (
    STORE_VERSION,
    Counts,
    OptionValue,
    Store,
    TraceMetadata,
)
from mcsim.traces.table_files import (
    TABLE_FORMATS,
    OwnTable,
    describe_table_formats,
    open_table,
    rows_of,
)
from mcsim.traces.tables import TableReader, keys_of

Progress = Callable[[int, int], None]
"""Called with the processed bytes of the file and its size. Hashing and parsing count half each."""


_PARSER_VERSIONS = {
    "csv": 4,
    "jsonl": 2,
    "mooncake": 2,
    "arrow": 4,
    "parquet": 5,
    "keys": 3,
    "oracle-general": 2,
    "msr": 3,
    "strace": 2,
    "vscsi": 2,
    "cloudphysics": 2,
    "lcs": 2,
    "blkparse": 2,
    "blktrace": 2,
    "biosnoop": 2,
    "arc": 2,
}
"""Versions of parsers, where what they return has changed since the first."""


@dataclass
class Parse:
    """One way of reading one file into the store."""

    source: Path
    format: str
    options: dict[str, OptionValue]
    skip_bad_lines: bool
    sort: bool
    progress: Progress
    spool: Spool | None = None
    """The source, if it came through a pipe: no other process changes it."""

    def cached_store(self, cache_dir: Path) -> Store:
        """Return the store of this file parsed this way; parse the file if there is none.

        Raises
        ------
        TraceError
            If the file changes while it is hashed or parsed; nothing is cached then.
        """
        opened = file_state(self.source)
        open_cache(cache_dir)
        source_digest = (
            self._source_digest(note_path(cache_dir, self.source), opened)
            if self.spool is None
            else self.spool.digest
        )
        digest = self._digest(source_digest)
        vm_name = _core_trace.vm_name_of(os.fsencode(self.source))
        path = cache_dir / f"{vm_name}-{digest[:16]}.arrow"

        def make() -> Store:
            self._check_unchanged(opened)
            return self._parse(path, opened, source_digest, digest)

        store = kept_store(path, digest, self.source, make)
        self.progress(opened[0], opened[0])
        return store

    @property
    def _vm_name(self) -> str:
        return _core_trace.vm_name_of(os.fsencode(self.source))

    def _digest(self, source_digest: str) -> str:
        # The file's name counts because it may become that of the VM.
        how: tuple[object, ...] = (
            STORE_VERSION,
            source_digest,
            self._vm_name,
            self.format,
            sorted(self.options.items()),
            self.skip_bad_lines,
            self.sort,
        )
        if self.format in _PARSER_VERSIONS:
            how = (*how, _PARSER_VERSIONS[self.format])
        return hashlib.sha256(repr(how).encode()).hexdigest()

    def _source_digest(self, note: Path, opened: list[int]) -> str:
        """Return the digest of the file; read the file only if its state differs from the note."""
        with suppress(OSError, ValueError):
            if is_trusted(note):
                state, digest = read_note(note)
                if state == opened:
                    mark_used(note)
                    return digest
        digest = file_digest(self.source, lambda done: self.progress(done // 2, opened[0]))
        self._check_unchanged(opened)
        if is_settled(opened):
            with suppress(ConfigError):  # something else has its name
                write_note(note, opened, digest)
        return digest

    def _check_unchanged(self, opened: list[int]) -> None:
        if file_state(self.source) != opened:
            raise TraceError(f"{self.source}: it has changed since it was opened")

    def _check_parsed(self, opened: list[int], source_digest: str) -> None:
        """Check that the file, of which all was parsed, is still the one that was hashed."""
        self._check_unchanged(opened)
        if self.spool is not None:
            return
        # The clock may be too coarse to show a change.
        if not is_settled(opened) and file_digest(self.source, lambda done: None) != source_digest:
            raise TraceError(f"{self.source}: it has changed since it was opened")

    def reader(self) -> _core_trace.Reader | TableReader | OwnTable:
        """Open the file for one pass."""
        if self.format not in TABLE_FORMATS:
            return _core_trace.Reader(
                os.fsencode(self.source),
                self.format,
                self.options,
                self.skip_bad_lines,
                self.sort,
            )
        return open_table(
            self.source,
            self.format,
            self._vm_name,
            self.options,
            skip_bad_rows=self.skip_bad_lines,
            keep_unsorted=self.sort,
        )

    def _parse(self, path: Path, opened: list[int], source_digest: str, digest: str) -> Store:
        reader = self.reader()
        signs = SignCounter()

        def batches() -> Iterator[Batch]:
            while (columns := reader.next()) is not None:
                self.progress((opened[0] + reader.consumed) // 2, opened[0])
                batch = batch_with(columns)
                signs.add(batch)
                yield batch

        def describe(counts: Counts) -> TraceMetadata:
            self._check_parsed(opened, source_digest)
            rows, complaints = rows_of(reader)
            return TraceMetadata(
                source=printable(self.source.name),
                source_digest=source_digest,
                digest=digest,
                format=self.format,
                options=self.options,
                time_base=reader.time_base,
                vms=tuple(reader.vms),
                counts=counts,
                rows=rows,
                complaints=tuple(map(self._with_name_of_pipe, complaints)),
                kind=reader.kind,
                vm_from_file=not reader.names_vms,
                signs=signs.signs(
                    has_clock=reader.time_base == "clock",
                    has_block_lengths=reader.has_lengths and reader.kind == "blocks",
                ),
                keys_digest=keys_digest(keys()),
                synthetic=isinstance(reader, OwnTable) and reader.synthetic,
                has_lengths=reader.has_lengths,
                notes=tuple(reader.notes),
            )

        keys = cache(lambda: keys_of(reader.keys))

        return write_store(
            path,
            batches(),
            describe,
            sort=lambda: reader.unsorted,
            kind=lambda: reader.kind,
            keys=keys,
            private=True,
        )

    def _with_name_of_pipe(self, text: str) -> str:
        return text if self.spool is None else self.spool.renamed(text)


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


def trace_formats() -> list[dict[str, Any]]:
    """Return the trace formats: name, summary, reference and parameters of each."""
    formats = _core_trace.formats()
    (csv,) = (format for format in formats if format["name"] == "csv")
    return formats + describe_table_formats(csv)


_REPLACED_OPTIONS = {
    ("oracle-general", "ignore_size"): "ids are keys of objects; with unit_bytes=4096 they are "
    "blocks at id * 4096, with their sizes",
}
"""Replacements of removed options of formats."""


def as_declared(format: str, options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Return options as the kinds their format declares, where that is plain.

    So YAML accepts ``time: 1`` for a column and ``unit_bytes: 4KiB`` for a size. All
    else is left as it is, for the format to judge. Options that are gone are a ConfigError that
    names the replacement.
    """
    for option in options:
        if (replacement := _REPLACED_OPTIONS.get((format, option))) is not None:
            raise ConfigError(f"{format}: {option} is gone: {replacement}")
    kinds = {
        param["name"]: param["kind"]
        for known in trace_formats()
        if known["name"] == format
        for param in known["params"]
    }

    def as_declared(name: str, value: OptionValue) -> OptionValue:
        kind = kinds.get(name)
        if name == "length" and value == "":
            return "none"
        if kind == "text" and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if kind == "bool" and value in ("true", "false"):
            return value == "true"
        if kind == "integer" and isinstance(value, str):
            with suppress(ValueError):
                return parse_bytes(value)
        return value

    return {name: as_declared(name, value) for name, value in options.items()}
