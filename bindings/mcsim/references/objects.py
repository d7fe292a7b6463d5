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
from mcsim.base.sizes import is_in_bytes, is_share, sizes_in, split_range
from mcsim.base.units import format_bytes, format_size
from mcsim.references.blocks import Blocks, References
from mcsim.references.given import blocks_in


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

    @cached_property
    def most_bytes(self) -> int:
        """Bytes of all distinct objects, each at its largest."""
        largest = np.zeros(self.unique, np.uint32)
        np.maximum.at(largest, self.ids, self.sizes)
        return int(largest.sum(dtype=np.int64))

    @cached_property
    def keep_their_sizes(self) -> bool:
        """Whether every reference to an object has the same size."""
        last = np.zeros(self.unique, np.uint32)
        last[self.ids] = self.sizes
        return bool((last[self.ids] == self.sizes).all())


_ELSE = ": give capacities as numbers of objects, or as shares of them without a size in bytes"


def in_bytes(references: References) -> SizedObjects:
    """Return references to objects as ones of which all capacities are in bytes.

    Curves and caches of the result have capacities in bytes, and shares of them are of the bytes
    of all distinct objects.

    Parameters
    ----------
    references : Trace, sequence of Trace, or Blocks
        References to objects, such as `Trace.blocks` returns.

    Returns
    -------
    SizedObjects
        The same references as `Blocks` with capacities in bytes.

    Raises
    ------
    ConfigError
        If they are not references to objects.

    Examples
    --------
    >>> trace = mc.Trace.from_arrays([0, 1, 2], [7, 8, 7], [100, 50, 100], kind="objects")
    >>> curve = mc.hit_ratio_curve(mc.in_bytes(trace))
    >>> curve.at([149, 150]).round(2).tolist()
    [0.0, 0.33]
    """
    blocks = blocks_in(references, warm_up=True)
    if blocks is None or blocks.kind != "objects":
        raise ConfigError("references: expected those to objects, which have sizes")
    return _sized(blocks)


def _sized(blocks: Blocks) -> SizedObjects:
    return SizedObjects(**{field.name: getattr(blocks, field.name) for field in fields(blocks)})


def sized_for(blocks: Blocks, sizes: object) -> Blocks:
    """Return `SizedObjects` if blocks are objects and one of the sizes is in bytes.

    Parameters
    ----------
    blocks : Blocks
    sizes : object
        Capacities as of `mcsim.base.sizes`; text has commas between them. If one is in bytes,
        shares are of the bytes of all distinct objects.

    Raises
    ------
    ConfigError
        If others are numbers without a unit.
    """
    if blocks.kind != "objects" or isinstance(blocks, SizedObjects):
        return blocks
    several = _several(sizes)
    ends = [end for size in several for end in _ends(size)]
    if not any(_is_in_bytes(end) for end in ends):
        return blocks
    for end in ends:
        if not (is_share(end) or _is_in_bytes(end)):
            raise ConfigError(
                f"{shortened(end)}: other sizes are in bytes: state its unit, such as MiB"
            )
    return _sized(blocks)


def _several(sizes: object) -> list[object]:
    if isinstance(sizes, str):
        with suppress(ValueError):  # what is no size is refused where it is parsed
            return [*sizes_in(sizes)]
    return [*sizes] if isinstance(sizes, Iterable) else [sizes]


def _ends(size: object) -> list[object]:
    found = split_range(size) if isinstance(size, str) else None
    return [size] if found is None else [found.begin, found.end]


def _is_in_bytes(size: object) -> bool:
    with suppress(ValueError):  # what is no size is refused where it is parsed
        return isinstance(size, str) and is_in_bytes(size)
    return False


def refuse_bytes(references: object, what: str) -> None:
    """Raise ConfigError if capacities of the references are in bytes, which `what` does not count.

    Parameters
    ----------
    what : str
        The function or the option, for the message.
    """
    several = references if isinstance(references, (list, tuple)) else [references]
    if any(isinstance(one, SizedObjects) for one in several):
        raise ConfigError(f"{what}: it counts objects, not their bytes: give sizes without a unit")


def whole_of(blocks: Any) -> int:
    """Return the capacity that holds all: distinct blocks, or bytes of distinct objects."""
    distinct: int = getattr(blocks, "distinct_bytes", blocks.unique)
    return distinct


def described(blocks: Any, block_bytes: int) -> str:
    """Return the number of distinct blocks or objects, and their size if it is known."""
    count = f"{blocks.unique:,}"
    if hasattr(blocks, "distinct_bytes"):
        return f"{count} objects ({format_size(blocks.distinct_bytes)})"
    if blocks.capacity_unit is None:
        return f"{count} objects"
    size = format_size(blocks.unique * block_bytes)
    return f"{count} blocks of {format_bytes(block_bytes)} ({size})"
