"""Validation of decisions by allocators in Python: targets, modes, migrations, placements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean

if TYPE_CHECKING:
    from mcsim.experiment.allocator import Decision, Observation


@dataclass(frozen=True, eq=False)
class Extents:
    """Placement of every extent, and its requests since the timer last fired.

    Arrays "by extent" have shape (extents,): the extents of the first VM, then those of the next.
    Arrays "by size and extent" have shape (sizes + 1, extents). The host's `sizes` are upper
    limits of classes of requests; the last class is of larger ones. A request counts for each
    extent that it touches, by its whole size. VMs that have departed have no counts, and their
    extents are in the backend.

    Attributes
    ----------
    blocks : int
        Blocks of an extent.
    rooms : int array, shape (tiers,)
        Capacity in extents, without the write area.
    vm : int array, by extent
        VM of the extent, an index into `vms`.
    tier : int array, by extent
        Tier of the extent; the number of tiers stands for the backend.
    reads, writes : int array, by size and extent
        Requests.
    blocks_read, blocks_written : int array, by extent
        Blocks of these requests that lie in the extent.
    """

    blocks: int
    rooms: NDArray[np.int64]
    vm: NDArray[np.int64]
    tier: NDArray[np.int64]
    reads: NDArray[np.int64]
    writes: NDArray[np.int64]
    blocks_read: NDArray[np.int64]
    blocks_written: NDArray[np.int64]


def checked_placements(given: object, seen: Observation, doing: str) -> NDArray[np.int64]:
    """Return the tier of each extent; raise ConfigError if a placement is invalid."""
    doing = f"{doing}: placements"
    extents = seen.extents
    if extents is None:
        raise ConfigError(f'{doing}: the host caches blocks; `host = "placed"` places extents')
    tiers = len(extents.rooms)
    wanted = f"expected a tier from 0 to {tiers} for each of {len(extents.tier)} extents"
    array = _array_of(given, extents.tier.shape, "iuf", f"{doing}: {wanted}")
    # The comparison with 0 is false for NaN.
    odd = np.flatnonzero(~((array >= 0) & (array <= tiers) & (array == np.rint(array))))
    for extent in odd[:1]:
        raise ConfigError(f"{doing}: {wanted}, got {array[extent]} for extent {extent}")
    placed = array.astype(np.int64)
    _check_gone(placed, extents, seen, doing)
    _check_room(placed, extents, doing)
    return placed


def _check_gone(placed: NDArray[np.int64], extents: Extents, seen: Observation, doing: str) -> None:
    for extent in np.flatnonzero(seen.departed[extents.vm] & (placed < len(extents.rooms)))[:1]:
        raise ConfigError(
            f"{doing}: extent {extent} is of {seen.vms[extents.vm[extent]]}, which is gone: it "
            f"stays in the backend, which is {len(extents.rooms)}, not in tier {placed[extent]}"
        )


def _check_room(placed: NDArray[np.int64], extents: Extents, doing: str) -> None:
    tiers = len(extents.rooms)
    counts = np.bincount(placed, minlength=tiers + 1)[:tiers]
    for tier in np.flatnonzero(counts > extents.rooms)[:1]:
        raise ConfigError(
            f"{doing}: {counts[tier]} extents in tier {tier}, which has room for "
            f"{extents.rooms[tier]}"
        )


@dataclass(frozen=True)
class Migration:
    """A VM that is to be on another host.

    Attributes
    ----------
    vm, host : str
        Names.
    keep : bool
        Whether its cache comes after it, the block accessed last first; else it is dropped,
        dirty blocks written back.
    rate : float, optional
        Blocks a second that come; what the link takes if not given.
    on_demand : {'dirty', 'all'}
        Which blocks that have not come yet are read over the link; a read of another is a miss.
    """

    vm: str
    host: str
    keep: bool = True
    rate: float | None = None
    on_demand: str = "dirty"


_ON_DEMAND = ("dirty", "all")

# As the core takes it: numbers instead of names.
_Numbered = tuple[int, int, bool, float, str]


def checked_migrations(given: object, seen: Observation, doing: str) -> list[_Numbered]:
    """Convert migrations for the core; raise ConfigError if one is invalid."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ConfigError(
            f"{doing}: migrations: expected a list of mcsim.Migration, got {given!r:.60}"
        )
    return [_checked(one, seen, f"{doing}: migrations") for one in given]


