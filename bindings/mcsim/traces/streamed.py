"""Files that are interned while they are read, for commands that replay all of a trace once.

Interned accesses take a fraction of the memory and time of a parsed trace, which is made only if
the command needs requests after all. They are written to the cache once the command has answered.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from mcsim._core import engine
from mcsim._core import trace as _core_trace
from mcsim.base.errors import HostError, TraceError
from mcsim.base.later import do_later
from mcsim.base.limits import memory_limit, thread_faults
from mcsim.traces.batches import Kind
from mcsim.traces.cache import INTERNED, adding, find, is_trusted, mark_used, open_cache
from mcsim.traces.checks import SignCounter
from mcsim.traces.digests import file_digest, file_state, note_path
from mcsim.traces.metadata import Counts, TraceMetadata, read_metadata, write_metadata
from mcsim.traces.parse import LARGE_BYTES, Parse, keep_digest, noted_digest
from mcsim.traces.store import Store
from mcsim.traces.tables import keys_of

_log = logging.getLogger(__name__)

WORTH_KEEPING_S = 0.2
"""Accesses that were made faster are not written to the cache."""


@dataclass(frozen=True)
class View:
    """References of a command: requests of these operations, in blocks of this size."""

    block_bytes: int
    ops: Literal["reads", "all"]
    addresses: bool = False

    def options(self, *, has_lengths: bool) -> dict[str, Any]:
        """Return the view as of `Workload.intern`."""
        view: dict[str, Any] = {
            "block_bytes": self.block_bytes,
            "ops": self.ops,
            "line_blocks": 1,
        }
        more = {"bytes": has_lengths, "addresses": self.addresses}
        return view | {name: True for name, is_kept in more.items() if is_kept}


class Streamed:
    """The requests of a file, as accesses in a view; record batches are parsed on first use.

    Parameters
    ----------
    metadata : TraceMetadata
    view : mapping
        As of `Workload.intern`.
    accesses : Accesses
    plan : Parse
    cache_dir : Path
        Folder of the cache.
    """

    def __init__(
        self,
        metadata: TraceMetadata,
        view: Mapping[str, Any],
        accesses: engine.Accesses,
        plan: Parse,
        cache_dir: Path,
    ) -> None:
        self.metadata, self.view, self.accesses = metadata, view, accesses
        self._plan, self._cache_dir = plan, cache_dir

    @cached_property
    def store(self) -> Store:
        """The parsed trace."""
        store = self._plan.cached_store(self._cache_dir)
        if store.metadata.digest != self.metadata.digest:
            raise TraceError(f"{self._plan.source}: it has changed since it was opened")
        return store

    @property
    def keys(self) -> pa.Array | None:
        """Text keys of the objects by their ids; None if there are none."""
        return self.store.keys

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self.store)

    def __reduce__(self) -> tuple[type[Store], tuple[Path]]:
        return Store, (self.store.path,)


def streamed(plan: Parse, cache_dir: Path, view: View) -> Streamed | None:
    """Intern a large file while it is read, unless that was done before.

    Parameters
    ----------
    plan : Parse
    cache_dir : Path
    view : View

    Returns
    -------
    Streamed or None
        None if the file is small, unsorted or has discards, if it was parsed into a store before,
        or if its accesses take much of the memory.

    Raises
    ------
    TraceError, HostError
        As of `Parse.cached_store`.
    """
    opened = file_state(plan.source)
    if opened[0] < LARGE_BYTES or plan.spool is not None:
        return None
    open_cache(cache_dir)
    note = note_path(cache_dir, plan.source)
    source_digest = noted_digest(note, opened)
    if source_digest is not None:
        digest = plan.digest_of(source_digest)
        for has_lengths in (True, False):
            options = view.options(has_lengths=has_lengths)
            found = _kept(_path(plan, cache_dir, digest, options), digest)
            if found is not None:
                plan.progress(opened[0], opened[0])
                metadata, accesses = found
                return Streamed(metadata, options, accesses, plan, cache_dir)
        if is_trusted(plan.store_path(cache_dir, digest)):
            return None
    began = time.perf_counter()
    with _two_threads() as threads:
        hashed = None
        if source_digest is None:
            hashed = threads.submit(file_digest, plan.source, threads.check)
        read = _read(plan, view, opened[0], threads)
        if hashed is not None:
            source_digest = hashed.result()
    assert source_digest is not None
    plan.check_unchanged(opened, source_digest)
    with suppress(HostError):  # the disk may be full
        keep_digest(note, opened, source_digest)
    if read is None:
        return None
    digest = plan.digest_of(source_digest)
    digests = source_digest, digest
    metadata = plan.describe(read.reader, read.counts, read.signs, read.keys, digests)
    if time.perf_counter() - began > WORTH_KEEPING_S:
        path = _path(plan, cache_dir, digest, read.options)
        do_later(partial(_keep, cache_dir, path, metadata, read.accesses))
        silent = replace(plan, progress=lambda done, total: None)
        do_later(partial(silent.cached_store, cache_dir))  # for commands that read requests
    return Streamed(metadata, read.options, read.accesses, plan, cache_dir)


class _Threads(ThreadPoolExecutor):
    """Two threads; the check is called in their work, and ends it if the block was left early."""

    is_left = False

    def check(self, _done: int) -> None:
        if self.is_left:
            raise InterruptedError


@contextmanager
def _two_threads() -> Iterator[_Threads]:
    threads = _Threads(2)
    try:
        with thread_faults():
            yield threads
    finally:
        threads.is_left = True
        threads.shutdown()


@dataclass
class _Read:
    """A file that was read to its end."""

    reader: Any
    counts: Counts
    signs: SignCounter
    keys: pa.Array | None
    options: dict[str, Any]
    accesses: engine.Accesses


def _read(plan: Parse, view: View, size: int, threads: _Threads) -> _Read | None:
    """Parse a file on a thread, and intern its requests on this one."""
    reader = plan.reader()
    assert isinstance(reader, _core_trace.Reader)
    chunk, spare = _core_trace.Chunk(), _core_trace.Chunk()
    rows = reader.read_into(chunk)
    kind: Kind = reader.kind
    has_lengths = reader.has_lengths
    if kind == "blocks" and not has_lengths:
        return None  # its first requests are checked for shared blocks
    options = view.options(has_lengths=has_lengths)
    key = "object" if kind == "objects" else "aligned"
    interner = engine.StreamInterner(**options, key=key)
    counted = _core_trace.RequestCounts()
    most = memory_limit() // 128
    while rows:
        consumed = reader.consumed
        plan.progress(consumed, size)
        following = threads.submit(reader.read_into, spare)
        counted.add(chunk, kind)
        fits = counted.blocks * size <= most * max(consumed, 1)  # of the whole file, about
        is_plain = fits and interner.add(chunk)
        rows = following.result()
        if not is_plain:
            return None
        chunk, spare = spare, chunk
    if reader.unsorted or (reader.kind, reader.has_lengths) != (kind, has_lengths):
        return None
    accesses = interner.finish(list(reader.vms), reader.time_base)
    counts, signs = Counts.of(counted), SignCounter.of(counted)
    return _Read(reader, counts, signs, keys_of(reader.keys), options, accesses)


def _path(plan: Parse, cache_dir: Path, digest: str, options: Mapping[str, Any]) -> Path:
    """Return the path of the accesses of a file; that of its metadata has another ending."""
    how = json.dumps(["streamed", engine.ACCESSES_VERSION, digest, options], sort_keys=True)
    name = f"{plan.vm_name}-{hashlib.sha256(how.encode()).hexdigest()[:16]}.accesses"
    return cache_dir / INTERNED / name


def _keep(cache_dir: Path, path: Path, metadata: TraceMetadata, accesses: engine.Accesses) -> None:
    """Write accesses and metadata to the cache."""
    with adding(cache_dir, path) as temporary:
        engine.write_accesses(accesses, os.fsencode(temporary), packed=True)
    with adding(cache_dir, path.with_suffix(".metadata")) as temporary:
        write_metadata(temporary, metadata)


def _kept(path: Path, digest: str) -> tuple[TraceMetadata, engine.Accesses] | None:
    """Open accesses in the cache; None if there are none, or not of requests with this digest."""
    beside = path.with_suffix(".metadata")
    try:
        metadata = read_metadata(beside) if is_trusted(beside) else None
    except (OSError, ValueError) as error:
        _log.warning("%s", error)
        return None
    if metadata is None or metadata.digest != digest:
        return None
    mark_used(beside)
    accesses = find(path, engine.open_accesses)
    return None if accesses is None else (metadata, accesses)
