"""Trace files opened: parsed into stores unless that was done before, and joined."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim._core import trace as _core_trace
from mcsim.base.arguments import check_param, file_given, shortened, text
from mcsim.base.errors import ConfigError, EmptyTraceError, McsimError, TraceError
from mcsim.base.inputs import note_input, printable
from mcsim.base.limits import limits_named
from mcsim.base.suggest import check_choice
from mcsim.traces.batches import Batch, batch_with
from mcsim.traces.cache import cache_directory, is_trusted, kept_store, mark_used, open_cache
from mcsim.traces.checks import SignCounter, check_skipped, warn_of_format, warn_of_signs
from mcsim.traces.digests import (
    file_digest,
    file_state,
    is_settled,
    keys_digest,
    note_path,
    read_note,
    write_note,
)
from mcsim.traces.joined import join
from mcsim.traces.made import OnBadLine, OnUnsorted
from mcsim.traces.mapping import as_declared, read_mapping
from mcsim.traces.metadata import STORE_VERSION, Counts, OptionValue, Signs, TraceMetadata
from mcsim.traces.pipes import Spool, is_pipe, spooled
from mcsim.traces.store import Store, is_store, open_store, write_store
from mcsim.traces.table_files import TABLE_FORMATS, OwnTable, open_table, rows_of, table_format
from mcsim.traces.tables import TableReader, keys_of

if TYPE_CHECKING:
    from mcsim.traces.trace import Trace

_log = logging.getLogger(__name__)

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


@dataclass(frozen=True)
class Reading:
    """How to read trace files; the attributes are the arguments of `Trace.open`."""

    format: str | None = None
    options: Mapping[str, OptionValue] | None = None
    mapping: str | os.PathLike[str] | None = None
    cache_dir: str | os.PathLike[str] | None = None
    on_bad_line: OnBadLine = "error"
    on_unsorted: OnUnsorted = "sort"
    max_skipped: int | float | str | None = None

    def checked(self) -> Reading:
        """Return the same plus the content of the mapping; ConfigError if a value is wrong."""
        check_choice("on_bad_line", self.on_bad_line, ("error", "skip"))
        check_choice("on_unsorted", self.on_unsorted, ("error", "sort"))
        format, options = self.format, self.options
        if self.mapping is not None:
            of_file, kept = read_mapping(self.mapping)
            format, options = format or of_file, kept | dict(options or {})
        if format is not None:
            text("format", format)
        if not isinstance(options, Mapping | None):
            raise ConfigError(f"options: expected a mapping, got {shortened(options)}")
        for name, value in (options or {}).items():
            check_param(f"options: {name}", value)
        folder = self.cache_dir
        folder = cache_directory() if folder is None else file_given("cache_dir", folder)
        return replace(self, format=format, options=options, cache_dir=folder)


@limits_named()
def open_files(
    files: Sequence[Path],
    reading: Reading,
    vm_name: str | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Open files and join their traces.

    Parameters
    ----------
    files : sequence of Path
    reading : Reading
    vm_name : str, optional
        Name of the VM of files without names of VMs; by default each has its file's name.
    progress : callable, optional
        As of `Trace.open`, with the bytes of all files.

    Raises
    ------
    ConfigError, HostError, TraceError
        As of `Trace.open`.
    """
    reading = reading.checked()
    if vm_name is not None:
        _core_trace.check_vm_name(text("vm_name", vm_name))
    sizes = [file.stat().st_size if file.is_file() else 0 for file in files]

    def opened(file: Path, format: str | None) -> Trace:
        before, whole = sum(sizes[: files.index(file)]), sum(sizes)

        def count(done: int, total: int) -> None:
            if progress is not None:
                progress(before + done, max(whole, before + total))

        trace = open_file(file, replace(reading, format=format), count)
        return trace if vm_name is None else _with_vm_name(trace, file, vm_name)

    return join(with_requests(files, reading.format, opened))


def with_requests(
    files: Sequence[Path], format: str | None, opened: Callable[[Path, str | None], Trace]
) -> list[Trace]:
    """Open files; leave out those without requests if others have some.

    Parameters
    ----------
    files : sequence of Path
    format : str, optional
        Stated format. Without one, a file that no format fits, such as a header alone, has the
        format of the first other file.
    opened : callable
        Opens a file in a format; None means to detect it.

    Raises
    ------
    TraceError
        As of `opened`; also if no file has requests.
    """
    traces: list[Trace] = []
    refused: dict[Path, TraceError] = {}
    empty: dict[Path, TraceError] = {}
    for file in files:
        try:
            traces.append(opened(file, format))
        except EmptyTraceError as error:
            empty[file] = error
        except TraceError as error:
            if len(files) == 1 or format is not None:
                raise
            refused[file] = error
    for file, why in refused.items():
        if not traces:
            raise why
        try:
            opened(file, traces[0].metadata.format)
        except EmptyTraceError as error:
            empty[file] = error
        except McsimError:
            raise why from None
        else:
            raise why
    if not traces:
        raise next(iter(empty.values()))
    for file in empty:
        _log.warning("%s: there are no requests in it: left out", printable(file.name))
    return traces


