"""The hit ratio curve of LRU while requests arrive: SHARDS on a pipe, in constant memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mcsim._core import trace as _core_trace
from mcsim.base.errors import ConfigError, McsimError, TraceError, mistakes_in
from mcsim.base.suggest import names_listed, names_matching
from mcsim.locality.measure import EstimatorSpec, Measured
from mcsim.traces.batches import DISCARD, Batch, Kind, Ops, batch_with
from mcsim.traces.checks import warn_of_format
from mcsim.traces.mapping import as_declared
from mcsim.traces.pipes import is_pipe, name_of, open_pipe
from mcsim.traces.table_files import table_format

if TYPE_CHECKING:
    from mcsim.traces.open import Reading

SAMPLING = ("shards", "shards-rate")
"""Estimators that need no numbers of blocks: they hash addresses."""

_OPS = {"reads": 0, "writes": 1}
_PIECE = 1 << 20  # references
_VM_BITS = np.uint64(48)
_SECONDS = 0.1


@dataclass(frozen=True)
class Arrived:
    """Requests that came, and what is known of their trace."""

    batch: Batch
    vms: Sequence[str]
    kind: Kind
    skipped: int


class Feed:
    """Requests of a file or pipe, read in a thread, so that Ctrl-C never waits for a producer.

    Parameters
    ----------
    path : Path
    reading : Reading
        As checked.
    vm_name : str, optional
        Name of the VM of a trace without names of VMs.
    """

    def __init__(self, path: Path, reading: Reading, vm_name: str | None = None) -> None:
        self.name = name_of(path)
        self._path = path
        self._reading = reading
        self._vm_name = vm_name
        self._queue: Queue[Arrived | BaseException | None] = Queue(1)
        self._over = threading.Event()
        if not is_pipe(path) and path.is_file() and table_format(path):
            raise ConfigError(f"{self.name}: a table; mcsim mrc --estimator shards reads it")
        threading.Thread(target=self._run, name="feed", daemon=True).start()

    def __iter__(self) -> Iterator[Arrived | None]:
        """Yield requests, and None whenever none came for a while, up to the end.

        Raises
        ------
        ConfigError, HostError, TraceError
            As of `Trace.open`, after the requests before the error.
        """
        while True:
            try:
                arrived = self._queue.get(timeout=_SECONDS)
            except Empty:
                yield None
                continue
            if arrived is None:
                return
            if isinstance(arrived, BaseException):
                raise arrived
            yield arrived

    def stop(self) -> None:
        """Stop reading; the thread ends with the next requests."""
        self._over.set()

    def _run(self) -> None:
        try:
            for arrived in self._read():
                self._put(arrived)
            self._put(None)
        except Exception as error:
            self._put(error)

    def _put(self, value: Arrived | BaseException | None) -> None:
        while not self._over.is_set():
            try:
                return self._queue.put(value, timeout=_SECONDS)
            except Full:
                continue

    def _read(self) -> Iterator[Arrived]:
        pipe = _core_trace.Pipe(open_pipe(self._path), os.fsencode(self.name))
        format = self._reading.format
        if format is None:
            detected = pipe.detect_format()
            warn_of_format(self.name, detected)
            format = detected.name
        options = as_declared(format, self._reading.options or {})
        reader = pipe.read(format, options, self._reading.on_bad_line == "skip")
        vms: Sequence[str] = ()
        while not self._over.is_set() and (columns := reader.next()) is not None:
            batch = batch_with(columns)
            if int(batch.vm.max()) >= len(vms):
                vms = self._named(reader)
            yield Arrived(batch, vms, reader.kind, reader.rows.skipped)

    def _named(self, reader: _core_trace.Reader) -> Sequence[str]:
        if self._vm_name is None:
            return tuple(reader.vms)
        if reader.names_vms:
            raise ConfigError(f"vm_name: {self.name}: its format names VMs")
        return (self._vm_name,)


@dataclass
class Watched:
    """The curve of what came so far, which `Curves` of commands print.

    Parameters
    ----------
    spec : EstimatorSpec
        One of `SAMPLING`.
    seed : int
    ops : {'reads', 'all', 'writes'}
    block_bytes : int
    chosen : sequence of str, optional
        Names or patterns of VMs; all if not given.

    Raises
    ------
    ConfigError
        If it is another estimator.
    """

    spec: EstimatorSpec
    seed: int
    ops: Ops
    block_bytes: int
    chosen: Sequence[str] | None = None

    came: int = 0
    """Requests, also those that do not count."""
    requests: int = 0
    discards: int = 0
    skipped: int = 0
    kind: Kind = "blocks"
    begun: float = field(default_factory=time.monotonic)
    seen: Sequence[str] = ()
    _kept: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if self.spec.name not in SAMPLING:
            raise ConfigError(
                f"{self.spec.name}: needs all blocks in memory; expected {' or '.join(SAMPLING)}"
            )
        self._estimator = self.spec.make(seed=self.seed, threads=1, block_bytes=self.block_bytes)

    def add(self, arrived: Arrived) -> None:
        """Count requests. Discards are ignored, and so the curve has no band."""
        self.kind = arrived.kind
        self.skipped = arrived.skipped
        if arrived.vms is not self.seen:
            self.seen = arrived.vms
            if self.chosen is not None:
                self._kept = _mask(self.chosen, self.seen)
        batch = arrived.batch
        self.came += len(batch.op)
        self.discards += int(np.count_nonzero(batch.op == DISCARD))
        kept = batch.op != DISCARD if self.ops == "all" else batch.op == _OPS[self.ops]
        if self._kept is not None:
            kept = kept & self._kept[batch.vm]
        if not kept.all():
            batch = batch.where(kept)
        self.requests += len(batch.op)
        for keys in keys_of(batch, self.kind, self.block_bytes):
            self._estimator.process(keys)

    def measured(self, label: str) -> Measured:
        """Return the curve, and what it took."""
        curve = self._estimator.curve()
        if self.discards:
            ignored = f"{self.discards:,} discards ignored"
            note = f"{curve.note}; {ignored}" if curve.note else ignored
            curve = replace(curve, low=None, high=None, note=note)
        return Measured(label, curve, time.monotonic() - self.begun, self._estimator.bytes)

    def __len__(self) -> int:
        return self._estimator.references

    @property
    def unique(self) -> int:
        """Distinct blocks, as estimated."""
        return round(self._estimator.distinct)

    @property
    def vms(self) -> Sequence[str]:
        """Names of the VMs that are counted."""
        if self._kept is None:
            return self.seen
        return [name for name, kept in zip(self.seen, self._kept, strict=True) if kept]

    @property
    def capacity_unit(self) -> int | None:
        """Bytes of a block; None for objects."""
        return None if self.kind == "objects" else self.block_bytes


def watch(
    feed: Feed,
    watched: Watched,
    is_over: Callable[[], bool] = lambda: False,
    between: Callable[[], object] = lambda: None,
) -> McsimError | None:
    """Count what a feed has, until it ends, fails, or `is_over`; return the error, if any.

    Parameters
    ----------
    between : callable
        Called after every batch, and several times a second.

    Raises
    ------
    McsimError
        If the feed fails before any request came.
    ConfigError
        If no VM has a name that was chosen.
    TraceError
        If no request came that counts.
    """
    failure: McsimError | None = None
    try:
        for arrived in feed:
            if is_over():
                break
            if arrived is not None:
                watched.add(arrived)
            between()
    except McsimError as error:
        if not len(watched):
            raise
        failure = error
    finally:
        feed.stop()
    if not len(watched):
        if watched.chosen is not None:
            with mistakes_in("vms"):
                listed = names_listed(",".join(watched.chosen), watched.seen)
                names_matching(listed, watched.seen)
        raise TraceError(f"{feed.name}: no {watched.ops} came, of {watched.came:,} requests")
    return failure


def keys_of(batch: Batch, kind: Kind, block_bytes: int) -> Iterator[NDArray[np.uint64]]:
    """Yield a key for each reference of requests: its VM, and its block or object.

    Keys are unique below 2^48 blocks a VM, and beyond that as far as 64 bits go.
    """
    first = batch.vm.astype(np.uint64) << _VM_BITS
    if kind == "objects":
        yield first + batch.offset
        return
    if not batch.length.all():
        batch = batch.where(batch.length != 0)
        first = batch.vm.astype(np.uint64) << _VM_BITS
    last_byte = batch.offset + (batch.length - np.uint32(1))
    if (last_byte < batch.offset).any():
        at = int(np.argmax(last_byte < batch.offset))
        raise TraceError(f"offset {batch.offset[at]} + length {batch.length[at]} is beyond 2^64")
    begin = batch.offset // np.uint64(block_bytes)
    counts = (last_byte // np.uint64(block_bytes) - begin + np.uint64(1)).astype(np.int64)
    first += begin
    if (counts == 1).all():
        yield first
        return
    ends = np.cumsum(counts)
    for start in range(0, int(ends[-1]), _PIECE):
        stop = min(start + _PIECE, int(ends[-1]))
        rows = slice(
            int(np.searchsorted(ends, start, side="right")),
            int(np.searchsorted(ends, stop - 1, side="right")) + 1,
        )
        begins = ends[rows] - counts[rows]
        parts = np.minimum(ends[rows], stop) - np.maximum(begins, start)
        base = first[rows] - begins.view(np.uint64)
        yield np.repeat(base, parts) + np.arange(start, stop, dtype=np.uint64)


def _mask(chosen: Sequence[str], vms: Sequence[str]) -> NDArray[np.bool_]:
    """Return which VMs are chosen; a word that matches none may match a later one."""
    words = names_listed(",".join(chosen), vms)
    excluded = [word for word in words if word.startswith("!") and word not in vms]
    included = [word for word in words if word not in excluded]
    kept = _matching(included or ["all"], vms)
    kept -= _matching([word[1:] for word in excluded], vms)
    return np.array([name in kept for name in vms], np.bool_)


def _matching(words: Sequence[str], vms: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for word in words:
        with suppress(ConfigError):
            found.update(names_matching(word, vms))
    return found
