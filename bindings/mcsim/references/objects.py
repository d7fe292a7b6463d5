"""Objects that take their bytes of a cache, in place of one block each."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.arguments import shortened
from mcsim.base.errors import ConfigError
from mcsim.base.sizes import is_in_bytes, is_share, split_range
from mcsim.base.units import format_bytes, format_size
from mcsim.references.blocks import Blocks


@dataclass(frozen=True, eq=False, repr=False)
class SizedObjects(Blocks):
    """Objects of which caches count the bytes; all capacities are in bytes."""

    @property
    def capacity_unit(self) -> int:
        """1: a capacity is a number of bytes."""
        return 1

    @cached_property
    def sizes(self) -> NDArray[np.uint32]:
        """The bytes of the object of each reference; shape (n,), read-only.

        Raises
        ------
        ConfigError
            If the size of an object is not known.
        """
        if len(self.accesses.request_bytes) == 0:
            raise ConfigError(f"{self.label}: it has no sizes of objects{_ELSE}")
        sizes = self._per_reference(self.accesses.request_bytes)
        if unknown := int(np.count_nonzero(sizes == 0)):
            first = int(np.argmin(sizes != 0))
            raise ConfigError(
                f"{self.label}: {unknown:,} of {len(sizes):,} references are to objects without a "
                f"size, first number {first:,}{_ELSE}"
            )
        return sizes

    @cached_property
    def distinct_bytes(self) -> int:
        """Bytes of all distinct objects, each as of its last reference."""
        last = np.zeros(self.unique, np.uint32)
        last[self.ids] = self.sizes
        return int(last.sum(dtype=np.int64))


_ELSE = ": give capacities as numbers of objects, or as shares of them without a size in bytes"


def sized_for(blocks: Blocks, sizes: object) -> Blocks:
    """Return `SizedObjects` if blocks are objects and one of the sizes is in bytes.

    Parameters
    ----------
    blocks : Blocks
    sizes : object
        Capacities as of `mcsim.base.sizes`. If one is in bytes, shares are of the bytes of all
        distinct objects.

    Raises
    ------
    ConfigError
        If others are numbers without a unit.
    """
    if blocks.kind != "objects" or isinstance(blocks, SizedObjects):
        return blocks
    several = [sizes] if isinstance(sizes, str) or not isinstance(sizes, Iterable) else [*sizes]
    ends = [end for size in several for end in _ends(size)]
    if not any(_is_in_bytes(end) for end in ends):
        return blocks
    for end in ends:
        if not (is_share(end) or _is_in_bytes(end)):
            raise ConfigError(
                f"{shortened(end)}: other sizes are in bytes: state its unit, such as MiB"
            )
    return SizedObjects(**{field.name: getattr(blocks, field.name) for field in fields(blocks)})


def _ends(size: object) -> list[object]:
    found = split_range(size) if isinstance(size, str) else None
    return [size] if found is None else [found.begin, found.end]


def _is_in_bytes(size: object) -> bool:
    with suppress(ValueError):  # what is no size is refused where it is parsed
        return isinstance(size, str) and is_in_bytes(size)
    return False


def whole_of(blocks: Blocks) -> int:
    """Return the capacity that holds all: distinct blocks, or bytes of distinct objects."""
    return blocks.distinct_bytes if isinstance(blocks, SizedObjects) else blocks.unique


def described(blocks: Any, block_bytes: int) -> str:
    """Return the number of distinct blocks or objects, and their size if it is known."""
    count = f"{blocks.unique:,}"
    if isinstance(blocks, SizedObjects):
        return f"{count} objects ({format_size(blocks.distinct_bytes)})"
    if blocks.capacity_unit is None:
        return f"{count} objects"
    size = format_size(blocks.unique * block_bytes)
    return f"{count} blocks of {format_bytes(block_bytes)} ({size})"
