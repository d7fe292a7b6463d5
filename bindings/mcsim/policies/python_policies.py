"""Eviction policies written in Python: classes that `mcsim.simulate` accepts as well as names.

The engine finds blocks, counts hits and moves blocks; Python only chooses victims. A call into
Python takes the time of a hundred accesses of compiled code, so calls are rare:

`PriorityPolicy`
    A function of the history of a block; the least value is evicted. Exact, and fast: millions
    of accesses per second.
`Policy`
    Hooks that receive batches of accesses and return victims. Exact with one victim at a time,
    faster with many.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim._core import policies as _policies
from mcsim.base.errors import ConfigError
from mcsim.base.specs import ParamValue


class _Base:
    name: str | None = None
    """Name in results; that of the class if not given."""

    def start(self, capacity: int, seed: int) -> None:
        """Begin to serve an empty cache; called once, before anything else.

        Whatever belongs to one cache, such as arrays by slot, is made here: several caches may be
        served by copies of one policy.

        Parameters
        ----------
        capacity : int
            Blocks that the cache has space for.
        seed : int
            Seed of random choices.
        """


class Policy(_Base, ABC):
    """An eviction policy of hooks.

    Every block in the cache has a slot, a number from 0 to the capacity - 1. A new block gets the
    slot of the victim, or an unused one while there is space. So the state of a policy fits in
    arrays of `capacity` elements.

    With ``ahead = 1`` the policy sees every access before it chooses a victim. Each miss makes two
    calls: `accessed` with the accesses since the last call, and `victims`. With a larger `ahead`
    the policy returns this number of victims at a time, and sees later accesses before the next
    call only. A chosen victim leaves even if it hits in the meantime; such hits are counted but
    not passed to the policy.

    In a tier of an experiment (``policy: module:Class``) the host may also remove blocks
    (`removed`) and change the capacity (`resized`). Slots stay below the capacity of `start`. The
    slot of a removed block goes to one of the next new blocks.

    Exceptions end the simulation and propagate to the caller.

    Attributes
    ----------
    name : str, optional
        Name in results; by default that of the class.
    ahead : int
        Number of victims of a call.

    Examples
    --------
    >>> class Fifo(mc.Policy):
    ...     def start(self, capacity, seed):
    ...         self.queue = []
    ...
    ...     def accessed(self, slots, blocks, hits):
    ...         self.queue.extend(slots[~hits].tolist())
    ...
    ...     def victims(self, count):
    ...         return self.queue.pop(0)
    >>> rows = mc.simulate([1, 2, 1, 3, 1], [Fifo, "fifo", "lru"], [2])
    >>> rows[["policy", "hits"]].tolist()
    [('Fifo', 1), ('fifo', 1), ('lru', 2)]
    """

    ahead: int = 1

    @abstractmethod
    def accessed(
        self, slots: NDArray[np.int64], blocks: NDArray[np.int64], hits: NDArray[np.bool_]
    ) -> None:
        """Learn of accesses since the last call; called before `victims`, and at times between.

        Parameters
        ----------
        slots : int array, shape (n,)
            Where the blocks are, in the order of the accesses: once for each, so that a slot may
            stand there more than once. While the cache fills, newcomers take slots 0, 1, 2, …;
            from then on each takes the slot that became free last.
        blocks : int array, shape (n,)
            The blocks, numbered without gaps.
        hits : bool array, shape (n,)
            False where the block came into the slot, in place of the one that was there.
        """

    @abstractmethod
    def victims(self, count: int) -> ArrayLike:
        """Choose blocks to evict; the cache is full.

        Parameters
        ----------
        count : int
            The most victims there may be: `ahead`.

        Returns
        -------
        int or int array
            Slots in the order in which they are to be given to newcomers, at least one and none
            twice. Those that the policy returned before have left.
        """

    def removed(self, slots: NDArray[np.int64]) -> None:
        """Learn of blocks that left without being chosen; only hosts take blocks so.

        They went to another tier, are out of date or belong to a VM that departed. Blocks that
        the policy gave up before are not among them.

        Parameters
        ----------
        slots : int array, shape (n,)
            Their slots. Earlier accesses were passed to `accessed`, later ones were not.

        Raises
        ------
        ConfigError
            If a policy does not override this method and a host takes blocks.
        """
        raise ConfigError(
            f"{type(self).__name__}: here blocks leave that it did not choose: it needs a method "
            "removed(slots) to learn of them"
        )

    def resized(self, capacity: int) -> None:
        """Learn that the cache may hold no more blocks than these from now on.

        If it holds more, `victims` is called until it does not.

        Parameters
        ----------
        capacity : int
            At most that of `start`.
        """


class PriorityPolicy(_Base, ABC):
    """An eviction policy that is a function of the history of each block.

    The victim is the block of the least priority; of equal priorities, the least recently used.
    The function is evaluated for many blocks at a time and not at every access. With the
    properties below, the victims equal those of an evaluation of all blocks at every miss.

    Attributes
    ----------
    name : str, optional
        Name in results; by default that of the class.
    rising : bool
        Whether an access never lowers the priority of its block. If False, the function is
        evaluated at every miss, which is slow.
    refresh : int, optional
        For functions of `now`: all blocks are evaluated again before the first eviction and
        after every `refresh` evictions. In between, priorities
        stay as they are, but no block leaves on one that is older than its last access. With
        1, all is exact, and slow; a hundredth of the capacity is a good choice. If None, a
        function of `now` has the value of a time between the last access and the eviction.

    Examples
    --------
    >>> class Lfu(mc.PriorityPolicy):
    ...     def priority(self, accesses, last, inserted, now):
    ...         return accesses
    >>> rows = mc.simulate([1, 1, 2, 3, 1, 3], [Lfu, "lfu"], [2])
    >>> rows[["policy", "hits"]].tolist()
    [('Lfu', 3), ('lfu', 3)]
    """

    rising: bool = True
    refresh: int | None = None

    @abstractmethod
    def priority(
        self,
        accesses: NDArray[np.int64],
        last: NDArray[np.int64],
        inserted: NDArray[np.int64],
        now: NDArray[np.int64],
    ) -> ArrayLike:
        """Evaluate each block from these arguments alone, whatever the other blocks.

        Accesses are numbered from 0.

        Parameters
        ----------
        accesses : int array, shape (n,)
            To the block since it came in, that one included.
        last : int array, shape (n,)
            The last access to the block.
        inserted : int array, shape (n,)
            The access at which the block came in.
        now : int array, shape (n,)
            The access at which the priority is evaluated.

        Returns
        -------
        float array, shape (n,), or float
            Priorities; none of them NaN.
        """


AnyPolicy = Policy | PriorityPolicy
PolicyFactory = AnyPolicy | Callable[[], AnyPolicy]

# Policies that data paths can name.
_put: dict[str, type[AnyPolicy]] = {}


def put_policy(name: str, made: type[AnyPolicy]) -> None:
    """Register a class of policies for data paths under the name `module:Class`.

    Raises
    ------
    ConfigError
        If it is no class of policies.
    """
    if _put.get(name) is not made:
        _policies.put(name, PythonSpec.of(made).policy)
        _put[name] = made


@dataclass(frozen=True)
class PythonSpec:
    """A requested policy: an object or its factory; see `PolicySpec` for the others."""

    title: str
    policy: _policies.PythonPolicy
    """Object that the core accepts in place of a name."""

    def __str__(self) -> str:
        return self.title

    def declared(self) -> dict[str, ParamValue]:
        """Return the parameters that are left for the core."""
        return {}

    @classmethod
    def of(cls, given: PolicyFactory) -> PythonSpec:
        """Read what `mcsim.simulate` is given.

        Parameters
        ----------
        given : Policy, PriorityPolicy, or callable
            A policy, of which each cache gets a copy, or what makes one: a class, or anything
            else that returns a new policy when it is called without arguments.

        Raises
        ------
        ConfigError
            If it is another type.
        """
        first = _new(given)
        kind = type(first).__name__

        def begin(capacity: int, seed: int) -> AnyPolicy:
            policy = _new(given)
            policy.start(capacity, seed)
            return policy

        is_function = isinstance(first, PriorityPolicy)
        return cls(first.name or kind, _policies.PythonPolicy(kind, is_function, begin))


def _new(given: object) -> AnyPolicy:
    if isinstance(given, (Policy, PriorityPolicy)):
        return copy.deepcopy(given)
    made = given() if callable(given) else given
    if isinstance(made, (Policy, PriorityPolicy)):
        return made
    raise ConfigError(
        f"policies: expected a name, or a class or object that derives from mcsim.Policy or "
        f"mcsim.PriorityPolicy, got {given!r}"
    )
