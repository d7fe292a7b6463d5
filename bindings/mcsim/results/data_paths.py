"""Write mode, eviction policy and chain of each system, and the warning where modes differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mcsim.results.results import Results
from mcsim.results.schemas import of_system

FIELDS: Mapping[str, str] = {"writes": "writes", "policy": "policy", "chain": "chain"}
"""The columns of tables that have them, with their headings."""


class DataPath(NamedTuple):
    """Write mode, eviction policy and chain; None where there is none, or none is known."""

    writes: str | None = None
    policy: str | None = None
    chain: str | None = None


_LRU = DataPath("through", "lru", "exclusive")
PLACED = DataPath(writes="in place")

# Systems without these parameters; in results of earlier versions also `lru`, `single-tier` and
# `hindsight`.
FIXED: Mapping[str, DataPath] = {
    "lru": _LRU,
    "single-tier": _LRU,
    "hindsight": _LRU,
    "dm-writecache": DataPath("back"),
    "zfs-arc": DataPath("back"),
    "dss": DataPath("through", "by class", "exclusive"),
    "hystor": PLACED,
    "vfrm": PLACED,
    "edt": PLACED,
}


def data_paths(results: Results) -> dict[str, DataPath]:
    """Return the data path of every system, by title.

    Its write mode is None where reads alone are replayed. Where a system decides on modes, it has
    all that were in force: ``'around or back'``.
    """
    recorded: dict[str, dict[str, str]] = results.environment.get("data_paths", {})
    decisions = results.table("decisions")
    found = {}
    for system in results.spec.systems:
        known = system.params | recorded.get(system.title, {})
        fixed = FIXED.get(system.name, DataPath())
        path = DataPath(*(known.get(name, getattr(fixed, name)) for name in FIELDS))
        modes = {path.writes}
        if "write_modes" in decisions.column_names:
            for by_vm in of_system(decisions, system.title)["write_modes"].to_pylist():
                modes.update(by_vm or ())
        writes = " or ".join(sorted(filter(None, modes))) or None
        found[system.title] = path._replace(writes=None if results.spec.ops == "reads" else writes)
    return found


def differing_fields(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the fields, with headings, that have more than one known value in these rows."""
    rows = list(rows)
    return {
        name: head
        for name, head in FIELDS.items()
        if len({row[name] for row in rows if row.get(name) is not None}) > 1
    }


def mode_warning(rows: Iterable[Mapping[str, Any]]) -> str | None:
    """Return a warning if systems of these rows write in different modes.

    Examples
    --------
    >>> from mcsim.results.data_paths import mode_warning
    >>> modes = {"lru": "through", "static": "through", "centaur": "back"}
    >>> mode_warning({"system": system, "writes": mode} for system, mode in modes.items())
    'warning: write modes differ: through (lru, static), back (centaur)'
    """
    systems: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.get("writes") is not None:
            systems.setdefault(row["writes"], {})[row["system"]] = None
    if len(systems) < 2:
        return None
    modes = sorted(systems, key=lambda mode: -len(systems[mode]))
    named = [f"{mode} ({_some(list(systems[mode]), mode is modes[0])})" for mode in modes]
    return f"warning: write modes differ: {', '.join(named)}"


_MOST_NAMED = 5


def _some(systems: Sequence[str], is_largest: bool) -> str:
    if len(systems) <= _MOST_NAMED:
        return ", ".join(systems)
    return "all others" if is_largest else f"{len(systems)} systems"
