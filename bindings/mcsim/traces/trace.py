"""Traces: recorded requests, parsed once into an Arrow store and mapped from there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from mcsim._core import trace as _core_trace
from mcsim.base.arguments import check_param, file_given, shortened, text, whole_number
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.inputs import note_input
from mcsim.base.result_table import Tabular, polars_frame
from mcsim.base.suggest import check_choice, names_matching
from mcsim.base.units import parse_duration, parse_references
from mcsim.traces.batches import Batch, ByVm, Selection, batch_of, clamped, schema_of
from mcsim.traces.cache import cache_directory
from mcsim.traces.files import save_trace
from mcsim.traces.find import default_trace_dirs, file_of
from mcsim.traces.identity import warn_of_shared_blocks
from mcsim.traces.info import TraceInfo, vm_info
from mcsim.traces.made import MadeOfColumns, OnBadLine, OnUnsorted
from mcsim.traces.mapping import read_mapping
from mcsim.traces.parsed import Parse, Progress, as_declared
from mcsim.traces.store import (
    Counts,
    OptionValue,
    Store,
    TimeBase,
    TraceMetadata,
    is_store,
    open_store,
    schema_with,
)
from mcsim.traces.table_files import table_format

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from mcsim.traces.blocks import Blocks

Ops = Literal["all", "reads", "writes"]

_MOST_TIME = 2**400

_FEW_VMS = 8
"""Up to so many, to look at all requests once for each is less than to put them in order."""


class Trace(MadeOfColumns, Tabular):
    """Requests of one or more VMs, in the order of time.

    A trace opened from a file is mapped into memory, not loaded: its size is not
    bounded by that of the memory. Traces are immutable; every method that
    changes something returns another trace. Make one with `open`, `from_arrow`,
    `from_pandas`, `from_polars`, `from_arrays` or `slice`.
    """

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        options: Mapping[str, OptionValue] | None = None,
        mapping: str | os.PathLike[str] | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        on_bad_line: OnBadLine = "error",
        on_unsorted: OnUnsorted = "sort",
        progress: Progress | None = None,
    ) -> Trace:
        """Open a trace file, parsing it unless that was done before.

        Parameters
        ----------
        path : path-like
            A trace in any of `trace_formats`; text plain or compressed (gzip, zstd, xz,
            bzip2). What `save` wrote opens without options. The name may lack extensions, and
            the folders of ``$MCSIM_TRACE_DIR`` are searched, too: ``"web_3"`` opens
            ``msr/web_3.csv.zst`` below them.
        format : str, optional
            Name of the format; by default found out from the content.
        options : mapping, optional
            The format's own parameters; sizes may have units, as in ``4KiB``.
        mapping : path-like, optional
            A YAML file with ``format`` and parameters, as ``mcsim trace info
            --save-mapping`` writes it; what is given beside it comes on top.
        cache_dir : path-like, optional
            Where parsed traces are kept; by default ``$MCSIM_CACHE_DIR``, else
            ``mcsim/traces`` in the user's cache folder.
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
            If there is no such file, format or parameter, or several files match, or it is a pipe
            or the like, which cannot be read twice.
        HostError
            If the file cannot be read or the store not written.
        """
        source = file_of(file_given("path", path), default_trace_dirs())
        check_choice("on_bad_line", on_bad_line, ("error", "skip"))
        check_choice("on_unsorted", on_unsorted, ("error", "sort"))
        if mapping is not None:
            of_file, kept = read_mapping(mapping)
            format, options = format or of_file, kept | dict(options or {})
        if format is not None:
            text("format", format)
        if not isinstance(options, Mapping | None):
            raise ConfigError(f"options: expected a mapping, got {shortened(options)}")
        for name, value in (options or {}).items():
            check_param(f"options: {name}", value)
        folder = cache_directory() if cache_dir is None else file_given("cache_dir", cache_dir)
        note_input(source)
        if source.exists() and not (source.is_file() or source.is_dir()):
            raise ConfigError(
                f"{source}: not a regular file: a trace is read more than once, so write what "
                "comes out of it to a file, and give that"
            )
        is_table = table_format(source) if source.is_file() else None
        if is_table == "arrow" and is_store(source):
            if format is not None or options:
                raise ConfigError(f"{source}: a store of mcsim's takes neither format nor options")
            store = open_store(source)
            return cls(store, store.metadata)
        format = format or is_table or _core_trace.detect_format(os.fsencode(source))
        plan = Parse(
            source=source,
            format=format,
            options=as_declared(format, options or {}),
            skip_bad_lines=on_bad_line == "skip",
            sort=on_unsorted == "sort",
            progress=progress or (lambda done, total: None),
        )
        store = plan.cached_store(folder)
        return cls(store, store.metadata)

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

    def batches_with(self, vm: int) -> Iterator[Batch]:
        """Yield columns that have all requests of one VM, a position in `vms`, in their order.

        Of a trace of few VMs others are among them; of one of many there are its own alone.
        """
        if self.has_many_vms:
            yield from self._by_vm.batches_of(vm)
        else:
            yield from self.batches()

    @property
    def has_many_vms(self) -> bool:
        """Whether `batches_with` has the requests of one VM alone."""
        return len(self.vms) > _FEW_VMS

    @cached_property
    def _by_vm(self) -> ByVm:
        return ByVm(self.batches(), len(self.vms))

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
        warn_of_shared_blocks([self], block_bytes)
        summary = _core_trace.Summary(whole_number("block_bytes", block_bytes, -(2**63)))
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
            tuple(vm_info(name, vm, block_bytes) for name, vm in vms),
            vm_info("total", summary.total(), block_bytes),
        )

    def slice(
        self,
        start: int | str | None = None,
        end: int | str | None = None,
        vms: str | Sequence[str] | None = None,
        ops: Ops = "all",
    ) -> Trace:
        """Return the requests of a span of time, of some VMs, of one operation.

        Parameters
        ----------
        start, end : int or str, optional
            Requests from `start` on and before `end`, counted from the trace's first
            request: ``'2h'``, or a number of nanoseconds. If `time_base` is ``'index'``,
            ``'5000 references'`` or their number.
        vms : str or sequence of str, optional
            Names of the VMs to keep and patterns such as ``'web_*'``; they are numbered anew
            in their old order.
        ops : {'all', 'reads', 'writes'}

        Raises
        ------
        ConfigError
            If the trace has no such VM, there is no such choice of operations, or a time has no
            unit or another one than the trace.
        """
        check_choice("ops", ops, ("all", "reads", "writes"))
        start, end = self._time("start", start), self._time("end", end)
        origin = self._metadata.counts.first_time
        chosen = dict.fromkeys(self.vms if vms is None else names_matching(vms, self.vms))
        kept = tuple(name for name in self.vms if name in chosen)
        numbers = {name: number for number, name in enumerate(kept)}
        selection = Selection(
            batches=self._batches,
            begin=None if start is None else clamped(origin + start),
            end=None if end is None else clamped(origin + end),
            vm_numbers=tuple(numbers.get(name, -1) for name in self.vms),
            op={"all": None, "reads": 0, "writes": 1}[ops],
        )
        counts = Counts()
        for record_batch in selection:
            counts = counts.plus(batch_of(record_batch))
        how = repr((self.digest, start, end, kept, ops))
        digest = hashlib.sha256(how.encode()).hexdigest()
        return Trace(selection, replace(self._metadata, digest=digest, vms=kept, counts=counts))

    def _time(self, name: str, value: int | str | None) -> int | None:
        """Parse a time since the first request, in the unit of `time_base`."""
        if isinstance(value, str):
            with mistakes_in(name):
                is_clock = self.time_base == "clock"
                return parse_duration(value) if is_clock else parse_references(value)
        return None if value is None else whole_number(name, value, -_MOST_TIME, _MOST_TIME)

    def blocks(
        self,
        ops: Ops = "reads",
        block_bytes: int | str = 4096,
        vms: str | Sequence[str] | None = None,
        *,
        line: int = 1,
        progress: Callable[[int], object] | None = None,
    ) -> Blocks:
        """Split the requests into blocks: the references that caches and curves are about.

        A request is one reference to every block that it touches; every VM has blocks of its
        own. Whatever takes references takes the trace itself too, for `blocks()` of it: its
        reads, in blocks of 4 KiB.

        Parameters
        ----------
        ops : {'reads', 'all', 'writes'}
            Which requests.
        block_bytes : int or str
            Size of a block, in bytes or as ``'4KiB'``.
        vms : str or sequence of str, optional
            Names of VMs and patterns such as ``'web_*'``; all if not given.
        line : int
            Blocks of a line, for `simulate_lines`.
        progress : callable, optional
            ``progress(requests_done)``.

        Raises
        ------
        ConfigError
            If no request is left, there is no such VM, or an argument is wrong.
        OutOfMemoryError
            If there are more distinct blocks than 32 bits can number.

        Examples
        --------
        >>> trace = mc.Trace.from_arrays([0, 1], [0, 4096], [8192, 4096], op=[0, 1])
        >>> trace.blocks("all").ids.tolist(), trace.blocks("all").ops.tolist()
        ([0, 1, 1], [0, 0, 1])
        """
        from mcsim.traces.blocks import Blocks

        return Blocks.of(self, ops, block_bytes, vms, line=line, progress=progress)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace to a file, which appears whole or not at all.

        Parameters
        ----------
        path : path-like
            ``*.arrow`` is a store as `open` maps it, ``*.parquet`` the same columns in
            Parquet; ``*.csv``, ``*.csv.gz``, ``*.csv.zst`` and ``*.csv.bz2`` are text with
            the same columns. `open` reads all of them back to the same requests.

        Raises
        ------
        ConfigError
            If the path has another ending, or CSV cannot hold the name of a VM.
        HostError
            If the file cannot be written.
        """
        target = file_given("path", path)
        save_trace(target, self._batches, self._metadata)
        return target

    def to_arrow(self) -> pa.Table:
        """Return the columns as a table that shares the trace's memory."""
        schema, batches = schema_of(self._batches)
        return pa.Table.from_batches(list(batches), schema).replace_schema_metadata(
            schema_with(self._metadata, schema).metadata
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns as a pandas frame; VMs are categories, by their names."""
        return self._named_table().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the columns as a Polars frame; VMs are categories, by their names."""
        return polars_frame(self._named_table())

    def _named_table(self) -> pa.Table:
        """Return the columns as a table in which VMs are names, not positions."""
        table = self.to_arrow().replace_schema_metadata(None)
        names = pa.array(self.vms, pa.string())
        chunks = [
            pa.DictionaryArray.from_arrays(positions, names) for positions in table["vm"].chunks
        ]
        named = pa.chunked_array(chunks, pa.dictionary(pa.uint16(), pa.string()))
        return table.set_column(table.schema.get_field_index("vm"), "vm", named)
