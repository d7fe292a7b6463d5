"""What allocators in Python answer, held to what the core takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.experiment.migration import checked_migrations

if TYPE_CHECKING:
    from mcsim.experiment.allocator import Decision, Observation

__all__ = ["are_words", "check_declared", "checked"]


def are_words(given: object) -> bool:
    """Whether it is a list or tuple of text."""
    return isinstance(given, (list, tuple)) and all(isinstance(word, str) for word in given)


def check_declared(answer: Decision, actions: Sequence[str] | None, doing: str) -> None:
    """Hold a decision to what its allocator says that it decides, if it says so."""
    if actions is None:
        return
    for name in ("targets", "write_modes", "admits", "migrations"):
        given = getattr(answer, name)
        if given is None:
            continue
        if name == "write_modes" and not are_words(_listed(given)):
            name = "write_modes_by_tier"
        if name not in actions:
            declared = ", ".join(actions) or "nothing"
            raise ConfigError(f"{doing}: {name} decided, and `actions` has {declared}")


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
    if targets is not None:
        targets = _checked_targets(targets, seen, doing)
    if modes is not None:
        modes = _checked_modes(modes, doing)
    if admits is not None:
        admits = _checked_admission(admits, seen, doing)
    if not isinstance(answer.infeasible, str):
        raise ConfigError(
            f"{doing}: infeasible: expected the reason as text, got {_short(answer.infeasible)}"
        )
    migrations: Any = answer.migrations
    if migrations is not None:
        migrations = checked_migrations(migrations, seen, doing)
    return replace(answer, targets=targets, write_modes=modes, admits=admits, migrations=migrations)


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
    if array.dtype.kind == "f" and (odd := array[np.isnan(array) | (array != np.rint(array))]).size:
        raise ConfigError(f"{doing}: {wanted}, got {odd[0]}")
    return array


def _listed(given: object) -> object:
    return given.tolist() if isinstance(given, np.ndarray) else given


def _checked_modes(given: object, doing: str) -> list[str] | list[list[str]]:
    """Return names of write modes, by VM or by tier and VM, or say what is wrong with them."""
    modes = _listed(given)
    if isinstance(modes, (list, tuple)) and modes:
        if are_words(modes):
            return list(modes)
        rows = [_listed(row) for row in modes]
        if all(are_words(row) for row in rows):
            return [list(row) for row in rows]  # type: ignore[call-overload]
    raise ConfigError(f"{doing}: expected names of write modes, got {_short(given)}")


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
