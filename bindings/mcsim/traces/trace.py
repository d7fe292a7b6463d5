"""Traces: recorded requests, parsed once into an Arrow store and mapped from there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim._core import trace as _core_trace
from mcsim.base.errors import ConfigError, HostError, TraceError
from mcsim.base.suggest import did_you_mean
from mcsim.base.units import parse_bytes
from mcsim.traces.files import Layout, save_trace
from mcsim.traces.store import (
    SCHEMA,
    STORE_VERSION,
    Batch,
    Counts,
    OptionValue,
    Store,
    TimeBase,
    TraceMetadata,
    batch_of,
    is_arrow_file,
    open_store,
    record_batch_of,
    schema_with,
    write_store,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = [
    "Batch",
    "Trace",
    "TraceInfo",
    "VmInfo",
    "cache_directory",
    "find_trace",
    "trace_formats",
]

Progress = Callable[[int, int], None]
"""Called with the bytes of the file dealt with and their total, as work goes on."""

OnBadLine = Literal["error", "skip"]
OnUnsorted = Literal["error", "sort"]
Ops = Literal["all", "reads", "writes"]


@dataclass(frozen=True, slots=True)
class VmInfo:
    """What is known of one VM's requests, or of all together.

    Blocks are aligned; a request counts every block it touches.
    """

    name: str
    requests: int
    read_requests: int
    blocks: int
    read_blocks: int
    unique_blocks: int
    unique_read_blocks: int
    block_bytes: int
    total_bytes: int
    """Sum of the requests' lengths."""
    first_time: int
    last_time: int
    mean_request: float
    """Bytes."""
    median_request: float
    """Bytes."""
    largest_request: int
    """Bytes."""

    @property
    def footprint_bytes(self) -> int:
        """Size of the distinct blocks."""
        return self.unique_blocks * self.block_bytes

    @property
    def span(self) -> int:
        """Time from the first request to the last, in the trace's unit."""
        return self.last_time - self.first_time

    @property
    def rate(self) -> float:
        """Requests per second over the span; 0 if the span is. Means nothing without a clock."""
        return self.requests / (self.span / 1e9) if self.span else 0.0


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """A trace's VMs and their total."""

    time_base: TimeBase
    vms: tuple[VmInfo, ...]
    total: VmInfo


