"""Components as users ask for them: `NAME` or `NAME:PARAM=VALUE,…`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from mcsim.base import units
from mcsim.base.arguments import check_param
from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean

__all__ = [
    "ParamValue",
    "as_declared",
    "declared_by",
    "parse_spec",
    "split_outside",
    "split_specs",
    "title",
]

ParamValue = bool | int | float | str


def title(name: str, params: Mapping[str, ParamValue]) -> str:
    """Write a component as it is asked for on the command line.

    Examples
    --------
    >>> from mcsim.base.specs import title
    >>> title("shards-rate", {"rate": 0.01})
    'shards-rate:rate=0.01'
    """
    given = ",".join(f"{key}={value}" for key, value in params.items())
    return f"{name}:{given}" if given else name


def parse_spec(text: str, kind: str, names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Read `NAME` or `NAME:PARAM=VALUE,…`, of which only the name is checked.

    Raises
    ------
    ConfigError
        If there is no such name or a value is missing.
    """
    name, _, rest = text.strip().partition(":")
    if name not in names:
        known = ", ".join(names)
        raise ConfigError(f"unknown {kind} {name!r}{did_you_mean(name, names)}; one of {known}")
    params = {}
    for item in filter(None, split_outside(rest)):
        key, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(f"{name}: expected PARAM=VALUE, got {item!r}")
        params[key.strip()] = value.strip()
    return name, params


def split_specs(text: str) -> list[str]:
    """Take apart several, divided by commas, as the parameters of each are.

    Examples
    --------
    >>> from mcsim.base.specs import split_specs
    >>> split_specs("exact,shards:rate=0.1,seed=2,aet")
    ['exact', 'shards:rate=0.1,seed=2', 'aet']
    >>> split_specs("talus:policy=2q(kin=0.1,kout=0.3),epoch=10000,lru")
    ['talus:policy=2q(kin=0.1,kout=0.3),epoch=10000', 'lru']
    """
    specs: list[str] = []
    for item in split_outside(text):
        name, colon, _ = item.partition(":")
        continues = "=" in (name if colon else item)
        if continues and specs:
            specs[-1] += f",{item}"
        elif item.strip():
            specs.append(item)
    return specs


def split_outside(text: str) -> list[str]:
    """Split at the commas that are in no parentheses."""
    parts = [""]
    depth = 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def declared_by(entries: Sequence[Mapping[str, Any]], name: str) -> dict[str, str]:
    """Return the kinds of the parameters that the entry of that name declares."""
    return {
        param["name"]: param["kind"]
        for entry in entries
        if entry["name"] == name
        for param in entry["params"]
    }


def as_declared(
    params: Mapping[str, ParamValue], kinds: Mapping[str, str]
) -> dict[str, ParamValue]:
    """Return text as the kind that is declared; what fits none is left to the core."""
    parse: dict[str, Callable[[str], Any]] = {
        "bool": lambda text: {"true": True, "false": False}.get(text, text),
        "integer": units.parse_count,
        "real": float,
        "duration": units.parse_duration,
    }
    declared = dict(params)
    for key, value in params.items():
        check_param(key, value)
        if isinstance(value, str) and (read := parse.get(kinds.get(key, ""))):
            with suppress(ValueError):
                declared[key] = read(value)
    return declared
