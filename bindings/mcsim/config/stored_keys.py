"""Keys that stored experiments of earlier versions have under other names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_RENAMED = {
    "tiers": {"capacity_blocks": "capacity", "dollars_per_gb": "price"},
    "backend": {"dollars_per_gb": "price"},
    "devices": {"dollars_per_gb": "price"},
    "workload": {"begin": "start"},
    "warm_up": {"begin": "start"},
}
"""Old and new names of keys, by the key of the experiment that they are under."""


def with_current_keys(stored: Any) -> Any:
    """Rename the keys of a stored experiment that an earlier version wrote."""
    for place, names in _RENAMED.items():
        _rename(stored, place, names.items())
    return stored


def with_earlier_keys(spec: dict[str, Any]) -> dict[str, Any]:
    """Rename keys to their first names, which ids of runs are computed from."""
    for place, names in _RENAMED.items():
        _rename(spec, place, ((new, old) for old, new in names.items()))
    return spec


def _rename(spec: Any, place: str, names: Iterable[tuple[str, str]]) -> None:
    node = spec.get(place) if isinstance(spec, Mapping) else None
    pairs = list(names)
    for of in _maps(node):
        for name, other in pairs:
            if name in of and other not in of:
                of[other] = of.pop(name)


def _maps(node: Any) -> Iterator[dict[str, Any]]:
    """Yield a map, or the maps in it or in a list."""
    if isinstance(node, dict):
        yield node
        node = node.values()
    elif not isinstance(node, list):
        return
    yield from (inside for inside in node if isinstance(inside, dict))