def _with_vm_name(trace: Trace, file: Path, name: str) -> Trace:
    """Rename the VM of a file; ConfigError if the content of the file names its VMs."""
    if not trace.metadata.vm_from_file:
        vms = repr(trace.vms[0]) if len(trace.vms) == 1 else f"{len(trace.vms)} VMs"
        raise ConfigError(
            f"vm_name: {file}: its format names VMs ({vms}); {name!r} is for files that name none"
        )
    return join([trace], [[name]])


def open_file(file: Path, reading: Reading, progress: Progress) -> Trace:
    """Open one file or pipe, with a `Reading` that was checked."""
    assert isinstance(reading.cache_dir, Path)
    if is_pipe(file):
        with spooled(file, reading.cache_dir, progress) as spool:
            return _open_regular(spool.file, reading, progress, spool)
    note_input(file)
    return _open_regular(file, reading, progress)


def _open_regular(
    file: Path, reading: Reading, progress: Progress, spool: Spool | None = None
) -> Trace:
    from mcsim.traces.trace import Trace

    is_table = table_format(file) if file.is_file() else None
    if is_table == "arrow" and is_store(file):
        if spool is not None:
            raise ConfigError(f"{file}: a store of mcsim's is not read through a pipe: name it")
        if reading.format is not None or reading.options:
            raise ConfigError(f"{file}: a store of mcsim's takes neither format nor options")
        store = open_store(file)
        warn_of_signs(store.metadata, Signs())
        return Trace(store, store.metadata)
    format = reading.format or is_table
    needs_order = False
    if format is None:
        detected = _core_trace.detect_format(os.fsencode(file))
        warn_of_format(file.name, detected)
        format, needs_order = detected.name, detected.needs_order
    plan = Parse(
        source=file,
        format=format,
        options=as_declared(format, reading.options or {}),
        skip_bad_lines=reading.on_bad_line == "skip",
        sort=reading.on_unsorted == "sort" and not needs_order,
        progress=progress,
        spool=spool,
    )
    assert isinstance(reading.cache_dir, Path)
    try:
        store = plan.cached_store(reading.cache_dir)
    except (ConfigError, TraceError) as error:
        if needs_order and "time goes back" in str(error):
            raise TraceError(
                f"{error}; without a stated format, times in order are the sign of {format}: "
                "state the format"
            ) from None
        if reading.mapping is not None:
            raise type(error)(f"{error}; it is read by the mapping {reading.mapping}") from None
        raise
    check_skipped(store.metadata, file, reading.max_skipped)
    warn_of_signs(store.metadata, store.metadata.signs)
    return Trace(store, store.metadata)


@dataclass
class Parse:
    """One way of reading one file into the store."""

    source: Path
    format: str
    options: dict[str, OptionValue]
    skip_bad_lines: bool = False
    sort: bool = True
    progress: Progress = lambda done, total: None
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
        source_digest = self._source_digest(note_path(cache_dir, self.source), opened)
        digest = self._digest(source_digest)
        path = cache_dir / f"{self._vm_name}-{digest[:16]}.arrow"

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
        how += (_PARSER_VERSIONS[self.format],) if self.format in _PARSER_VERSIONS else ()
        return hashlib.sha256(repr(how).encode()).hexdigest()

    def _source_digest(self, note: Path, opened: list[int]) -> str:
        """Return the digest of the file; read the file only if its state differs from the note."""
        if self.spool is not None:
            return self.spool.digest
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

    def _check_unchanged(self, opened: list[int], source_digest: str | None = None) -> None:
        """Check the state of the file, and its digest if the clock is too coarse for the state."""
        is_same = file_state(self.source) == opened
        if is_same and source_digest and self.spool is None and not is_settled(opened):
            is_same = file_digest(self.source, lambda done: None) == source_digest
        if not is_same:
            raise TraceError(f"{self.source}: it has changed since it was opened")

    def reader(self) -> _core_trace.Reader | TableReader | OwnTable:
        """Open the file for one pass."""
        if self.format not in TABLE_FORMATS:
            file = os.fsencode(self.source)
            how = (self.options, self.skip_bad_lines, self.sort)
            return _core_trace.Reader(file, self.format, *how)
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
            self._check_unchanged(opened, source_digest)
            rows, complaints = rows_of(reader)
            if self.spool is not None:
                complaints = tuple(map(self.spool.renamed, complaints))
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
                complaints=complaints,
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
