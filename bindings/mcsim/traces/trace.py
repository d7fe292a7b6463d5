"""Traces: recorded requests, parsed once into an Arrow store and mapped from there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mcsim.base.arguments import file_given, whole_number
from mcsim.traces.batches import Batch, ByVm, Kind, Ops, batch_of, keys_in
from mcsim.traces.find import default_trace_dirs, files_of, paths_given
from mcsim.traces.info import TraceInfo, info_of
from mcsim.traces.joined import Joined, join
from mcsim.traces.made import OnBadLine, OnUnsorted
from mcsim.traces.metadata import OptionValue, TimeBase, TraceMetadata
from mcsim.traces.open import Reading, open_files
from mcsim.traces.parse import Progress
from mcsim.traces.slices import Sliceable
from mcsim.traces.store import Store
from mcsim.traces.streamed import Streamed

if TYPE_CHECKING:
    from mcsim._core import engine
    from mcsim.references.blocks import Blocks

_FEW_VMS = 8
"""Up to this number of VMs, a pass for each is faster than sorting."""


class Trace(Sliceable):
    """Requests of one or more VMs, in the order of time.

    A trace opened from a file is mapped into memory, not loaded: its size is not
    bounded by that of the memory. Traces are immutable; every method that
    changes something returns another trace. Make one with `open`, `from_arrow`,
    `from_pandas`, `from_polars`, `from_arrays` or `slice`.
    """

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        format: str | None = None,
        options: Mapping[str, OptionValue] | None = None,
        mapping: str | os.PathLike[str] | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        on_bad_line: OnBadLine = "error",
        on_unsorted: OnUnsorted = "sort",
        max_skipped: int | float | str | None = None,
        vm_name: str | None = None,
        progress: Progress | None = None,
    ) -> Trace:
        """Open trace files, parsing those that were not parsed before, and join them.

        Parameters
        ----------
        path : path-like or sequence of path-like
            A trace in any of `trace_formats`; text plain or compressed (gzip, zstd, xz,
            bzip2). Files that `save` wrote open without options. Extensions may be left out.
            Folders in ``$MCSIM_TRACE_DIR`` are searched as well: ``"web_3"`` opens
            ``msr/web_3.csv.zst`` in such a folder. A folder, a pattern such as
            ``"2016*-LUN4.csv.gz"`` or a sequence opens several files and joins them, as `join`
            does.
        format : str, optional
            Name of the format; by default found out from the content.
        options : mapping, optional
            The format's own parameters; sizes may have units, as in ``4KiB``.
        mapping : path-like, optional
            A YAML file with ``format`` and parameters, as ``mcsim trace info
            --save`` writes it; other arguments override it.
        cache_dir : path-like, optional
            Where parsed traces are kept; by default ``$MCSIM_CACHE_DIR``, else
            ``mcsim/traces`` in the user's cache folder.
        on_bad_line : {'error', 'skip'}
            Whether a line that contradicts the format stops the reading, or is left
            out and counted in `metadata`.
        on_unsorted : {'error', 'sort'}
            Whether a request earlier than the one before it stops the reading, or all
            are put in order, equal times as they stand in the file.
        max_skipped : int, float or str, optional
            With ``on_bad_line='skip'``: how many lines may be left out, as a number (``500``) or a
            share of all (``0.05`` or ``'5%'``). By default 10, or 1 % if that is more.
        vm_name : str, optional
            Name of the VM of files without names of VMs, which are then one VM; by default each
            has its file's name.
        progress : callable, optional
            ``progress(done_bytes, total_bytes)``. Hashing and parsing each count
            the size of the file.

        Returns
        -------
        Trace
            All requests in the order of time.

        Raises
        ------
        TraceError
            If the file contradicts its format (the message names file and line), is
            damaged, or has no known format.
        ConfigError
            If there is no such file, format or parameter, or several files match a name, or it is
            a terminal or another device; if `vm_name` is given and a file names
            its VMs; as of `join`.
        HostError
            If the file cannot be read or the store not written.

        Examples
        --------
        >>> path = mc.Trace.from_arrays([0, 5], [0, 4096], 4096, vms=["db"]).save("db.csv")
        >>> mc.Trace.open(path).vms
        ('db',)
        """
        reading = Reading(
            format, options, mapping, cache_dir, on_bad_line, on_unsorted, max_skipped
        )
        files = files_of(paths_given("path", path), default_trace_dirs())
        return open_files(files, reading, vm_name, progress)

    @classmethod
    def join(cls, traces: Sequence[Trace]) -> Trace:
        """Join traces: VMs with the same name become one VM, and requests are merged by time.

        Functions that take several traces do the same. Without a clock, a trace continues after
        the earlier ones that have one of its VMs.

        Parameters
        ----------
        traces : sequence of Trace
            One or more, of one kind and each with or each without a clock.

        Returns
        -------
        Trace
            VMs in the order of their first trace; requests are merged anew at every use.

        Raises
        ------
        ConfigError
            If some traces have a clock and others do not, or one is given twice.

        Examples
        --------
        >>> hours = [mc.Trace.from_arrays([hour], [0], 4096, vms=["db"]) for hour in (0, 3600)]
        >>> mc.Trace.join(hours).vms, mc.Trace.join(hours).blocks().unique
        (('db',), 1)
        """
        return join(traces)

    def __repr__(self) -> str:
        meta = self._metadata
        return (
            f"<Trace {meta.source}: {len(meta.vms)} VMs, {meta.counts.requests:,} requests, "
            f"{meta.counts.blocks:,} blocks>"
        )

    @property
    def metadata(self) -> TraceMetadata:
        """Facts about the trace other than its requests."""
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
    def keys(self) -> pa.Array | None:
        """Text keys of the objects, by their ids in `Batch.offset`; None if keys are numbers."""
        if not self._metadata.keys_digest:
            return None
        if isinstance(self._batches, (Store, Joined, Streamed)):
            return self._batches.keys
        first = next(iter(self._batches), None)
        return None if first is None else keys_in(first)

    @property
    def kind(self) -> Kind:
        """``'blocks'`` of devices, or whole ``'objects'`` with keys."""
        return self._metadata.kind

    @property
    def request_count(self) -> int:
        """Number of reads and writes."""
        return self._metadata.counts.requests

    @property
    def store_path(self) -> Path | None:
        """The Arrow file behind the trace, if there is one."""
        store = self._batches.store if isinstance(self._batches, Streamed) else self._batches
        return store.path if isinstance(store, Store) else None

    def streamed_accesses(self, view: Mapping[str, Any]) -> engine.Accesses | None:
        """Return the accesses of all VMs if the file was interned for a view as it was read.

        Parameters
        ----------
        view : mapping
            Size of blocks, operations and columns, as `Blocks.of` requests them.

        Returns
        -------
        Accesses or None
            None if the file was not interned, or for another view.
        """
        if isinstance(self._batches, Streamed) and self._batches.view == view:
            return self._batches.accesses
        return None

    def batches(self) -> Iterator[Batch]:
        """Yield the columns of the requests in the order of time.

        Yields
        ------
        Batch
            Arrays of some 10^6 requests, as views without a copy.

        Examples
        --------
        >>> trace = mc.Trace.from_arrays([0, 5], [0, 4096], 4096, op=[0, 1])
        >>> sum(int((batch.op == 1).sum()) for batch in trace.batches())
        1
        """
        for record_batch in self._batches:
            yield batch_of(record_batch)

    def batches_with(self, vm: int) -> Iterator[Batch]:
        """Yield columns that have all requests of one VM, in their order.

        Parameters
        ----------
        vm : int
            Position of the VM in `vms`.

        Yields
        ------
        Batch
            As of `batches`. Requests of other VMs are among them unless `has_many_vms`.
        """
        if isinstance(self._batches, Joined):
            yield from self._batches.batches_with(vm)
        elif self.has_many_vms:
            yield from self._by_vm.batches_of(vm)
        else:
            yield from self.batches()

    @property
    def has_many_vms(self) -> bool:
        """Whether `batches_with` has the requests of one VM alone."""
        return len(self.vms) > _FEW_VMS or isinstance(self._batches, Joined)

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

        Returns
        -------
        TraceInfo
            Counts, sizes and times of each VM and of all together.

        Raises
        ------
        ConfigError
            If `block_bytes` is not a whole number from 1 to 2^32 - 1.

        Examples
        --------
        >>> total = mc.Trace.from_arrays([0, 5], [0, 0], 4096, op=[0, 1]).info().total
        >>> total.requests, total.unique_blocks, total.write_share
        (2, 1, 0.5)
        """
        return info_of(self, whole_number("block_bytes", block_bytes, -(2**63)), progress)

    def blocks(
        self,
        ops: Ops = "reads",
        block_bytes: int | str = 4096,
        vms: str | Sequence[str] | None = None,
        *,
        line: int = 1,
        warm_up: str | Trace | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> Blocks:
        """Split the requests into blocks: the references that caches and curves are about.

        A request is one reference to every block that it touches; every VM has blocks of its
        own. Functions of references also accept a trace: its reads, in blocks of 4 KiB.

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
        warm_up : str or Trace, optional
            Requests that are replayed without being counted: the first ``'1h'``, or
            ``'50000 references'`` without a clock, or another trace before this one.
        progress : callable, optional
            ``progress(requests_done)``.

        Returns
        -------
        Blocks
            References in the order of time, blocks of a request in the order of addresses.

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
        from mcsim.references.blocks import Blocks

        return Blocks.of(self, ops, block_bytes, vms, line=line, warm_up=warm_up, progress=progress)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        block_bytes: int | str | None = None,
    ) -> Path:
        """Write the trace to a file, which appears whole or not at all.

        A warning is logged for each thing that the format cannot hold (`mcsim.exchange.written`).

        Parameters
        ----------
        path : path-like
            ``*.arrow`` is a store as `open` maps it, ``*.parquet`` the same columns in
            Parquet; ``*.csv``, ``*.csv.gz``, ``*.csv.zst`` and ``*.csv.bz2`` are text with
            the same columns. `open` reads all of them back to the same requests.
            ``*.oracleGeneral``, ``*.oracleGeneral.bin`` and ``*.lcs``, also with ``.zst``, are
            libCacheSim's, with the next access of each record.
        format : str, optional
            ``'arrow'``, ``'parquet'``, ``'csv'``, ``'oracle-general'`` or ``'lcs'``; by default the
            end of the path selects it.
        block_bytes : int or str, optional
            Size of the blocks that are the objects of libCacheSim's formats; by default 4 KiB, or
            the size of the blocks that `misses` replayed.

        Returns
        -------
        Path
            `path`.

        Raises
        ------
        ConfigError
            If the path has another ending, CSV cannot hold the name of a VM, or the times of
            libCacheSim's formats cannot hold the span of the trace.
        HostError
            If the file cannot be written.
        """
        from mcsim.exchange.written import save_trace

        target = file_given("path", path)
        save_trace(target, self._batches, self._metadata, format, block_bytes)
        return target
