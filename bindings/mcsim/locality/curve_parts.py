"""The curves of one piece of a stream: of all VMs, and of each VM or interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from mcsim._core import locality as _locality
from mcsim.base.errors import ConfigError
from mcsim.base.specs import ParamValue, as_declared, declared_by, parse_spec
from mcsim.locality.curve_discards import Ranges, VmDiscards, all_ranges, ranges_of_vm
from mcsim.references import pieces
from mcsim.references.block_keys import keys_for

if TYPE_CHECKING:
    from mcsim.references.blocks import Blocks

ALL = ""
"""Label of the curve of all VMs, which share a cache."""

VM_BITS = 48

_GROUPED = ("first", "last")

Partial = _locality.PartialCurve | _locality.PartialSample


class Ends(TypedDict):
    """Whether nothing precedes a piece, and whether nothing follows it."""

    starts: bool
    ends: bool


@dataclass(frozen=True)
class _Part:
    """References of a piece: `ids` are positions in `keys`."""

    blocks: Blocks | None
    ids: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    discards: Ranges | None = None


def curves_of(
    blocks: Blocks | None,
    vms: Sequence[str],
    discards: Mapping[str, VmDiscards],
    facts: Mapping[str, Any],
    ends: Ends,
) -> dict[str, Partial]:
    """Compute the curves of a piece, by VM or by number of interval, and `ALL`.

    Parameters
    ----------
    blocks : Blocks, optional
        The references, with addresses of blocks; None if there are none.
    vms : sequence of str
        VMs of the piece, in the order of their numbers.
    discards : mapping of str to VmDiscards
        Discards of each VM that has any.
    facts : mapping
        As of `CurvePiece`.
    ends : Ends
        Whether the piece is the first, or the last one.
    """
    is_sampled = facts["estimator"] != "exact"
    if is_sampled and discards:
        raise ConfigError(
            f"{next(iter(discards))}: it has discards, and shards-rate counts the references after "
            "them, of blocks that pieces have no sample of: not in pieces"
        )
    numbers: dict[str, NDArray[np.uint64]] = {}
    key_of, ids = np.empty(0, np.uint64), _NO_BLOCKS
    if blocks is not None:
        numbers, key_of = _keys_of(blocks, is_sampled=is_sampled)
        ids = blocks.accesses.ids
    whole = _Part(blocks, ids, key_of, all_ranges(blocks, vms, discards, VM_BITS))
    curves = {ALL: _analysed(whole, facts, ends)}
    if facts["by"] == "vm":
        for vm, part in _by_vm(blocks, vms, discards, numbers):
            curves[vm] = _analysed(part, facts, ends)
    elif facts["by"] == "interval":
        parts = list(_by_interval(whole, facts))
        for at, (label, part) in enumerate(parts):
            of_part = Ends(
                starts=ends["starts"] or at > 0, ends=ends["ends"] or at < len(parts) - 1
            )
            curves[label] = _analysed(part, facts, of_part)
    return curves


def nothing(facts: Mapping[str, Any], ends: Ends) -> Partial:
    """Return the curve of a piece without references."""
    return _analysed(_Part(None, _NO_BLOCKS, np.empty(0, np.uint64)), facts, ends)


def merged(left: Partial, right: Partial) -> Partial:
    """Return the curve of a piece and of the next one."""
    if isinstance(left, _locality.PartialSample):
        assert isinstance(right, _locality.PartialSample)
        return _locality.merge_samples(left, right)
    assert isinstance(right, _locality.PartialCurve)
    return _locality.merge_curves(left, right)


def from_columns(
    columns: dict[str, NDArray[Any]], numbers: dict[str, Any], facts: Mapping[str, Any]
) -> Partial:
    """Return the curve that has these columns and numbers."""
    if facts["estimator"] == "exact":
        return _locality.PartialCurve.from_columns(columns, numbers)
    return _locality.PartialSample.from_columns(columns, numbers)


def parts_of(curve: Partial) -> dict[str, list[NDArray[Any]]]:
    """Return the columns of a curve in parts: blocks by ranges of their hashes, and the ranges."""
    parts = {name: [column] for name, column in curve.columns.items()}
    if isinstance(curve, _locality.PartialCurve):
        for name in _GROUPED:
            range_of, keys, counts = _locality.group_by_hash(parts[name][0])
            parts[name] = np.split(keys, np.cumsum(counts)[:-1]) if len(keys) else []
            parts[f"{name}_range"] = [range_of]
    return parts


def from_parts(
    columns: dict[str, NDArray[Any]], numbers: dict[str, Any], facts: Mapping[str, Any]
) -> Partial:
    """Return the curve of the columns of `parts_of`, with the parts of each put together."""
    if facts["estimator"] == "exact":
        for name in _GROUPED:
            keys = np.empty(0, np.uint64)
            if len(range_of := columns.get(f"{name}_range", keys)):
                keys = _locality.ungroup(range_of, columns[name])
            columns[name] = keys
    return from_columns(columns, numbers, facts)


def renumbered_keys(
    keys: NDArray[np.uint64],
    numbers: Sequence[int],
    ends: NDArray[np.bool_] | None = None,
) -> NDArray[np.uint64]:
    """Return keys with other numbers of VMs; those at `ends` come after the last key of a VM."""
    if list(numbers) == list(range(len(numbers))):
        return keys
    vm = (keys if ends is None else keys - ends) >> np.uint64(VM_BITS)
    moved: NDArray[np.uint64] = keys + (
        (np.array(numbers, np.uint64)[vm] - vm) << np.uint64(VM_BITS)
    )
    return moved


def check_narrow(*numbers: NDArray[np.uint64]) -> None:
    """Check that numbers of blocks leave room for those of VMs."""
    if any(len(of) and int(of.max()) >= 2**VM_BITS for of in numbers):
        raise ConfigError("pieces of several VMs need numbers of blocks below 2^48")


def _keys_of(
    blocks: Blocks, *, is_sampled: bool
) -> tuple[dict[str, NDArray[np.uint64]], NDArray[np.uint64]]:
    """Return the keys of the blocks of each VM, and of all by their ids."""
    of = blocks.accesses
    own = {vm.name: slice(vm.first_id, vm.first_id + vm.unique_blocks) for vm in of.vms}
    if is_sampled:
        keys = keys_for("shards-rate", blocks)
        assert keys is not None
        return {vm: keys[ids] for vm, ids in own.items()}, keys
    unit = np.uint64(blocks.block_bytes if blocks.kind == "blocks" else 1)
    numbers = {vm: of.block_address[ids] // unit for vm, ids in own.items()}
    if len(numbers) > 1:
        check_narrow(*numbers.values())
    return numbers, np.concatenate(
        [n | np.uint64(vm << VM_BITS) for vm, n in enumerate(numbers.values())]
    )


def _by_vm(
    blocks: Blocks | None,
    vms: Sequence[str],
    discards: Mapping[str, VmDiscards],
    numbers: Mapping[str, NDArray[np.uint64]],
) -> Iterator[tuple[str, _Part]]:
    """Yield the references of each VM that has any, or discards."""
    parts = {} if blocks is None else {part.label: part for part in blocks.by_vm()}
    first_id = {} if blocks is None else {vm.name: vm.first_id for vm in blocks.accesses.vms}
    for vm in vms:
        ranges = ranges_of_vm(parts.get(vm), discards.get(vm))
        if (part := parts.get(vm)) is not None:
            yield vm, _Part(part, part.whole_ids - np.uint32(first_id[vm]), numbers[vm], ranges)
        elif vm in discards:
            yield vm, _Part(None, _NO_BLOCKS, np.empty(0, np.uint64), ranges)


def _by_interval(whole: _Part, facts: Mapping[str, Any]) -> Iterator[tuple[str, _Part]]:
    """Yield the references of each interval that has requests, or else discards."""
    length, origin = np.uint64(facts["length"]), np.array([facts["origin"] or 0], np.int64)
    ranges = whole.discards
    number = np.empty(0, np.uint64)
    if ranges is not None:
        number = (ranges.time.view(np.uint64) - origin.view(np.uint64)) // length
    if (blocks := whole.blocks) is None:
        for label in np.unique(number).tolist():
            of_label = ranges and ranges.chosen(number == label, 0, 0)
            yield str(label), _Part(None, _NO_BLOCKS, whole.keys, of_label)
        return
    since = (blocks.accesses.request_time.view(np.uint64) - origin.view(np.uint64)) // length
    cuts = [0, *(np.flatnonzero(np.diff(since)) + 1).tolist(), len(since)]
    for first, end in pairwise(cuts):
        label = int(since[first])
        part = replace(blocks, label=str(label), requests=np.arange(first, end))
        key_of = np.empty(part.unique, np.uint64)
        key_of[part.ids] = whole.keys[part.whole_ids]
        at = int(blocks.accesses.request_begin[first])
        of_label = ranges and ranges.chosen(number == label, at, len(part))
        yield str(label), _Part(part, part.ids, key_of, of_label)


def _analysed(part: _Part, facts: Mapping[str, Any], ends: Ends) -> Partial:
    ids, keys = _constant(part.ids), _constant(part.keys)
    if facts["estimator"] == "exact":
        requests = {} if part.blocks is None else _requests(part.blocks)
        discards = None if part.discards is None else part.discards[1:]
        return _locality.analyse_piece(ids, keys, discards=discards, **requests, **ends)
    times = None if part.blocks is None else part.blocks.times
    if times is None:
        times = np.empty(0, np.int64)
    params = _params_of(facts["estimator"])
    return _locality.sample_piece(ids, keys, _constant(times), params, facts["seed"], **ends)


@cache
def _params_of(estimator: str) -> dict[str, ParamValue]:
    entries = _locality.describe_estimators()
    name, params = parse_spec(estimator, "estimator", [entry["name"] for entry in entries])
    return as_declared(params, declared_by(entries, name))


def _requests(blocks: Blocks) -> dict[str, Any]:
    """Return how requests and bytes are counted, as keywords of `_locality.analyse_piece`."""
    if len(blocks.accesses.request_bytes) != blocks.accesses.request_count:
        return {}
    if (size := blocks.bytes_per_reference) is not None:
        return {"request_bytes": size}
    return {"requests": pieces.shapes_of(blocks.accesses, blocks.positions, blocks.lengths)}


def _constant(array: NDArray[Any]) -> NDArray[Any]:
    if array.flags.writeable:
        array.flags.writeable = False
    return array


_NO_BLOCKS = _constant(np.empty(0, np.uint32))
