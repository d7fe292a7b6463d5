"""Keys that experiments of earlier versions had under other names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["current_name", "with_current_keys"]

_RENAMED = {("tiers", "capacity_blocks"): "capacity"}
"""Key of a list of maps and key of the map, with its name now."""


def current_name(where: Sequence[str | int]) -> str | None:
    """Return what the key at a location is called now; None if it was not renamed."""
    *_, place, key = ("", *(step for step in where if isinstance(step, str)))
    return _RENAMED.get((place, key))


def with_current_keys(stored: Any) -> Any:
    """Rename the keys of a stored experiment that an earlier version wrote."""
    for (place, old), new in _RENAMED.items():
        for of in _maps(stored, place):
            if old in of and new not in of:
                of[new] = of.pop(old)
    return stored


def _maps(stored: Any, place: str) -> list[dict[str, Any]]:
    nodes = stored.get(place) if isinstance(stored, Mapping) else None
    return [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []
