"""Hits of each VM in a cache of its own, and in a shared one.

One pass over all references gives the hits of each VM in a shared LRU cache of any size: an access
hits if fewer distinct blocks of all VMs were referenced since the last one of its block than the
cache has. A discarded block leaves every cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import policies as _policies
from mcsim.base.arguments import list_of, text
from mcsim.base.columns import array_given, keys_of
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.sizes import parse_capacities, parse_capacity
from mcsim.base.suggest import check_choice, did_you_mean
from mcsim.base.threads import Pool, threads_given
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import Estimator
from mcsim.locality.hit_units import COLD
from mcsim.locality.measure import HitRatioCurves
from mcsim.locality.vm_discards import (
    VmDiscards,
    discards_by_vm,
    distances_of,
    merged_discards,
    positions_by_vm,
)
from mcsim.references.blocks import Blocks, References
from mcsim.references.given import blocks_in, traces_in
from mcsim.references.objects import SizedObjects, refuse_bytes
from mcsim.references.pieces import Discarded, Piece, vms_of_ids
from mcsim.references.warm_up import check_no_warm_up
from mcsim.traces.batches import Kind
from mcsim.traces.joined import joined_by_vm

Order = Literal["time", "rates"]
"""How references of several VMs follow each other; see `sharing`."""

_MOST_VMS = 2**16
_FEW_VMS = 256
"""The number of VMs from which one pass computes the curves of all."""

SharingReferences: TypeAlias = References | Sequence[Blocks] | Mapping[str, ArrayLike]
"""Traces, or the block numbers of each VM, by its name."""


def sharing(references: SharingReferences, order: Order = "time") -> Sharing:
    """Put the references of VMs in the order in which a cache that they share sees them.

    Parameters
    ----------
    references : Trace, sequence of Trace, Blocks or mapping
        A trace stands for its reads, in blocks of 4 KiB. A mapping has the block numbers of each
        VM by its name; every VM has blocks of its own. With rates also a sequence of Blocks.
    order : {'time', 'rates'}
        ``'time'``: by the times of the requests. ``'rates'``: the references of each VM are
        spread evenly over one and the same length, as if all had been recorded at once; for
        traces of different years, or without a clock. Blocks are discarded halfway between the
        references of their VM. A mapping has no times.

    Raises
    ------
    ConfigError
        As of `Trace.blocks`; if no VM has references, or the order is by time and references
        have no times.

    Examples
    --------
    >>> from mcsim.locality.sharing import sharing
    >>> sharing({"a": [1, 2, 1, 2], "b": [7, 7]}, "rates").vm.tolist()
    [0, 1, 0, 0, 1, 0]
    """
    check_choice("order", order, get_args(Order))
    if isinstance(references, Mapping):
        if order == "time":
            raise ConfigError("order: arrays of block numbers have no times; take order 'rates'")
        named = [
            (text("references: name of a VM", name), *_numbered(keys))
            for name, keys in references.items()
        ]
        return spread(named, None)
    if order == "time":
        blocks = blocks_in(cast(References, references))
        if blocks is None:
            raise _without_vms(references)
        return _by_time(blocks)
    return _spread_blocks(_one_by_one(references))


def _one_by_one(references: References | Sequence[Blocks]) -> list[Blocks]:
    """Split each trace into blocks separately, since their clocks may differ."""
    several = [references] if isinstance(references, Blocks) else references
    if isinstance(several, list | tuple) and all(isinstance(one, Blocks) for one in several):
        for one in several:
            check_no_warm_up(one, "order 'rates'")
        return list(several)
    traces = traces_in(cast(References, references))
    if traces is None:
        raise _without_vms(references)
    return [Blocks.of(trace) for trace in joined_by_vm(traces)]


def _without_vms(references: Any) -> ConfigError:
    """Return the error of an array; raise that of other values, such as paths."""
    array_given(references, "references")
    return ConfigError("references: an array knows no VMs; give traces or a mapping")


def _numbered(keys: ArrayLike) -> tuple[NDArray[np.uint32], int]:
    return _policies.number(keys_of(keys).astype(np.uint64, copy=False))


def _by_time(blocks: Blocks) -> Sharing:
    seen, vm = np.unique(blocks.vm, return_inverse=True)
    all_names = blocks.vms
    names = tuple(all_names[number] for number in seen.tolist())
    numbers = np.zeros(len(all_names), np.uint16)
    numbers[seen] = np.arange(len(seen))
    if isinstance(blocks, SizedObjects):
        from mcsim.locality.sized_sharing import SizedSharing

        return SizedSharing.of_objects(names, vm.astype(np.uint16), blocks)
    discards = None
    if blocks.discarded is not None:
        at, block = blocks.discarded
        discards = VmDiscards(at, block, numbers[vms_of_ids(blocks.accesses, block)])
    ids = blocks.whole_ids
    return Sharing(names, ids, vm.astype(np.uint16), blocks.capacity_unit, discards)


def _spread_blocks(several: Sequence[Blocks]) -> Sharing:
    refuse_bytes(several, "order 'rates'")
    if len(sizes := {of.block_bytes for of in several}) > 1:
        raise ConfigError(
            f"blocks of different sizes share no cache: {', '.join(map(str, sorted(sizes)))} bytes"
        )
    named: list[tuple[str, NDArray[np.uint32], int]] = []
    discards: list[Discarded | None] = []
    for of in several:
        ids = {info.name: (info.first_id, info.unique_blocks) for info in of.accesses.vms}
        for part in of.by_vm():
            first, unique = ids[part.label]
            named.append((part.label, part.whole_ids - np.uint32(first), unique))
            gone = part.discarded
            discards.append(None if gone is None else (gone[0], gone[1] - np.uint64(first)))
    return spread(named, several[0].capacity_unit, discards)


def spread(
    named: Sequence[tuple[str, NDArray[np.uint32], int]],
    block_bytes: int | None = None,
    discards: Sequence[Discarded | None] | None = None,
) -> Sharing:
    """Let reference k of n come at (k + 1/2) / n; at equal times the VM named first does.

    Parameters
    ----------
    named : sequence of (str, ndarray of uint32, int)
        Name, numbered blocks and number of blocks of each VM.
    block_bytes : int, optional
        Size of a block.
    discards : sequence of (ndarray of uint64, ndarray of uint64) or None, optional
        Positions among the references of each VM, and the blocks that are discarded before them.
        The place before reference k is k / n.
    """
    pairs = zip(named, discards or [None] * len(named), strict=True)
    streams = [(*of, gone) for of, gone in pairs if len(of[1])]
    if not streams:
        raise ConfigError("references: no VM has any")
    if len(streams) > _MOST_VMS:
        raise ConfigError(f"references: {len(streams):,} VMs: at most {_MOST_VMS:,}")
    names, ids_of, uniques, discards_of = zip(*streams, strict=True)
    counts = [len(ids) for ids in ids_of]
    places = np.concatenate([(np.arange(count) + 0.5) / count for count in counts])
    first = np.cumsum([0, *uniques])
    if first[-1] >= 2**32:
        raise ConfigError(f"{first[-1]:,} distinct blocks are more than 32 bits can number")
    order = np.argsort(places, kind="stable")
    ids = np.concatenate(
        [ids + np.uint32(begin) for ids, begin in zip(ids_of, first, strict=False)]
    )
    vm = np.repeat(np.arange(len(names), dtype=np.uint16), counts)
    merged = merged_discards(discards_of, first, counts, places[order])
    return Sharing(names, ids[order], vm[order], block_bytes, merged)


@dataclass(frozen=True, eq=False)
class Sharing:
    """References of several VMs in the order in which a cache that they share sees them.

    Attributes
    ----------
    vms : tuple of str
        Their names.
    ids : ndarray of uint32, shape (n,)
        The block of each reference; no two VMs have one together.
    vm : ndarray of uint16, shape (n,)
        VM of each reference, a position in `vms`.
    block_bytes : int, optional
        Size of a block, for sizes in bytes; None for objects and arrays.
    discards : VmDiscards, optional
        Blocks that leave the cache, each before a reference.
    """

    vms: tuple[str, ...]
    ids: NDArray[np.uint32]
    vm: NDArray[np.uint16]
    block_bytes: int | None = None
    discards: VmDiscards | None = None

    def __post_init__(self) -> None:
        if twice := [name for name, count in Counter(self.vms).items() if count > 1]:
            raise ConfigError(f"two VMs are called {twice[0]!r}")

    @property
    def kind(self) -> Kind:
        """Kind of the references."""
        return "objects" if self.block_bytes is None else "blocks"

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def capacity_unit(self) -> int | None:
        """As of `Blocks`."""
        return self.block_bytes

    def __repr__(self) -> str:
        return f"<Sharing of {', '.join(self.vms)}: {len(self):,} references>"

    def without(self, names: Iterable[str]) -> Sharing:
        """Return the same references but for those of some VMs.

        Raises
        ------
        ConfigError
            If there is no such VM, or none is left.
        """
        left = set(names)
        for name in left - set(self.vms):
            raise ConfigError(f"no VM {name!r}{did_you_mean(name, self.vms)}")
        kept = [i for i, name in enumerate(self.vms) if name not in left]
        if not kept:
            raise ConfigError("leaving or joining: no VM is left to share the cache")
        if not left:
            return self
        numbers = np.zeros(len(self.vms), np.uint16)
        numbers[kept] = np.arange(len(kept))
        is_kept = np.isin(np.arange(len(self.vms)), kept)
        stays = is_kept[self.vm]
        discards = None
        if self.discards is not None and is_kept[self.discards.vm].any():
            of_kept = is_kept[self.discards.vm]
            at, block, vm = self.discards.at, self.discards.block, self.discards.vm[of_kept]
            before = np.concatenate(([0], np.cumsum(stays))).astype(np.uint64)
            discards = VmDiscards(before[at[of_kept]], block[of_kept], numbers[vm])
        names = tuple(self.vms[i] for i in kept)
        left_over = Sharing(
            names, self.ids[stays], numbers[self.vm[stays]], self.block_bytes, discards
        )
        return self._kept(left_over, stays)

    def _kept(self, of: Sharing, stays: NDArray[np.bool_]) -> Sharing:
        """Return the references that stay, with what subclasses have of each."""
        return of

    @cached_property
    def positions(self) -> list[NDArray[np.int64]]:
        """Where the references of each VM are, in their order."""
        return positions_by_vm(self.vm, len(self.vms))

    @cached_property
    def unique(self) -> int:
        """Distinct blocks of all."""
        return round(sum(curve.distinct or 0 for curve in self.alone.values()))

    @property
    def whole(self) -> int:
        """The capacity that holds all."""
        return self.unique

    @property
    def capacity_name(self) -> str:
        """Unit of capacities."""
        return "bytes" if self.block_bytes == 1 else self.kind

    @cached_property
    def alone(self) -> HitRatioCurves:
        """Curve of each VM in a cache of its own, by name."""
        if len(self.vms) > _FEW_VMS:
            return self._alone_in_one_pass()
        cores = threads_given(None)
        curves_at_a_time = min(cores, len(self.vms))
        exact = partial(self._curve, threads=cores // curves_at_a_time)
        with Pool(curves_at_a_time) as pool:
            running = [
                pool.submit(exact, self.ids[positions], discards)
                for positions, discards in zip(self.positions, self._own_discards, strict=True)
            ]
        curves = (future.result() for future in running)
        return HitRatioCurves(dict(zip(self.vms, curves, strict=True)), "vm")

    @cached_property
    def together(self) -> HitRatioCurve:
        """Curve of all VMs in one cache."""
        return self._curve(self.ids, self._discarded, threads_given(None))

    @cached_property
    def shared(self) -> HitRatioCurves:
        """Curve of each VM in a shared cache, by name."""
        distances = distances_of(self.ids, self._discarded)
        curves = {
            name: self._curve_of(distances[positions], self.alone[name].distinct)
            for name, positions in zip(self.vms, self.positions, strict=True)
        }
        return HitRatioCurves(curves, "vm")

    def _alone_in_one_pass(self) -> HitRatioCurves:
        """Compute the curves alone from the distances of all VMs, one VM after the other.

        Blocks of one VM never lie between two accesses of another. A hole that one VM leaves lies
        below all blocks of the next VM.
        """
        positions = self.positions
        discards = None
        if self.discards is not None:
            begins = np.cumsum([0, *map(len, positions)])
            own = self._own_discards
            parts = [
                (of[0] + np.uint64(begin), of[1])
                for begin, of in zip(begins, own, strict=False)
                if of is not None
            ]
            at, blocks = (np.concatenate(column) for column in zip(*parts, strict=True))
            discards = (at, blocks)
        ids = self.ids[np.concatenate(positions)]
        distances = np.split(distances_of(ids, discards), np.cumsum([*map(len, positions)])[:-1])
        distinct = np.bincount(self.vm[np.unique(self.ids, return_index=True)[1]])
        curves = map(self._curve_of, distances, distinct.tolist())
        return HitRatioCurves(dict(zip(self.vms, curves, strict=True)), "vm")

    def _curve_of(self, distances: NDArray[np.int64], distinct: float | None) -> HitRatioCurve:
        reached, hits = np.unique(distances[distances != COLD], return_counts=True)
        return HitRatioCurve(
            capacities=np.append(0, reached + 1),
            hits=np.append(0.0, np.cumsum(hits)),
            accesses=len(distances),
            distinct=None if distinct is None else float(distinct),
            block_bytes=self.block_bytes,
        )

    @property
    def _discarded(self) -> Discarded | None:
        return None if self.discards is None else (self.discards.at, self.discards.block)

    @property
    def _own_discards(self) -> list[Discarded | None]:
        return discards_by_vm(self.discards, self.positions)

    def size(self, what: str, given: int | float | str) -> int:
        """Read the size of a cache: blocks, ``'1GiB'``, or ``'10%'`` of the distinct blocks.

        Raises
        ------
        ConfigError
            If it is none, or less than a block; the message begins with `what`.
        """
        with mistakes_in(what):
            return parse_capacity(given, self.whole, self.block_bytes)

    def sizes(self, what: str, given: str | Iterable[int | float | str]) -> list[int]:
        """Read sizes as `size` does, and ``'log(1%, 100%, 13)'``; increasing, each once."""
        with mistakes_in(what):
            return sorted(
                {
                    blocks
                    for size in (
                        [given] if isinstance(given, str) else list_of(what, given, "sizes")
                    )
                    for blocks in parse_capacities(size, self.whole, self.block_bytes)
                }
            )

    def _curve(
        self, ids: NDArray[np.uint32], discards: Discarded | None, threads: int
    ) -> HitRatioCurve:
        stream = Estimator(
            "exact", threads=1 if discards else threads, block_bytes=self.block_bytes
        )
        stream.process_piece(Piece(ids, None, None, discards, None))
        return stream.curve()
