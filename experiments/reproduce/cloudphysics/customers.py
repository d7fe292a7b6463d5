"""Customers of the CloudPhysics talk: recorded traces that are there, or else synthetic disks."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML

from mcsim.base.package import experiments_folder
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import hit_ratio_curve
from mcsim.locality.sharing import Sharing, spread
from mcsim.references.blocks import Blocks
from mcsim.references.pieces import bytes_of_block
from mcsim.reproduce.context import QUICK_SHARE, Context
from mcsim.traces.synth import synth_trace
from mcsim.traces.trace import Trace

__all__ = ["Customer", "Role", "customers", "customers_trace", "described", "largest", "shared_by"]

Role = Literal["own", "mixed", "shown"]
"""Kinds: as in the talk; drawn for mixes; in the gallery only."""

_BLOCK = "16KiB"


@dataclass(frozen=True, eq=False)
class Customer:
    """References of one customer's disk.

    Attributes
    ----------
    name : str
    ids : ndarray of uint32, shape (n,)
        Its blocks, numbered below `unique`.
    unique : int
    block_bytes : int
    role : str
    recorded : bool
    """

    name: str
    ids: NDArray[np.uint32]
    unique: int
    block_bytes: int
    role: Role
    recorded: bool

    @cached_property
    def curve(self) -> HitRatioCurve:
        """Hit ratio curve of the customer under LRU."""
        return replace(hit_ratio_curve(self.ids), block_bytes=self.block_bytes)

    def sampled(self, share: float) -> Customer:
        """Return the references to a share of the blocks, picked by hash."""
        number = np.arange(self.unique, dtype=np.uint32) * np.uint32(2654435761)
        kept = number < np.uint32(share * 2**32)
        numbers = np.cumsum(kept, dtype=np.uint32) - np.uint32(1)
        ids = numbers[self.ids[kept[self.ids]]]
        return replace(self, ids=ids, unique=int(kept.sum()))


def customers(
    context: Context, roles: Sequence[Role] = ("own", "mixed"), *, whole: bool = False
) -> list[Customer]:
    """Return the recorded customers that are there, or the synthetic ones if there is none.

    Parameters
    ----------
    roles : sequence of str
        Roles of recorded customers; synthetic ones are all of the talk's own kind.
    whole : bool
        Whether to use all references in a quick reproduction, too.
    """
    there = [
        (entry, path)
        for entry in _entries(context)
        if entry["role"] in roles and (path := context.trace(entry["trace"])) is not None
    ]
    found = [_customer(repr(entry), path) for entry, path in there] or _fleet(context.seed)
    return [one.sampled(QUICK_SHARE) for one in found] if context.quick and not whole else found


def customers_trace(name: str, context: Context) -> Trace | None:
    """Open the recorded trace of a customer, requests and all; None if it is not there."""
    entry = next(entry for entry in _entries(context) if entry["name"] == name)
    path = context.trace(entry["trace"])
    return None if path is None else _opened(entry, path)


def shared_by(several: Sequence[Customer]) -> Sharing:
    """Merge the references of customers that share a cache, in proportion to their numbers."""
    return spread([(one.name, one.ids, one.unique) for one in several])


def largest(several: Sequence[Customer]) -> Customer:
    """Return the one with most references."""
    return max(several, key=lambda one: len(one.ids))


def described(several: Sequence[Customer]) -> str:
    """Name the customers."""
    if not several[0].recorded:
        return f"{len(several)} disks of workloads/cloud106.yaml"
    return ", ".join(one.name for one in several)


def _entries(context: Context) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = YAML(typ="safe").load(
        context.folder("cloudphysics") / "customers.yaml"
    )
    return entries


def _opened(entry: dict[str, Any], path: Path) -> Trace:
    return Trace.open(path, format=entry.get("format"), options=entry.get("options"))


@lru_cache(maxsize=16)
def _customer(described_as: str, path: Path) -> Customer:
    """Read a customer; several figures use the same ones."""
    entry = ast.literal_eval(described_as)
    block_bytes = bytes_of_block("block_bytes", entry.get("block_bytes", _BLOCK))
    blocks = Blocks.of(_opened(entry, path), "all", block_bytes)
    return Customer(
        entry["name"], blocks.ids, blocks.unique, block_bytes, entry["role"], recorded=True
    )


@lru_cache(maxsize=1)
def _fleet(seed: int | None) -> list[Customer]:
    profile = experiments_folder() / "workloads" / "cloud106.yaml"
    blocks = Blocks.of(synth_trace(profile, seed=seed), "all", _BLOCK)
    order = np.argsort(blocks.vm, kind="stable")
    ends = np.searchsorted(blocks.vm[order], np.arange(len(blocks.vms) + 1))
    fleet = []
    for name, begin, end in zip(blocks.vms, ends[:-1], ends[1:], strict=True):
        ids = blocks.ids[order[begin:end]]
        first = ids.min()  # those of a VM are contiguous
        unique = int(ids.max() - first) + 1
        fleet.append(Customer(name, ids - first, unique, blocks.block_bytes, "own", False))
    return fleet
