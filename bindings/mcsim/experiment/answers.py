"""What allocators in Python answer, held to what the core takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.experiment.extents import checked_placements
from mcsim.experiment.migration import checked_migrations

if TYPE_CHECKING:
    from mcsim.experiment.allocator import Decision
    from mcsim.experiment.observation import Observation

_WRITE_MODES = ("through", "back", "around")
_ACTIONS = ("targets", "write_modes", "admits", "migrations", "placements")
# What can be changed of hosts whose tiers are not divided.
_POSSIBLE: Mapping[str, Sequence[str]] = {"placed": ("placements",), "classed": ()}


def are_words(given: object) -> bool:
    """Whether it is a list or tuple of text."""
    return isinstance(given, (list, tuple)) and all(isinstance(word, str) for word in given)


def check_declared(answer: Decision, actions: Sequence[str] | None, doing: str) -> None:
    """Hold a decision to what its allocator says that it decides, if it says so."""
    if actions is None:
        return
    for name in _decided(answer):
        given = getattr(answer, name)
        if name == "write_modes" and not are_words(_listed(given)):
            name = "write_modes_by_tier"
        if name not in actions:
            declared = ", ".join(actions) or "nothing"
            raise ConfigError(f"{doing}: {name} decided, and `actions` has {declared}")


def check_possible(answer: Decision, host: str, doing: str) -> None:
    """Hold a decision to what can be changed of a host whose tiers are not divided."""
    for name in _decided(answer):
        if name not in _POSSIBLE[host]:
            possible = ", ".join(_POSSIBLE[host]) or "nothing"
            raise ConfigError(
                f"{doing}: {name} decided, and of a {host} host decisions change {possible}"
            )


def _decided(answer: Decision) -> list[str]:
    return [name for name in _ACTIONS if getattr(answer, name) is not None]


def checked(answer: Decision, seen: Observation, doing: str) -> Decision:
    """Return an answer as the core takes it, or say what is wrong with it.

    Parameters
    ----------
    answer : Decision
    seen : Observation
        What it is an answer to.
    doing : str
        What messages begin with.

    Raises
    ------
    ConfigError
        Of the wrong kind or shape.
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
    """Return targets as an array of whole numbers, or say what is wrong with them."""
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
    # What is not a number is not at least 0, and not all that is whole fits.
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
    """Hold targets to what each tier has, on each host."""
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
    """Return names of write modes, by VM or by tier and VM, or say what is wrong with them."""
    modes = _listed(given)
    if isinstance(modes, (list, tuple)) and modes:
        if are_words(modes):
            return _checked_names(modes, seen, doing)
        rows = [_listed(row) for row in modes]
        if all(are_words(row) for row in rows):
            tiers = len(seen.capacities)
            if len(rows) != tiers:
                raise ConfigError(
                    f"{doing}: write modes of {_counted(len(rows), 'tier')}, and there "
                    f"{'is' if tiers == 1 else 'are'} {tiers}"
                )
            return [_checked_names(row, seen, doing) for row in rows]
    raise ConfigError(f"{doing}: expected names of write modes, got {_short(given)}")


def _checked_names(names: Any, seen: Observation, doing: str) -> list[str]:
    """Return the write modes of all VMs, or say what is wrong with them."""
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
    """Return a truth value for each VM, or say what is wrong with them."""
    wanted = f"admits: expected {len(seen.vms)} truth values, one for each VM"
    try:
        array = np.asarray(given)
    except ValueError:
        raise ConfigError(f"{doing}: {wanted}, got {_short(given)}") from None
    if array.dtype != np.bool_ or array.shape != (len(seen.vms),):
        raise ConfigError(f"{doing}: {wanted}, got {_short(given)}")
    admits: list[bool] = array.tolist()
    return admits


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
