"""Allocators written in Python: what they see, what they answer, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim.base.errors import ConfigError
from mcsim.base.threads import done_at_desk
from mcsim.base.units import parse_duration
from mcsim.experiment.code import blamed
from mcsim.locality.curve import HitRatioCurve

if TYPE_CHECKING:
    from mcsim._core.locality import HitCurve

__all__ = ["Allocator", "Observation", "answering"]


@dataclass(frozen=True, eq=False)
class Observation:
    """What an allocator sees when an interval has ended: copies, which it may keep.

    Arrays "by VM" have shape (vms,), in the order of `vms`; those "by tier and VM" have shape
    (tiers, vms), the fastest tier first. Counts are of the interval that ended, the first of
    which begins with the trace; what a cache is called for, blocks, is counted per access, and
    a request of several blocks makes several accesses.

    Attributes
    ----------
    interval : int
        Which interval ended, counted from 0.
    now : int
        When it ended: nanoseconds, or references, since the trace began.
    vms : tuple of str
        Names of the VMs.
    accesses : int array, by VM
        Blocks that were read or written.
    reads : int array, by VM
        Of these, those that were read.
    requests : int array, by VM
        Requests that these accesses made up.
    unique_blocks : int array, by VM
        Distinct blocks among the accesses.
    reuse_intensity : float array, by VM
        1 - distinct / all, of the last window of `ri_window` that closed.
    hits : int array, by tier and VM
        Accesses that each tier served.
    misses : int array, by VM
        Accesses that no tier served.
    occupancy : int array, by tier and VM
        Blocks held when the interval ended.
    current : int array, by tier and VM
        Targets in force: the blocks that each VM is granted.
    departed : bool array, by VM
        VMs that are gone: they have no accesses and need no space.
    capacities : int array, shape (tiers,)
        Blocks that there are to grant.
    tier_read_ns : float array, shape (tiers,)
        What a read from each tier takes, in ns.
    backend_read_ns : float
        What a read from the backend takes, in ns.
    """

    interval: int
    now: int
    vms: tuple[str, ...]
    accesses: NDArray[np.int64]
    reads: NDArray[np.int64]
    requests: NDArray[np.int64]
    unique_blocks: NDArray[np.int64]
    reuse_intensity: NDArray[np.float64]
    hits: NDArray[np.int64]
    misses: NDArray[np.int64]
    occupancy: NDArray[np.int64]
    current: NDArray[np.int64]
    departed: NDArray[np.bool_]
    capacities: NDArray[np.int64]
    tier_read_ns: NDArray[np.float64]
    backend_read_ns: float
    _curves: Sequence[HitCurve] = field(default=(), repr=False)

    @cached_property
    def curves(self) -> list[HitRatioCurve]:
        """Hits of an LRU cache of any size, by VM: of this interval, or of all so far.

        Of this interval, in which the first access to a block is a miss, unless the allocator
        says ``distance_scope = "cumulative"``. They are what a VM would hit on its own.
        """
        return [_public(curve) for curve in self._curves]


class Allocator(Protocol):
    """A system of your own: any class with `allocate`.

    Parameters of the experiment file are arguments of its constructor. What it wants beside
    what is usual, attributes of the class or the object say:

    ``interval`` : int or str
        Time between decisions, such as ``"10min"``; that of the experiment if not given.
    ``ri_window`` : int or str
        The window of reuse intensity; 60 s if not given.
    ``distance_scope`` : {'interval', 'cumulative'}
        What curves are of: the interval that ended, or all since the trace began.
    ``resize_mode`` : {'lazy', 'eager', 'strict-own'}
        How a VM that holds more than its target shrinks: as others need the space, at once,
        or when it brings a block in itself.
    ``data_path`` : dict
        Parameters of `hierarchy` (``mcsim describe hierarchy``) where they are not its
        defaults, such as ``{"policy": "arc", "writes": "back"}``.

    Examples
    --------
    >>> class Demand:
    ...     '''Every tier in proportion to the distinct blocks each VM touched.'''
    ...
    ...     def allocate(self, seen):
    ...         weight = seen.unique_blocks + 1
    ...         return seen.capacities[:, None] * weight // weight.sum()
    """

    def allocate(self, seen: Observation) -> ArrayLike | tuple[ArrayLike, Sequence[str]] | None:
        """Divide the tiers for the interval to come.

        Called on the thread that called `run`, where Ctrl-C ends it.

        Parameters
        ----------
        seen : Observation

        Returns
        -------
        int array of shape (tiers, vms), or that and a list of str, or None
            Blocks of each tier for each VM, no more than there are; with a list, also each
            VM's write mode from now on (``"through"``, ``"back"`` or ``"around"``). None leaves
            all as it is.
        """
        ...


class _Answering:
    """Stands before an allocator: shows it an `Observation`, and looks at what it answers."""

    def __init__(self, allocator: Allocator, name: str, interval: int) -> None:
        self._allocator = allocator
        self._name = name
        for key in ("ri_window", "interval"):
            if hasattr(allocator, key):
                setattr(self, key, self._duration(key))
        self._length: int = getattr(self, "interval", interval)
        for key in ("resize_mode", "distance_scope", "data_path"):
            if hasattr(allocator, key):
                setattr(self, key, self._of_kind(key))

    def allocate(self, raw: Any) -> Any:
        """Ask the allocator; called by the core."""
        seen = Observation(now=(raw.interval + 1) * self._length, **vars(raw))
        doing = f"{self._name}: allocate() of interval {seen.interval}"
        with blamed(doing):
            answer = done_at_desk(lambda: self._allocator.allocate(seen))
        if answer is None:
            return None
        blocks, modes = answer, None
        if isinstance(answer, tuple) and len(answer) == 2 and _are_words(answer[1]):
            blocks, modes = answer
        array = _checked(blocks, seen, doing)
        return array if modes is None else (array, list(modes))

    def _duration(self, key: str) -> int:
        given = getattr(self._allocator, key)
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and given > 0:
            return int(given)
        try:
            return parse_duration(given)
        except ValueError as error:
            raise ConfigError(f"{self._name}.{key}: {error}") from None

    def _of_kind(self, key: str) -> Any:
        given = getattr(self._allocator, key)
        kind = dict if key == "data_path" else str
        if not isinstance(given, kind):
            raise ConfigError(f"{self._name}.{key}: expected a {kind.__name__}, got {given!r}")
        return given


def answering(allocator: Allocator, name: str, interval: int) -> object:
    """Put what looks at its answers before an allocator.

    Parameters
    ----------
    allocator : Allocator
    name : str
        What messages call it.
    interval : int
        The time between decisions unless it has its own, in the trace's time.

    Returns
    -------
    object
        What the core takes.
    """
    # The core calls an allocator by the name of its class.
    kind = type(type(allocator).__name__, (_Answering,), {})
    return kind(allocator, name, interval)


def _are_words(given: object) -> bool:
    return isinstance(given, (list, tuple)) and all(isinstance(word, str) for word in given)


def _checked(blocks: object, seen: Observation, doing: str) -> NDArray[np.float64]:
    """Return an answer as an array of whole numbers, or say what is wrong with it."""
    shape = seen.current.shape
    wanted = f"expected whole numbers of blocks, an array of {shape[0]} tiers x {shape[1]} VMs"
    try:
        array = np.asarray(blocks)
    except ValueError:
        raise ConfigError(f"{doing}: {wanted}, got rows of different lengths") from None
    if array.dtype.kind not in "biuf":
        raise ConfigError(f"{doing}: {wanted}, got {_short(blocks)}")
    if array.shape != shape:
        raise ConfigError(f"{doing}: {wanted}, got an array of shape {array.shape}")
    if array.dtype.kind == "f" and (odd := array[np.isnan(array) | (array != np.rint(array))]).size:
        raise ConfigError(f"{doing}: {wanted}, got {odd[0]}")
    return array


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _public(curve: HitCurve) -> HitRatioCurve:
    capacities = np.concatenate([[0], curve.distances + 1])
    hits = np.concatenate([[0], curve.cumulative])
    return HitRatioCurve(capacities, hits.astype(np.float64), curve.accesses)
