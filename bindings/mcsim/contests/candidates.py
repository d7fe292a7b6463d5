"""Candidates of an arena: policies by name, of a library, or in Python."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcsim.base.arguments import shortened
from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.experiment.code import Permission, python_policies

_KEYS = ("name", "policy", "library")


@dataclass(frozen=True)
class Candidate:
    """One policy that takes part.

    Attributes
    ----------
    name : str
        Name in results; each candidate has another.
    policy : str
        ``NAME`` or ``NAME(PARAM=VALUE,…)``, or ``module:Class``.
    library : str
        Path of the library that exports the policy; empty if mcsim has it.
    """

    name: str
    policy: str
    library: str = ""

    @property
    def code(self) -> str:
        """Library or module that it runs; empty for policies of mcsim."""
        if self.library:
            return self.library
        named = python_policies(self.policy)
        return named[0].partition(":")[0] if named else ""


CandidateGiven = str | Candidate | Mapping[str, Any]
"""Types of candidates that `arena` accepts."""


def candidates_given(
    given: CandidateGiven | Sequence[CandidateGiven], name: str = "candidates"
) -> list[Candidate]:
    """Read candidates.

    Parameters
    ----------
    given : str, mapping, Candidate, or sequence of these
        A mapping has the keys ``policy``, and perhaps ``name`` and ``library``.
    name : str
        Argument or option, for errors.

    Returns
    -------
    list of Candidate
        In the given order.

    Raises
    ------
    ConfigError
        If there is none, a key or a type is wrong, or a name is given twice.
    """
    is_one = isinstance(given, (str, Mapping, Candidate))
    listed: Any = [given] if is_one else given
    if not isinstance(listed, Iterable):
        raise ConfigError(f"{name}: expected a list, got {shortened(given)}")
    found = [_candidate(f"{name}[{i}]", one) for i, one in enumerate(listed)]
    if not found:
        raise ConfigError(f"{name}: expected at least one")
    places: dict[str, int] = {}
    for i, candidate in enumerate(found):
        if (first := places.setdefault(candidate.name, i)) != i:
            raise ConfigError(f"{name}[{i}]: the name {candidate.name} is that of {name}[{first}]")
    return found


def candidates_of_json(text: bytes | str, source: str) -> list[Any]:
    """Read a JSON list of candidates, or an object whose key ``candidates`` has it.

    Raises
    ------
    ConfigError
        If it is not such JSON.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: no JSON: {error}") from None
    if isinstance(found, dict):
        found = found.get("candidates")
    if not isinstance(found, list):
        raise ConfigError(
            f'{source}: expected a list of candidates, or an object with "candidates"'
        )
    return found


def check_permission(candidates: Iterable[Candidate], permission: Permission) -> None:
    """Check that code of candidates may run.

    Raises
    ------
    ConfigError
        With the name of the first candidate whose code was not allowed.
    """
    for candidate in candidates:
        code = candidate.code
        if code and not permission.own and code not in permission.named:
            raise ConfigError(
                f"{candidate.name}: {code} is code that does not run unasked: if you trust it, "
                "say --allow-code (in Python: allow_code=True)"
            )


def _candidate(where: str, given: object) -> Candidate:
    if isinstance(given, Candidate):
        return given
    if isinstance(given, str):
        given = {"policy": given}
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where}: expected a policy or an object, got {shortened(given)}")
    for key in given:
        if key not in _KEYS:
            near = did_you_mean(str(key), _KEYS)
            raise ConfigError(f"{where}: no key {shortened(key)}{near}")
    values = {key: _text(f"{where}.{key}", value) for key, value in given.items()}
    if "policy" not in values:
        raise ConfigError(f"{where}: the key policy is missing")
    if "library" in values:
        values["library"] = str(Path(values["library"]))
    return Candidate(**{"name": values["policy"], **values})


def _text(where: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ConfigError(f"{where}: expected a text in one line, got {shortened(value)}")
    return value.strip()
