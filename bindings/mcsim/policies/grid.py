"""The grid of caches that is tuned over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from mcsim.base.arguments import list_of, shortened, text
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.sizes import is_share, parse_capacity
from mcsim.base.suggest import did_you_mean
from mcsim.base.units import format_bytes
from mcsim.config.latency import WriteMode
from mcsim.policies.miniatures import rates_of
from mcsim.policies.specs import PolicySpec, parse_policies
from mcsim.references.pieces import bytes_of_block

WHOLE = "none"

WRITES: tuple[WriteMode, ...] = get_args(WriteMode)
"""The write modes that are tried unless others are given."""

_SOME_BYTES = 1 << 62
"""Instead of a size that is not known yet, so that all else can be checked."""


@dataclass(frozen=True)
class Point:
    """One cache of the grid."""

    policy: PolicySpec
    block: int
    sub_block: int
    writes: WriteMode

    @property
    def key(self) -> tuple[str, int, int, str]:
        """Return the values that identify it."""
        return str(self.policy), self.block, self.sub_block, self.writes

    @property
    def layout(self) -> tuple[int, int]:
        """Return what the trace is interned by."""
        return self.block, self.sub_block

    @property
    def params(self) -> dict[str, Any]:
        """Return the parameters of the data path."""
        given = ",".join(f"{key}={value}" for key, value in self.policy.params.items())
        policy = f"{self.policy.name}({given})" if given else self.policy.name
        return {"policy": policy, "writes": self.writes, "line": self.block // self.sub_block}


@dataclass(frozen=True)
class Grid:
    """Points in the requested order."""

    size: int
    points: list[Point]

    @classmethod
    def asked(
        cls,
        size: int | float | str,
        policies: str | Sequence[str],
        block_bytes: Sequence[int | str],
        sub_block_bytes: Sequence[int | str],
        writes: Sequence[WriteMode],
    ) -> Grid:
        """Read what `tune` is given."""
        texts = [policies] if isinstance(policies, str) else list_of("policies", policies, "names")
        block_bytes = _some("block_bytes", block_bytes)
        sub_block_bytes = _some("sub_block_bytes", sub_block_bytes)
        writes = modes_given(writes)
        with mistakes_in("policies"):
            specs = [spec for name in texts for spec in parse_policies(name)]
        sizes = [bytes_of_block("block_bytes", block) for block in block_bytes]
        layouts = [
            (block, block if sub == WHOLE else bytes_of_block("sub_block_bytes", sub))
            for block in sizes
            for sub in sub_block_bytes
        ]
        for block, sub in layouts:
            _check(block, sub)
        of_size = _bytes(size, min(sub for _, sub in layouts))
        if too_large := [block for block in sizes if block > of_size]:
            raise ConfigError(
                f"size: {format_bytes(of_size)} are less than one block of "
                f"{format_bytes(too_large[0])}"
            )
        if odd := [block for block in sizes if max(sizes) % block]:
            raise ConfigError(
                f"block_bytes: {format_bytes(max(sizes))}, the largest, are no multiple of "
                f"{format_bytes(odd[0])}"
            )
        points = [
            Point(spec, block, sub, mode)
            for spec in specs
            for block, sub in layouts
            for mode in writes
        ]
        if not points:
            raise ConfigError("policies: expected at least one")
        # Each point once.
        return cls(of_size, list({point.key: point for point in points}.values()))

    @property
    def smallest(self) -> int:
        """Return the least that is loaded at a time."""
        return min(point.sub_block for point in self.points)

    @property
    def largest(self) -> int:
        """Return the largest block size."""
        return max(point.block for point in self.points)

    def rate(self, rate: float, seeds: int) -> float:
        """Return the share of the pieces that is sampled for all points."""
        return rates_of([self.size // self.largest], rate, seeds)[0] if rate < 1 else 1

    def by_layout(self) -> Iterator[tuple[tuple[int, int], list[int]]]:
        """Yield the positions of the points that have a layout in common."""
        for layout in dict.fromkeys(point.layout for point in self.points):
            yield layout, [i for i, point in enumerate(self.points) if point.layout == layout]


_MOST_SUB_BLOCKS = 1024
"""Upper limit of sub-blocks of a block: four bytes each in 4 KiB."""


def modes_given(writes: Sequence[WriteMode]) -> list[WriteMode]:
    """Check write modes.

    Raises
    ------
    ConfigError
        If there are none, or one is unknown.
    """
    modes = _some("writes", writes)
    for mode in modes:
        if text("writes", mode) not in WRITES:
            raise ConfigError(
                f"writes: {mode!r}{did_you_mean(mode, WRITES)}; one of {', '.join(WRITES)}"
            )
    return modes


def _some(name: str, given: Sequence[Any]) -> list[Any]:
    chosen = list_of(name, given, "choices")
    if not chosen:
        raise ConfigError(f"{name}: expected at least one")
    return chosen


def _check(block: int, sub_block: int) -> None:
    if sub_block > block:
        raise ConfigError(
            f"block_bytes: {format_bytes(block)} are less than a sub-block of "
            f"{format_bytes(sub_block)}; leave out the smaller block sizes"
        )
    if block % sub_block:
        raise ConfigError(
            f"block_bytes: {format_bytes(block)} are no multiple of a sub-block of "
            f"{format_bytes(sub_block)}"
        )
    if block // sub_block > _MOST_SUB_BLOCKS:
        raise ConfigError(
            f"sub_block_bytes: {format_bytes(block)} are more than {_MOST_SUB_BLOCKS:,} times "
            f"{format_bytes(sub_block)}"
        )


def _bytes(size: int | float | str, smallest: int) -> int:
    """Parse a size, in blocks of the smallest size if it has no unit; a share is checked only."""
    with mistakes_in("size"):
        if is_share(size):
            parse_capacity(size, 1, None)
            return _SOME_BYTES
        total = parse_capacity(size, None, smallest) * smallest
        if total >= _SOME_BYTES:
            raise ValueError(f"at most {format_bytes(_SOME_BYTES)}, got {shortened(size)}")
    return total