def _is_rate(given: object) -> bool:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return False
    return 0 <= given < np.inf


def _checked(given: object, seen: Observation, doing: str) -> _Numbered:
    if not isinstance(given, Migration):
        raise ConfigError(f"{doing}: expected mcsim.Migration, got {given!r:.60}")
    for what, name, known in (("VM", given.vm, seen.vms), ("host", given.host, seen.hosts)):
        if name not in known:
            raise ConfigError(f"{doing}: no {what} {name!r}{did_you_mean(str(name), known)}")
    rate = 0.0 if given.rate is None else given.rate
    if not _is_rate(rate):
        raise ConfigError(
            f"{doing}: {given.vm}: expected a rate in blocks a second, got {given.rate!r:.60}"
        )
    if given.on_demand not in _ON_DEMAND:
        raise ConfigError(
            f"{doing}: {given.vm}: on_demand: unknown choice {given.on_demand!r:.60} (one of "
            f"{', '.join(_ON_DEMAND)})"
        )
    vm, host = seen.vms.index(given.vm), seen.hosts.index(given.host)
    return vm, host, bool(given.keep), float(rate), given.on_demand


_WRITE_MODES = ("through", "back", "around")
_ACTIONS = ("targets", "write_modes", "admits", "migrations", "placements")
# Changes that hosts without divided tiers accept.
_POSSIBLE: Mapping[str, Sequence[str]] = {"placed": ("placements",), "classed": ()}


def is_list_of_str(given: object) -> bool:
    """Whether it is a list or tuple of text."""
    return isinstance(given, (list, tuple)) and all(isinstance(word, str) for word in given)


def check_declared(answer: Decision, actions: Sequence[str] | None, doing: str) -> None:
    """Check a decision against the `actions` of its allocator, if declared."""
    if actions is None:
        return
    for name in _decided(answer):
        given = getattr(answer, name)
        if name == "write_modes" and not is_list_of_str(_listed(given)):
            name = "write_modes_by_tier"
        if name not in actions:
            declared = ", ".join(actions) or "nothing"
            raise ConfigError(f"{doing}: {name} decided, and `actions` has {declared}")


def check_possible(answer: Decision, host: str, doing: str) -> None:
    """Check a decision for a host without divided tiers."""
    for name in _decided(answer):
        if name not in _POSSIBLE[host]:
            possible = ", ".join(_POSSIBLE[host]) or "nothing"
            raise ConfigError(
                f"{doing}: {name} decided, and of a {host} host decisions change {possible}"
            )


def _decided(answer: Decision) -> list[str]:
    return [name for name in _ACTIONS if getattr(answer, name) is not None]


def checked(answer: Decision, seen: Observation, doing: str) -> Decision:
    """Return a decision in the form of the core, or raise an error.

    Parameters
    ----------
    answer : Decision
    seen : Observation
        Observation of the decision.
    doing : str
        Beginning of messages.

    Raises
    ------
    ConfigError
        Wrong type or shape.
    """
    targets, modes, admits = answer.targets, answer.write_modes, answer.admits
    if modes is not None:
        modes = _checked_modes(modes, seen, doing)
    if admits is not None:
        admits = _checked_admission(admits, seen, doing)
    if not isinstance(answer.infeasible, str):
        raise ConfigError(
            f"{doing}: infeasible: expected the reason as text, got {_short(answer.infeasible)}"
        )
    migrations: Any = answer.migrations
    if migrations is not None:
        migrations = checked_migrations(migrations, seen, doing)
    if targets is not None:
        targets = _checked_targets(targets, seen, doing)
        _check_space(targets, _hosts_after(migrations or [], seen), seen, doing)
    placements = answer.placements
    if placements is not None:
        placements = checked_placements(placements, seen, doing)
    return replace(
        answer,
        targets=targets,
        write_modes=modes,
        admits=admits,
        migrations=migrations,
        placements=placements,
    )


