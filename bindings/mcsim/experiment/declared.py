"""Declarations of allocators in Python, as attributes, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.suggest import did_you_mean
from mcsim.base.units import parse_bytes, parse_duration
from mcsim.experiment.answers import is_list_of_str

# No trace is as long.
_NEVER_AGAIN = 2**63 - 1
_HOSTS = ("placed", "classed")
# Attributes for divided tiers.
_OF_DIVIDED = ("resize_mode", "data_path")


class Declared:
    """The attributes of an allocator, as the core reads them; those that it has not are not there.

    Parameters
    ----------
    allocator : object
    name : str
        Name in messages.

    Raises
    ------
    ConfigError
        For what cannot be meant.
    """

    def __init__(self, allocator: Any, name: str) -> None:
        self._allocator = allocator
        self._name = name
        for key in ("ri_window", "interval"):
            if hasattr(allocator, key):
                setattr(self, key, self._duration(key, getattr(allocator, key)))
        self.timers = self._timers()
        self.meters = [self._meter(name, given) for name, given in self._named("meters")]
        hosts = [name for name, kind, _, _ in self.meters if kind == "host"]
        if len(hosts) > 1:
            raise ConfigError(f"{self._name}.meters: one host meter, not {', '.join(hosts)}")
        self.actions = self._actions()
        self.host = self._host()
        for key in (*_OF_DIVIDED, "distance_scope"):
            if hasattr(allocator, key):
                setattr(self, key, self._of_kind(key))

    def set_default_writes(self, writes: str | None) -> None:
        """Set the write mode of a host with divided tiers, unless one is declared.

        Raises
        ------
        ConfigError
            If the host writes in another mode.
        """
        if writes is None or (self.host is not None and self.host[0] == "placed"):
            return
        if self.host is None:
            self.data_path = {"writes": writes} | getattr(self, "data_path", {})
        elif writes != "through":
            raise ConfigError(
                f"{self._name}: a {self.host[0]} host writes through, never {writes}: leave out "
                "the `writes` of all systems, and give those of the others"
            )

    def _named(self, key: str) -> list[tuple[str, Any]]:
        given = getattr(self._allocator, key, {})
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise ConfigError(f"{self._name}.{key}: expected a mapping by name, got {given!r}")
        return list(given.items())

    def _actions(self) -> list[str] | None:
        given = getattr(self._allocator, "actions", None)
        if given is None:
            return None
        if not is_list_of_str(given):
            raise ConfigError(f"{self._name}.actions: expected names of actions, got {given!r}")
        return list(given)

    def _timers(self) -> list[tuple[str, int, bool]]:
        timers = self._named("timers")
        if timers and hasattr(self._allocator, "interval"):
            raise ConfigError(f"{self._name}: interval and timers say the same; give one of them")
        return [(name, *self._timer(f"timers[{name!r}]", given)) for name, given in timers]

    def _timer(self, key: str, given: Any) -> tuple[int, bool]:
        """Return the period of a timer, and whether it rings at the start, too."""
        if not isinstance(given, Mapping):
            return self._duration(key, given), False
        for word in given:
            if word not in ("every", "at_start"):
                known = did_you_mean(str(word), ("every", "at_start"))
                raise ConfigError(f"{self._name}.{key}: unknown key {word!r}{known}")
        at_start = given.get("at_start", False)
        if not isinstance(at_start, bool):
            raise ConfigError(
                f"{self._name}.{key}: at_start: expected true or false, got {at_start!r}"
            )
        if "every" in given:
            return self._duration(f"{key}: every", given["every"]), at_start
        if not at_start:
            raise ConfigError(
                f"{self._name}.{key}: it never rings: give `every`, such as "
                '{"every": "10min"}, or "at_start": True'
            )
        return _NEVER_AGAIN, True

    def _meter(self, name: str, given: Any) -> tuple[str, str, dict[str, Any], int]:
        where = f"meters[{name!r}]"
        if not isinstance(given, Mapping) or not isinstance(given.get("meter"), str):
            raise ConfigError(
                f'{self._name}.{where}: expected a mapping such as {{"meter": "distinct"}}, '
                f"got {given!r}"
            )
        params = dict(given)
        kind = params.pop("meter")
        timers = [timer for timer, *_ in self.timers] or ["interval"]
        timer = params.pop("timer", timers[0])
        if timer not in timers:
            raise ConfigError(
                f"{self._name}.{where}: no timer {timer!r}; there are {', '.join(timers)}"
            )
        if params.get("window"):
            params["window"] = self._duration(f"{where}: window", params["window"])
        for key, value in params.items():
            self._check_single(f"{where}: {key}", value)
        return name, kind, params, timers.index(timer)

    def _host(self) -> tuple[str, dict[str, Any], list[int]] | None:
        """Return the kind of host, its parameters, and the limits of its size classes.

        None is the usual host with divided tiers.
        """
        given = getattr(self._allocator, "host", None)
        if given is None:
            return None
        params = dict(given) if isinstance(given, Mapping) else {"name": given}
        kind = params.pop("name", None)
        if kind not in _HOSTS:
            raise ConfigError(
                f'{self._name}.host: expected "placed" or "classed", or a mapping such as '
                f'{{"name": "placed", "extent": 64}}, got {given!r}'
            )
        for key in _OF_DIVIDED:
            if hasattr(self._allocator, key):
                raise ConfigError(
                    f"{self._name}: {key} is of tiers that are divided, and the host is {kind}"
                )
        sizes = self._sizes(params.pop("sizes", ())) if kind == "placed" else []
        for key, value in params.items():
            if not isinstance(value, Mapping):
                self._check_single(f"host: {key}", value)
        return kind, params, sizes

    def _sizes(self, given: Any) -> list[int]:
        wanted = 'expected sizes in bytes, the least first, such as ["4KiB", "16KiB"]'
        try:
            sizes = [parse_bytes(size) for size in given]
        except (TypeError, ValueError):
            sizes = [0]
        if isinstance(given, str) or any(a >= b for a, b in zip([0, *sizes], sizes, strict=False)):
            raise ConfigError(f"{self._name}.host: sizes: {wanted}, got {given!r}")
        return sizes

    def _check_single(self, where: str, value: object) -> None:
        if not isinstance(value, (bool, int, float, str)):
            raise ConfigError(
                f"{self._name}.{where}: expected a number, text or truth value, got {value!r}"
            )

    def _duration(self, key: str, given: Any) -> int:
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and given > 0:
            return int(given)
        with mistakes_in(f"{self._name}.{key}"):
            length = parse_duration(given)
        if length == 0:
            raise ConfigError(f"{self._name}.{key}: must be positive, got {given!r}")
        return length

    def _of_kind(self, key: str) -> Any:
        given = getattr(self._allocator, key)
        kind = dict if key == "data_path" else str
        if not isinstance(given, kind):
            raise ConfigError(f"{self._name}.{key}: expected a {kind.__name__}, got {given!r}")
        return given