class Trace:
    """Requests of one or more VMs, in the order of time.

    A trace opened from a file is mapped into memory, not loaded: its size is not
    bounded by that of the memory. Traces are immutable; every method that
    changes something returns another trace. Make one with `open`,
    `from_arrays` or `slice`.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch], metadata: TraceMetadata) -> None:
        self._batches = batches
        self._metadata = metadata

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        options: Mapping[str, OptionValue] | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        on_bad_line: OnBadLine = "error",
        on_unsorted: OnUnsorted = "error",
        progress: Progress | None = None,
    ) -> Trace:
        """Open a trace file, parsing it unless that was done before.

        Parameters
        ----------
        path : path-like
            A trace in any of `trace_formats`, plain or compressed (gzip, zstd, xz,
            bzip2), or a store written by `save`.
        format : str, optional
            Name of the format; by default found out from the content.
        options : mapping, optional
            The format's own parameters; sizes may have units, as in ``4KiB``.
        cache_dir : path-like, optional
            Where parsed traces are kept; by default ``$MCSIM_CACHE_DIR``, else
            ``.mcsim/traces``.
        on_bad_line : {'error', 'skip'}
            Whether a line that contradicts the format stops the reading, or is left
            out and counted in `metadata`.
        on_unsorted : {'error', 'sort'}
            Whether a request earlier than the one before it stops the reading, or all
            are put in order, equal times as they stand in the file.
        progress : callable, optional
            ``progress(done_bytes, total_bytes)``. Hashing and parsing each count
            the size of the file.

        Raises
        ------
        TraceError
            If the file contradicts its format (the message names file and line), is
            damaged, or has no known format.
        ConfigError
            If there is no such file, format or parameter.
        HostError
            If the file cannot be read or the store not written.
        """
        source = Path(path)
        _check_choice("on_bad_line", on_bad_line, ("error", "skip"))
        _check_choice("on_unsorted", on_unsorted, ("error", "sort"))
        if source.is_file() and is_arrow_file(source):
            if format is not None or options:
                raise ConfigError(f"{source}: an Arrow file takes neither format nor options")
            store = open_store(source)
            return cls(store, store.metadata)
        if format is None:
            format = _core_trace.detect_format(str(source))
        plan = _Parse(
            source=source,
            format=format,
            options=_as_declared(format, options or {}),
            skip_bad_lines=on_bad_line == "skip",
            sort=on_unsorted == "sort",
            progress=progress or (lambda done, total: None),
        )
        store = plan.cached_store(Path(cache_dir) if cache_dir is not None else cache_directory())
        return cls(store, store.metadata)

    @classmethod
    def from_arrays(
        cls,
        time: npt.ArrayLike,
        offset: npt.ArrayLike,
        length: npt.ArrayLike,
        *,
        vm: npt.ArrayLike = 0,
        op: npt.ArrayLike = 0,
        response: npt.ArrayLike = -1,
        vms: Sequence[str] = ("vm",),
        time_base: TimeBase = "clock",
        source: str = "arrays",
    ) -> Trace:
        """Make a trace of arrays; a single number stands for a column of it.

        Parameters
        ----------
        time : array_like of int, shape (n,)
            Nanoseconds, or references before each request if `time_base` is
            ``'index'``; non-decreasing.
        offset, length : array_like of int, shape (n,)
            Bytes.
        vm : array_like of int, shape (n,)
            Positions in `vms`.
        op : array_like of int, shape (n,)
            0 read, 1 write.
        response : array_like of int, shape (n,)
            Nanoseconds, -1 where unknown.
        vms : sequence of str
            Names of the VMs.
        time_base : {'clock', 'index'}
        source : str
            What made the arrays, for `metadata`.

        Raises
        ------
        ConfigError
            If a column has another length, holds what its type cannot, or breaks a
            rule above.
        """
        given = (time, vm, op, offset, length, response)
        n = np.size(np.asarray(time))
        columns = [_column(values, field, n) for values, field in zip(given, SCHEMA, strict=True)]
        batch = Batch(*columns)
        _check_batch(batch, len(vms))
        digest = hashlib.sha256(repr((tuple(vms), time_base)).encode())
        for column in batch:
            digest.update(column.data)
        metadata = TraceMetadata(
            source=source,
            source_digest=digest.hexdigest(),
            digest=digest.hexdigest(),
            format="arrays",
            options={},
            time_base=time_base,
            vms=tuple(vms),
            counts=Counts().plus(batch),
        )
        return cls([record_batch_of(batch)], metadata)

    def __repr__(self) -> str:
        meta = self._metadata
        return (
            f"<Trace {meta.source}: {len(meta.vms)} VMs, {meta.counts.requests:,} requests, "
            f"{meta.counts.blocks:,} blocks>"
        )

    @property
    def metadata(self) -> TraceMetadata:
        """All that is known of the trace beside its requests."""
        return self._metadata

    @property
    def vms(self) -> tuple[str, ...]:
        """Names of the VMs; the `vm` column holds positions in it."""
        return self._metadata.vms

    @property
    def digest(self) -> str:
        """Identity of the requests: equal for equal source and way of reading it."""
        return self._metadata.digest

    @property
    def time_base(self) -> TimeBase:
        """``'clock'``: times in nanoseconds; ``'index'``: references before the request."""
        return self._metadata.time_base

    @property
    def request_count(self) -> int:
        """Number of requests."""
        return self._metadata.counts.requests

    @property
    def store_path(self) -> Path | None:
        """The Arrow file behind the trace, if there is one."""
        return self._batches.path if isinstance(self._batches, Store) else None

    def batches(self) -> Iterator[Batch]:
        """Yield the columns, some 10^6 requests at a time, as views without a copy."""
        for record_batch in self._batches:
            yield batch_of(record_batch)

    def info(
        self, block_bytes: int = 4096, progress: Callable[[int, int], None] | None = None
    ) -> TraceInfo:
        """Summarise the trace in one pass.

        Parameters
        ----------
        block_bytes : int
            Size of a block.
        progress : callable, optional
            ``progress(done_requests, total_requests)``.
        """
        summary = _core_trace.Summary(block_bytes)
        done = 0
        for batch in self.batches():
            summary.add(batch.time, batch.vm, batch.op, batch.offset, batch.length)
            done += len(batch.time)
            if progress is not None:
                progress(done, self.request_count)
        summaries = summary.vms()
        summaries += [_core_trace.VmSummary()] * (len(self.vms) - len(summaries))
        vms = zip(self.vms, summaries, strict=True)
        return TraceInfo(
            self.time_base,
            tuple(_vm_info(name, vm, block_bytes) for name, vm in vms),
            _vm_info("total", summary.total(), block_bytes),
        )

    def slice(
        self,
        start: int | None = None,
        end: int | None = None,
        vms: Sequence[str] | None = None,
        ops: Ops = "all",
    ) -> Trace:
        """Return the requests of a span of time, of some VMs, of one operation.

        Parameters
        ----------
        start, end : int, optional
            Requests from `start` on and before `end`, counted from the trace's first
            request, in nanoseconds (references, if `time_base` is ``'index'``).
        vms : sequence of str, optional
            Names of the VMs to keep, which are numbered anew in their old order.
        ops : {'all', 'reads', 'writes'}

        Raises
        ------
        ConfigError
            If the trace has no such VM, or there is no such choice of operations.
        """
        _check_choice("ops", ops, ("all", "reads", "writes"))
        origin = self._metadata.counts.first_time
        kept = self.vms if vms is None else tuple(name for name in self.vms if name in set(vms))
        for name in vms or ():
            if name not in self.vms:
                raise ConfigError(f"no VM {name!r}{did_you_mean(name, self.vms)}")
        selection = _Selection(
            batches=self._batches,
            begin=None if start is None else _clamped(origin + start),
            end=None if end is None else _clamped(origin + end),
            vm_numbers=tuple(kept.index(name) if name in kept else -1 for name in self.vms),
            op={"all": None, "reads": 0, "writes": 1}[ops],
        )
        counts = Counts()
        for record_batch in selection:
            counts = counts.plus(batch_of(record_batch))
        how = repr((self.digest, start, end, kept, ops))
        digest = hashlib.sha256(how.encode()).hexdigest()
        return Trace(selection, replace(self._metadata, digest=digest, vms=kept, counts=counts))

    def save(self, path: str | os.PathLike[str], *, layout: Layout = "csv") -> Path:
        """Write the trace to a file, which appears whole or not at all.

        Parameters
        ----------
        path : path-like
            ``*.arrow`` is a store as `open` maps it, ``*.parquet`` the same columns in
            Parquet; ``*.csv``, ``*.csv.gz``, ``*.csv.zst`` and ``*.csv.bz2`` are text.
        layout : {'csv', 'msr'}
            Of text: mcsim's own columns, which hold everything, or those of MSR
            Cambridge. `open` reads both back to the same requests.

        Raises
        ------
        ConfigError
            If the path has another ending, or the layout cannot hold the trace.
        HostError
            If the file cannot be written.
        """
        target = Path(path)
        save_trace(target, self._batches, self._metadata, layout)
        return target

    def to_arrow(self) -> pa.Table:
        """Return the columns as a table that shares the trace's memory."""
        return pa.Table.from_batches(list(self._batches), SCHEMA).replace_schema_metadata(
            schema_with(self._metadata).metadata
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the columns as a Polars frame."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame


@dataclass(frozen=True)
class _Selection:
    """The record batches of a slice, cut out anew at every iteration."""

    batches: Iterable[pa.RecordBatch]
    begin: int | None
    end: int | None
    vm_numbers: tuple[int, ...]
    """The new number of each VM, -1 for those left out."""
    op: int | None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        keeps_all = self.op is None and self.vm_numbers == tuple(range(len(self.vm_numbers)))
        numbers = np.array(self.vm_numbers, np.int32)
        for record_batch in self.batches:
            time = batch_of(record_batch).time
            low = 0 if self.begin is None else int(np.searchsorted(time, self.begin))
            high = len(time) if self.end is None else int(np.searchsorted(time, self.end))
            if low < high:
                span = record_batch.slice(low, high - low)
                yield span if keeps_all else self._filtered(batch_of(span), numbers)
            if high < len(time):
                return

    def _filtered(self, batch: Batch, numbers: npt.NDArray[np.int32]) -> pa.RecordBatch:
        vm = numbers[batch.vm]
        kept = vm >= 0
        if self.op is not None:
            kept &= batch.op == self.op
        renumbered = batch._replace(vm=vm.astype(np.uint16))
        return record_batch_of(renumbered.where(kept))


@dataclass
class _Parse:
    """One way of reading one file into the store."""

    source: Path
    format: str
    options: dict[str, OptionValue]
    skip_bad_lines: bool
    sort: bool
    progress: Progress

    def cached_store(self, cache_dir: Path) -> Store:
        """Return the store of this file read this way, made now if there is none."""
        source_digest = self._source_digest()
        digest = self._digest(source_digest)
        vm_name = _core_trace.vm_name_of(str(self.source))
        path = cache_dir / f"{vm_name}-{digest[:16]}.arrow"
        if path.is_file():
            try:
                store = open_store(path)
                if store.metadata.digest == digest:
                    self.progress(2 * self._size, 2 * self._size)
                    return store
            except TraceError:
                pass  # damaged, or of another version: made anew
        return self._parse(path, source_digest, digest)

    def _digest(self, source_digest: str) -> str:
        # The file's name counts because it may become that of the VM.
        how = (
            STORE_VERSION,
            source_digest,
            _core_trace.vm_name_of(str(self.source)),
            self.format,
            sorted(self.options.items()),
            self.skip_bad_lines,
            self.sort,
        )
        return hashlib.sha256(repr(how).encode()).hexdigest()

    @property
    def _size(self) -> int:
        return self.source.stat().st_size

    def _source_digest(self) -> str:
        hasher = hashlib.sha256()
        done = 0
        try:
            with self.source.open("rb") as file:
                while piece := file.read(1 << 22):
                    hasher.update(piece)
                    done += len(piece)
                    self.progress(done, 2 * self._size)
        except OSError as error:
            raise HostError(f"{self.source}: cannot be read: {error.strerror}") from error
        return hasher.hexdigest()

    def _parse(self, path: Path, source_digest: str, digest: str) -> Store:
        reader = _core_trace.Reader(
            str(self.source), self.format, self.options, self.skip_bad_lines, self.sort
        )

        def batches() -> Iterator[Batch]:
            while (columns := reader.next()) is not None:
                self.progress(self._size + reader.consumed, 2 * self._size)
                yield Batch(*columns)

        def describe(counts: Counts) -> TraceMetadata:
            return TraceMetadata(
                source=self.source.name,
                source_digest=source_digest,
                digest=digest,
                format=self.format,
                options=self.options,
                time_base=reader.time_base,
                vms=tuple(reader.vms),
                counts=counts,
                skipped_lines=reader.skipped,
                complaints=tuple(reader.complaints),
            )

        store = write_store(path, batches(), describe, sort=lambda: reader.unsorted)
        self.progress(2 * self._size, 2 * self._size)
        return store


def trace_formats() -> list[dict[str, Any]]:
    """Return the trace formats: name, summary, reference and parameters of each."""
    return _core_trace.formats()


def find_trace(name: str, dirs: Iterable[str | os.PathLike[str]]) -> Path | None:
    """Find the trace file of a VM below some folders.

    A file is the VM's if its name up to the first dot is (``web_3`` for
    ``msr/web_3.csv.zst``); `name` may also be a file's path inside a folder.

    Parameters
    ----------
    name : str
        A VM's name.
    dirs : iterable of path-like
        Folders, searched with all their subfolders.

    Returns
    -------
    Path or None
        None if there is no such file.

    Raises
    ------
    ConfigError
        If several files could be meant; the message names them.
    """
    folders = [Path(folder) for folder in dirs]
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    found = {
        path.resolve(): path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and _core_trace.vm_name_of(path.name) == name
    }
    if len(found) > 1:
        several = ", ".join(str(path) for path in found.values())
        raise ConfigError(f"trace {name!r} could be any of {several}")
    return next(iter(found.values()), None)


def cache_directory() -> Path:
    """Return where traces are kept that were parsed or generated."""
    return Path(os.environ.get("MCSIM_CACHE_DIR") or ".mcsim/traces")


def _as_declared(format: str, options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
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


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name}: unknown choice {value!r} (one of {', '.join(choices)})")


def _column(values: npt.ArrayLike, field: pa.Field, n: int) -> npt.NDArray[Any]:
    """Return values as a read-only column of the field's type, or complain."""
    given = np.asarray(values)
    wanted = field.type.to_pandas_dtype()
    if given.ndim and given.shape != (n,):
        raise ConfigError(f"{field.name}: expected {n} values in one dimension, got {given.shape}")
    if given.size and given.dtype.kind not in "iub":
        raise ConfigError(f"{field.name}: expected whole numbers, got {given.dtype}")
    column = np.broadcast_to(given.astype(wanted), (n,))
    if not np.array_equal(column, np.broadcast_to(given, (n,))):
        raise ConfigError(f"{field.name}: a value does not fit {np.dtype(wanted).name}")
    column = np.ascontiguousarray(column)
    column.flags.writeable = False
    return column


def _clamped(time: int) -> int:
    """Return the nearest time that the column can hold."""
    limits = np.iinfo(np.int64)
    return max(limits.min, min(time, limits.max))


def _check_batch(batch: Batch, vm_count: int) -> None:
    if len(batch.time) == 0:
        return
    backwards = np.flatnonzero(batch.time[1:] < batch.time[:-1])
    if len(backwards):
        raise ConfigError(f"time: goes back at position {backwards[0] + 1}; sort the arrays")
    if int(batch.vm.max()) >= vm_count:
        raise ConfigError(f"vm: {batch.vm.max()} is not a position among {vm_count} names")
    if int(batch.op.max()) > 1:
        raise ConfigError(f"op: expected 0 (read) or 1 (write), got {batch.op.max()}")
    if np.any(batch.offset + batch.length < batch.offset):
        raise ConfigError("offset + length exceeds 64 bits")


def _vm_info(name: str, vm: _core_trace.VmSummary, block_bytes: int) -> VmInfo:
    return VmInfo(
        name=name,
        requests=vm.requests,
        read_requests=vm.read_requests,
        blocks=vm.blocks,
        read_blocks=vm.read_blocks,
        unique_blocks=vm.unique_blocks,
        unique_read_blocks=vm.unique_read_blocks,
        block_bytes=block_bytes,
        total_bytes=vm.bytes,
        first_time=vm.first_time,
        last_time=vm.last_time,
        mean_request=vm.bytes / vm.requests if vm.requests else 0.0,
        median_request=vm.median_request,
        largest_request=vm.largest_request,
    )
