"""VMs that move to other hosts, as allocators in Python decide it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean

if TYPE_CHECKING:
    from mcsim.experiment.allocator import Observation


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
    """Return migrations as the core takes them, or say what is wrong with them."""
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
