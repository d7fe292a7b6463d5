"""Trace files read once: parsed into a store that is kept and found again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcsim._core import trace as _core_trace
from mcsim.base.errors import ConfigError, TraceError
from mcsim.base.inputs import printable
from mcsim.base.units import parse_bytes
from mcsim.traces.batches import Batch, batch_with
from mcsim.traces.cache import mark_used
from mcsim.traces.digests import (
    file_digest,
    file_state,
    is_settled,
    note_path,
    read_note,
    write_note,
)
from mcsim.traces.files import kept_store, write_store
from mcsim.traces.store import STORE_VERSION, Counts, OptionValue, Store, TraceMetadata
from mcsim.traces.table_files import TABLE_FORMATS, OwnTable, describe_table_formats, open_table
from mcsim.traces.tables import TableReader
from mcsim.traces.unmapped import check_csv_header

Progress = Callable[[int, int], None]
"""Called with the bytes of the file dealt with and their total, as work goes on."""


_PARSER_VERSIONS = {"csv": 2, "arrow": 2, "parquet": 2}
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

    def cached_store(self, cache_dir: Path) -> Store:
        """Return the store of this file parsed this way; parse the file if there is none.

        Raises
        ------
        TraceError
            If the file changes while it is hashed or parsed; nothing is cached then.
        """
        opened = file_state(self.source)
        source_digest = self._source_digest(note_path(cache_dir, self.source), opened)
        digest = self._digest(source_digest)
        vm_name = _core_trace.vm_name_of(os.fsencode(self.source))
        path = cache_dir / f"{vm_name}-{digest[:16]}.arrow"

        def make() -> Store:
            self._check_unchanged(opened)
            return self._parse(path, opened, source_digest, digest)

        store = kept_store(path, digest, self.source, make)
        self.progress(2 * opened[0], 2 * opened[0])
        return store

    def _digest(self, source_digest: str) -> str:
        # The file's name counts because it may become that of the VM.
        how: tuple[object, ...] = (
            STORE_VERSION,
            source_digest,
            _core_trace.vm_name_of(os.fsencode(self.source)),
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
            state, digest = read_note(note)
            if state == opened:
                mark_used(note)
                return digest
        digest = file_digest(self.source, lambda done: self.progress(done, 2 * opened[0]))
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
        # The clock may be too coarse to show a change.
        if not is_settled(opened) and file_digest(self.source, lambda done: None) != source_digest:
            raise TraceError(f"{self.source}: it has changed since it was opened")

    def _reader(self) -> _core_trace.Reader | TableReader | OwnTable:
        if self.format == "csv":
            check_csv_header(self.source, self.options)
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
            _core_trace.vm_name_of(os.fsencode(self.source)),
            self.options,
            skip_bad_rows=self.skip_bad_lines,
            keep_unsorted=self.sort,
        )

    def _parse(self, path: Path, opened: list[int], source_digest: str, digest: str) -> Store:
        reader = self._reader()

        def batches() -> Iterator[Batch]:
            while (columns := reader.next()) is not None:
                self.progress(opened[0] + reader.consumed, 2 * opened[0])
                yield batch_with(columns)

        def describe(counts: Counts) -> TraceMetadata:
            self._check_parsed(opened, source_digest)
            return TraceMetadata(
                source=printable(self.source.name),
                source_digest=source_digest,
                digest=digest,
                format=self.format,
                options=self.options,
                time_base=reader.time_base,
                vms=tuple(reader.vms),
                counts=counts,
                skipped_lines=reader.skipped,
                complaints=tuple(reader.complaints),
                synthetic=isinstance(reader, OwnTable) and reader.synthetic,
                has_lengths=reader.has_lengths,
            )

        return write_store(path, batches(), describe, sort=lambda: reader.unsorted)


def trace_formats() -> list[dict[str, Any]]:
    """Return the trace formats: name, summary, reference and parameters of each."""
    formats = _core_trace.formats()
    (csv,) = (format for format in formats if format["name"] == "csv")
    return formats + describe_table_formats(csv)


def as_declared(format: str, options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Return options as the kinds their format declares, where that is plain.

    So YAML may say ``time: 1`` for a column and ``unit_bytes: 4KiB`` for a size. All
    else is left as it is, for the format to judge.
    """
    kinds = {
        param["name"]: param["kind"]
        for known in trace_formats()
        if known["name"] == format
        for param in known["params"]
    }

    def as_declared(name: str, value: OptionValue) -> OptionValue:
        kind = kinds.get(name)
        if kind == "text" and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if kind == "bool" and value in ("true", "false"):
            return value == "true"
        if kind == "integer" and isinstance(value, str):
            with suppress(ValueError):
                return parse_bytes(value)
        return value

    return {name: as_declared(name, value) for name, value in options.items()}
