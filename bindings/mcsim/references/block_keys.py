"""Keys of blocks that depend on the VM and the address alone, as ids do not.

All pieces of a stream, and every selection of its VMs, have the same keys. A spatial sample by keys
is therefore the same for all of them.
"""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mcsim.references.interned import interned, many_accesses

if TYPE_CHECKING:
    from mcsim._core import engine
    from mcsim.references.blocks import Blocks
    from mcsim.references.pieces import Piece

SAMPLED_BY_KEY = ("shards-rate",)
"""Estimators that sample blocks of traces by these keys."""

_lock = threading.Lock()
_keys_of: WeakKeyDictionary[engine.Accesses, NDArray[np.uint64]] = WeakKeyDictionary()


def keys_for(estimator: str, blocks: Blocks) -> NDArray[np.uint64] | None:
    """Return the keys by which an estimator samples, by id in the whole workload; None by ids."""
    if estimator not in SAMPLED_BY_KEY:
        return None
    with _lock:
        if blocks.accesses not in _keys_of:
            _keys_of[blocks.accesses] = _computed(blocks)
        return _keys_of[blocks.accesses]


def _computed(blocks: Blocks) -> NDArray[np.uint64]:
    of = _addressed(blocks)
    unit = 1 if blocks.kind == "objects" else of.block_bytes
    keys = np.empty(len(of.block_address), np.uint64)
    for vm in of.vms:
        own = slice(vm.first_id, vm.first_id + vm.unique_blocks)
        keys[own] = hashed(of.block_address[own] // np.uint64(unit), vm.name)
    keys.flags.writeable = False
    return keys


def with_keys(piece: Piece, key_of: NDArray[np.uint64]) -> Piece:
    """Return a piece with the keys of its blocks instead of their ids."""
    discards = piece.discards
    if discards is not None:
        discards = discards[0], key_of[discards[1]]
    return piece._replace(keys=key_of[piece.keys], discards=discards)


def hashed(numbers: NDArray[np.uint64], vm: str) -> NDArray[np.uint64]:
    """Return the keys of blocks of a VM by their numbers, a hash of both."""
    salt = hashlib.sha256(vm.encode()).digest()[:8]
    mixed = numbers.copy()
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    mixed ^= np.uint64(int.from_bytes(salt, "little"))
    return mixed


def _addressed(blocks: Blocks) -> engine.Accesses:
    """Return the accesses of the workload with addresses; they are interned again without."""
    of = blocks.accesses
    if len(of.block_address) == of.id_count:
        return of
    view = {
        "block_bytes": of.block_bytes,
        "ops": "reads" if blocks.ops_kept == "reads" else "all",
        "line_blocks": of.line_blocks,
        "addresses": True,
    }
    return interned(blocks.workload, view, at_least=many_accesses())