def _checked_targets(blocks: object, seen: Observation, doing: str) -> NDArray[np.float64]:
    """Return targets as an array of whole numbers, or raise an error."""
    shape = seen.current.shape
    wanted = f"expected whole numbers of blocks, an array of {shape[0]} tiers x {shape[1]} VMs"
    array = _array_of(blocks, shape, "biuf", f"{doing}: {wanted}")
    # NaN is not at least 0, and large integers exceed the type.
    if (odd := array[~((array >= 0) & (array < 2.0**63) & (array == np.rint(array)))]).size:
        raise ConfigError(f"{doing}: {wanted}, got {odd[0]}")
    return array


def _hosts_after(
    migrations: Sequence[tuple[int, int, bool, float, str]], seen: Observation
) -> NDArray[np.int64]:
    """Return the host of each VM, which targets are of, once these have moved."""
    host = seen.host.copy()
    for vm, new, *_ in migrations:
        host[vm] = new
    return host


def _check_space(
    targets: NDArray[np.float64], host: NDArray[np.int64], seen: Observation, doing: str
) -> None:
    """Check targets against the capacity of each tier on each host."""
    for tier, row in enumerate(targets):
        given = np.bincount(host, weights=row)
        for number in np.flatnonzero(given > seen.capacities[tier])[:1]:
            where = f" on {seen.hosts[number]}" if seen.hosts else ""
            raise ConfigError(
                f"{doing}: {given[number]:.0f} blocks of tier {tier}{where}, which has "
                f"{seen.capacities[tier]}"
            )


def _listed(given: object) -> object:
    return given.tolist() if isinstance(given, np.ndarray) else given


def _checked_modes(given: object, seen: Observation, doing: str) -> list[str] | list[list[str]]:
    """Return names of write modes, by VM or by tier and VM, or raise an error."""
    modes = _listed(given)
    if isinstance(modes, (list, tuple)) and modes:
        if is_list_of_str(modes):
            return _checked_names(modes, seen, doing)
        rows = [_listed(row) for row in modes]
        if all(is_list_of_str(row) for row in rows):
            tiers = len(seen.capacities)
            if len(rows) != tiers:
                raise ConfigError(
                    f"{doing}: write modes of {_counted(len(rows), 'tier')}, and there "
                    f"{'is' if tiers == 1 else 'are'} {tiers}"
                )
            return [_checked_names(row, seen, doing) for row in rows]
    raise ConfigError(f"{doing}: expected names of write modes, got {_short(given)}")


def _checked_names(names: Any, seen: Observation, doing: str) -> list[str]:
    """Return the write modes of all VMs, or raise an error."""
    if len(names) != len(seen.vms):
        raise ConfigError(
            f"{doing}: {_counted(len(names), 'write mode')} for {_counted(len(seen.vms), 'VM')}"
        )
    for name in names:
        if name not in _WRITE_MODES:
            raise ConfigError(
                f"{doing}: unknown write mode {name!r}{did_you_mean(name, _WRITE_MODES)} "
                f"(one of {', '.join(_WRITE_MODES)})"
            )
    return list(names)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _checked_admission(given: object, seen: Observation, doing: str) -> list[bool]:
    """Return a truth value for each VM, or raise an error."""
    wanted = f"admits: expected {len(seen.vms)} truth values, one for each VM"
    try:
        array = np.asarray(given)
    except ValueError:
        raise ConfigError(f"{doing}: {wanted}, got {_short(given)}") from None
    if array.dtype != np.bool_ or array.shape != (len(seen.vms),):
        raise ConfigError(f"{doing}: {wanted}, got {_short(given)}")
    admits: list[bool] = array.tolist()
    return admits


def _array_of(given: object, shape: tuple[int, ...], kinds: str, wanted: str) -> NDArray[Any]:
    """Return numbers of these kinds as an array of this shape; `wanted` begins the error."""
    try:
        array = np.asarray(given)
    except ValueError:
        raise ConfigError(f"{wanted}, got rows of different lengths") from None
    if array.dtype.kind not in kinds:
        raise ConfigError(f"{wanted}, got {_short(given)}")
    if array.shape != shape:
        raise ConfigError(f"{wanted}, got an array of shape {array.shape}")
    return array


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
