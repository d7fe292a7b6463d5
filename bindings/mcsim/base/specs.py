"""Components as users write them: `NAME` or `NAME(PARAM=VALUE,…)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from mcsim.base import units
from mcsim.base.arguments import check_param
from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean

ParamValue = bool | int | float | str


def title(name: str, params: Mapping[str, ParamValue]) -> str:
    """Write a component as users do.

    Examples
    --------
    >>> from mcsim.base.specs import title
    >>> title("shards-rate", {"rate": 0.01})
    'shards-rate(rate=0.01)'
    """
    given = ",".join(f"{key}={value}" for key, value in params.items())
    return f"{name}({given})" if given else name


def parse_spec(text: str, kind: str, names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Parse `NAME` or `NAME(PARAM=VALUE,…)`, of which only the name is checked.

    Raises
    ------
    ConfigError
        If there is no such name, a value is missing, or it is written as `NAME:PARAM=VALUE`.
    """
    name, parenthesis, rest = (part.strip() for part in text.partition("("))
    old, colon, params_of_old = name.partition(":")
    if colon and old in names:
        new = f"{old}({params_of_old}{parenthesis}{rest})" if params_of_old else old
        raise ConfigError(f"{text.strip()!r}: parameters are now written in parentheses: {new!r}")
    if name not in names:
        known = ", ".join(names)
        raise ConfigError(f"unknown {kind} {name!r}{did_you_mean(name, names)}; one of {known}")
    if parenthesis and not rest.endswith(")"):
        raise ConfigError(f"{text.strip()!r}: expected NAME(PARAM=VALUE,...)")
    params = {}
    for item in filter(None, split_outside(rest[:-1])):
        key, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(f"{name}: expected PARAM=VALUE, got {item!r}")
        params[key.strip()] = value.strip()
    return name, params


def split_specs(text: str) -> list[str]:
    """Split several at the commas between them.

    Examples
    --------
    >>> from mcsim.base.specs import split_specs
    >>> split_specs("exact,shards(rate=0.1,seed=2),aet")
    ['exact', 'shards(rate=0.1,seed=2)', 'aet']
    """
    return [item for item in split_outside(text) if item.strip()]


def split_outside(text: str) -> list[str]:
    """Split at the commas that are in no parentheses."""
    cuts = [-1]
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth <= 0:
            cuts.append(place)
    return [text[a + 1 : b] for a, b in pairwise([*cuts, len(text)])]


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
        "real": _real,
        "duration": units.parse_duration,
    }
    declared = dict(params)
    for key, value in params.items():
        check_param(key, value)
        if isinstance(value, str) and (read := parse.get(kinds.get(key, ""))):
            with suppress(ValueError):
                declared[key] = read(value)
    return declared


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float(units.parse_fraction(text, "a number"))
