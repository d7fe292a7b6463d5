"""References: the blocks that requests touch.

All functions of references take a `Trace`, which stands for its `Trace.blocks`, several traces,
`Blocks`, or an array of block numbers.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeVar, Union, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mcsim._core import engine
from mcsim._core import policies as _policies
from mcsim.base.arguments import shortened, whole_number
from mcsim.base.errors import ConfigError, NoReferencesError
from mcsim.base.suggest import check_choice
from mcsim.references import pieces
from mcsim.references.interned import interned, many_accesses, reduced_accesses
from mcsim.references.pieces import Discarded, Discards, Piece, bytes_of_block
from mcsim.references.warm_up import check_no_warm_up, first_counted, warmed_up
from mcsim.references.workload import Workload, vms_of
from mcsim.traces.batches import Kind, Ops

if TYPE_CHECKING:
    from mcsim.traces.trace import Trace

Number = TypeVar("Number", bound=np.generic)

References: TypeAlias = Union["Trace", Sequence["Trace"], "Blocks", ArrayLike]
"""A trace or several, which stand for their reads in blocks of 4 KiB; blocks; or an array."""

copyreg.pickle(engine.Accesses, reduced_accesses)


@dataclass(frozen=True, eq=False)
class Blocks:
    """References to blocks: requests of VMs in the order of time, each split into its blocks.

    Every VM has blocks of its own. Made by `Trace.blocks`, or by `Blocks.of` of several traces;
    a column is computed on first use.

    Attributes
    ----------
    label : str
        Description for people.
    """

    label: str
    workload: Workload
    ops_kept: Ops
    accesses: engine.Accesses
    """All of the workload, as the core holds them."""
    requests: slice | NDArray[np.int64]
    """Positions of the requests, among those of `accesses`."""
    discards: Discards
    """Blocks that are discarded, each before one of these requests."""
    first_counted: int = 0
    """Position among those of `accesses` of the first request that is not of the warm-up."""

    @classmethod
    def of(
        cls,
        traces: Trace | Sequence[Trace],
        ops: Ops = "reads",
        block_bytes: int | str = 4096,
        vms: str | Sequence[str] | None = None,
        *,
        line: int = 1,
        warm_up: str | Trace | None = None,
        addresses: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> Blocks:
        """Split the requests of one or more traces into blocks, merged by time.

        Parameters
        ----------
        traces : Trace or sequence of Trace
            VMs with the same name in several are one VM, as after `Trace.join`.
        ops, block_bytes, vms, line, warm_up, progress
            As of `Trace.blocks`.
        addresses : bool
            Whether to keep the addresses of blocks, 8 bytes each.

        Returns
        -------
        Blocks
            References of all VMs in the order of time.

        Raises
        ------
        ConfigError, OutOfMemoryError
            As of `Trace.blocks` and of `Trace.join`.
        """
        from mcsim.traces.trace import Trace

        several = list(traces) if isinstance(traces, Sequence) else [traces]
        if not several or not all(isinstance(trace, Trace) for trace in several):
            raise ConfigError(f"traces: expected one Trace or several, got {shortened(traces)}")
        check_choice("ops", ops, get_args(Ops))
        line = whole_number("line", line, 1, 2**32 - 1)
        workload = Workload(vms_of(several, ops, vms), synthetic=False)
        if isinstance(warm_up, Trace):
            workload = warmed_up(workload, vms_of([warm_up], ops, vms), ops)
        view = {
            "block_bytes": bytes_of_block("block_bytes", block_bytes),
            "ops": "reads" if ops == "reads" else "all",
            "line_blocks": line,
        }
        if not workload.without_lengths():
            view["bytes"] = True
        if addresses:
            view["addresses"] = True
        accesses = interned(workload, view, progress, at_least=many_accesses())
        if accesses.access_count == 0:
            what = {"reads": "reads (try ops all)", "all": "requests"}
            sources = ", ".join(trace.metadata.source for trace in several)
            raise NoReferencesError(f"{sources}: there are no {what.get(ops, ops)}")
        label = ", ".join(trace.metadata.source.partition(".")[0] for trace in several)
        requests = slice(0, accesses.request_count)
        first = first_counted(accesses, warm_up if isinstance(warm_up, str) else None)
        return cls(label, workload, ops, accesses, requests, Discards.of(accesses), first)

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return self.accesses.access_count if self.is_whole else int(self.lengths.sum())

    def __repr__(self) -> str:
        what = {"all": "reads and writes"}.get(self.ops_kept, self.ops_kept)
        vms = f"{len(self.vms)} VM{'s' if len(self.vms) > 1 else ''}"
        size = "" if self.kind == "objects" else f" of {self.block_bytes:,} bytes"
        return (
            f"<Blocks of {self.label}: {vms}, {what}, {len(self):,} references to "
            f"{self.unique:,} {self.kind}{size}>"
        )

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.uint32]:
        """Return `ids`."""
        return np.array(self.ids, dtype, copy=copy)

    @cached_property
    def ids(self) -> NDArray[np.uint32]:
        """The block of each reference, a number below `unique`; shape (n,), read-only."""
        return self.numbered[0]

    @property
    def unique(self) -> int:
        """Distinct blocks; of lines, all the blocks that they have."""
        return self.numbered[1]

    @cached_property
    def ops(self) -> NDArray[np.uint8]:
        """0 for a read, 1 for a write; shape (n,), read-only."""
        return self._per_reference(self.accesses.request_op)

    @cached_property
    def times(self) -> NDArray[np.int64] | None:
        """When each reference was, in ns; shape (n,), read-only. None without a clock."""
        return self._per_reference(self.accesses.request_time) if self.has_clock else None

    @cached_property
    def vm(self) -> NDArray[np.uint16]:
        """The VM of each reference, a position in `vms`; shape (n,), read-only."""
        return self._per_reference(self.accesses.request_vm)

    @property
    def vms(self) -> tuple[str, ...]:
        """Names of all VMs of the workload."""
        return tuple(vm.name for vm in self.workload.vms)

    @property
    def block_bytes(self) -> int:
        """Size of a block, in bytes."""
        return self.accesses.block_bytes

    @property
    def kind(self) -> Kind:
        """``'blocks'``, or ``'objects'``, which have keys and no addresses."""
        return self.workload.kind

    @property
    def capacity_unit(self) -> int | None:
        """Bytes of a block, for capacities in bytes; None for objects."""
        return None if self.kind == "objects" else self.block_bytes

    @property
    def line(self) -> int:
        """Blocks of a line (see `simulate_lines`)."""
        return self.accesses.line_blocks

    @property
    def has_clock(self) -> bool:
        """Whether requests have times in ns, and not positions in a stream of references."""
        return self.accesses.time_base == "clock"

    @property
    def is_whole(self) -> bool:
        """Whether they are all references of the workload."""
        return isinstance(self.requests, slice)

    @cached_property
    def numbered(self) -> tuple[NDArray[np.uint32], int]:
        """Return the blocks, numbered from 0 on, and how many numbers there are."""
        if self.is_whole:
            return self.accesses.ids, self.accesses.id_count
        return _policies.number(self.whole_ids.astype(np.uint64))

    @property
    def whole_ids(self) -> NDArray[np.uint32]:
        """The block of each reference, by its number in the whole workload."""
        return pieces.ids_of(self.accesses, self.positions, self.lengths)

    @cached_property
    def bytes_per_reference(self) -> int | None:
        """Bytes of each reference, if each is a request and all are equal; None otherwise."""
        if len(self) != len(self.positions):
            return None
        return pieces.equal_bytes(self.accesses.request_bytes, self._some_positions())

    @property
    def warm_up(self) -> int:
        """How many of the references only fill the caches, the first ones."""
        if self.is_whole:
            return int(self.accesses.request_begin[self.first_counted])
        before = self.positions[: np.searchsorted(self.positions, self.first_counted)]
        return int(self._lengths_of(before).sum())

    def split_at_warm_up(self) -> tuple[Blocks, Blocks]:
        """Split the references where the warm-up ends.

        Returns
        -------
        before, after : Blocks
            Those of the warm-up, and those that are counted; either may be empty.
        """
        positions = self.positions
        at = int(np.searchsorted(positions, self.first_counted))
        both = zip((positions[:at], positions[at:]), self.discards.cut(positions, at), strict=True)
        before, after = (replace(self, requests=p, discards=d, first_counted=0) for p, d in both)
        return before, after

    def by_vm(self) -> list[Blocks]:
        """Split the references by VM.

        Returns
        -------
        list of Blocks
            One for each VM that has references, in the order of `vms`; labels are their names.
        """
        parts = [self._part(*part) for part in pieces.parts_by_vm(self)]
        return [part for part in parts if len(part)]

    def of_reads(self) -> Blocks:
        """Select the references that read.

        Returns
        -------
        Blocks
            References as if there were no writes.
        """
        positions = self.positions
        return self._part(self.label, positions[self.accesses.request_op[positions] == 0])

    def written_around(self) -> Blocks:
        """Select the references that read; writes discard blocks, as around a cache.

        Returns
        -------
        Blocks
            Reads, and in `discarded` the blocks that each write touches.
        """
        positions = self.positions
        is_read = self.accesses.request_op[positions] == 0
        writes = positions[~is_read]
        discards = self.discards.with_writes(self.accesses, writes, self._lengths_of(writes))
        return self._part(self.label, positions[is_read], discards)

    def by_interval(
        self, interval: str, label_of: Callable[[int], str] | None = None
    ) -> list[Blocks]:
        """Split the references by time.

        Parameters
        ----------
        interval : str
            Such as ``'1h'``, or ``'50000 references'`` without a clock.
        label_of : callable, optional
            Returns the label of the interval that begins so long after the first request; by
            default that length, in ns or references.

        Returns
        -------
        list of Blocks
            One for each interval, in order; adjacent intervals without references have one.

        Raises
        ------
        ConfigError
            If the interval is none, or of another kind than the times, or there is a warm-up.
        """
        check_no_warm_up(self, "intervals, each of which begins with an empty cache")
        length = pieces.interval_length(interval, has_clock=self.has_clock)
        positions = self.positions
        return [
            self._part((label_of or str)(k * length), positions[begin:end])
            for k, begin, end in pieces.cuts_of(positions, self.accesses.request_time, length)
        ]

    def pieces(self) -> Iterator[Piece]:
        """Yield the references in parts that fit into memory.

        Yields
        ------
        Piece
            About 10^6 references; blocks have the numbers that they have in the whole workload.
        """
        discards = self.discards
        for positions in self._some_positions():
            all_lengths = self._lengths_of(positions)
            ends = np.cumsum(all_lengths)
            first = 0
            while first < len(positions):
                done = ends[first - 1] if first else 0
                last = max(int(np.searchsorted(ends, done + pieces.PIECE, side="right")), first + 1)
                chosen = positions[first:last]
                lengths = all_lengths[first:last]
                times = self.accesses.request_time
                discarded, discards = discards.split(chosen, ends[first:last] - done)
                yield Piece(
                    pieces.ids_of(self.accesses, chosen, lengths),
                    np.repeat(times[chosen], lengths) if self.has_clock else None,
                    np.repeat(self.accesses.request_op[chosen], lengths),
                    discarded,
                    pieces.shapes_of(self.accesses, chosen, lengths),
                )
                # For example, of a trace larger than memory.
                self.accesses.passed(int(chosen[0]), int(chosen[-1]))
                first = last

    @cached_property
    def discarded(self) -> Discarded | None:
        """Positions among the references, and the blocks that are discarded before them."""
        if not len(self.positions):
            return None
        return self.discards.split(self.positions, np.cumsum(self.lengths))[0]

    def _part(
        self, label: str, requests: NDArray[np.int64], discards: Discards | None = None
    ) -> Blocks:
        kept = (self.discards if discards is None else discards).among(requests)
        return replace(self, label=label, requests=requests, discards=kept)

    @property
    def positions(self) -> NDArray[np.int64]:
        """Positions of the requests, among those of `accesses`."""
        of = self.requests
        return np.arange(of.start, of.stop) if isinstance(of, slice) else of

    def _some_positions(self) -> Iterator[NDArray[np.int64]]:
        """Yield the positions of about 10^6 requests at a time."""
        yield from pieces.some_positions(self.requests)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many blocks each request has."""
        begin = self.accesses.request_begin.view(np.int64)
        return begin[1:] - begin[:-1] if self.is_whole else self._lengths_of(self.positions)

    def _lengths_of(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        begin = self.accesses.request_begin.view(np.int64)
        return begin[positions + 1] - begin[positions]

    def _per_reference(self, column: NDArray[Number]) -> NDArray[Number]:
        if self.is_whole and pieces.have_one_block_each(self.accesses):
            return column
        values = np.repeat(column[self.requests], self.lengths)
        values.flags.writeable = False
        return values
