"""Eviction policies by name: lists, and parsing of parameters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcsim._core import engine
from mcsim._core import policies as _policies
from mcsim.base.arguments import file_given
from mcsim.base.arguments import text as check_text
from mcsim.base.deployed import RULES
from mcsim.base.errors import ConfigError
from mcsim.base.inputs import is_regular, note_input
from mcsim.base.specs import ParamValue, as_declared, declared_by, parse_spec, split_specs, title
from mcsim.policies import BOUND_OF_SIZES
from mcsim.policies.python_policies import PolicyFactory, PythonSpec

PolicyChoice = str | PolicyFactory | Sequence[str | PolicyFactory]
"""Types of policies that `simulate` accepts."""


def policy_names() -> list[str]:
    """List the eviction policies; `mcsim describe` shows their parameters.

    Returns
    -------
    list of str
        Names for `simulate` and experiments, those of loaded libraries among them; not those of
        `wrapper_names`.

    Examples
    --------
    >>> mc.policy_names()[:4]
    ['lru', 'fifo', 'clock', 'sieve']
    """
    wrappers = wrapper_names()
    return [entry["name"] for entry in _policies.describe() if entry["name"] not in wrappers]


def wrapper_names() -> list[str]:
    """List the policies made of others, which their parameters name.

    Written as ``'talus(policy=lru)'``, ``'slide(policy=arc(step=integer))'``
    and ``'switching(candidates=lru+2q(kin=0.1,kout=0.3))'``: parameters of what is wrapped are in
    parentheses, policies to choose from have a `+` between them.

    Returns
    -------
    list of str
        Names for `simulate` and experiments.

    Examples
    --------
    >>> mc.wrapper_names()
    ['talus', 'slide', 'switching', 'shards']
    """
    return _policies.wrappers()


def library_versions() -> dict[str, str]:
    """List the cache libraries: each name stands for a policy, which `mcsim describe` shows.

    Returns
    -------
    dict of str to str
        The version of each library, by its name for `simulate` and experiments.

    Examples
    --------
    >>> mc.library_versions()["golang-lru-2q"]
    '2.0.7'
    """
    return {entry["name"]: entry["version"] for entry in _policies.describe_libraries()}


def load_policies(library: str | os.PathLike[str]) -> list[str]:
    """Load eviction policies from a shared library, and add them to the built-in ones.

    Such a library is compiled against the headers of this mcsim, see `get_include`, and stays
    loaded. To load it again changes nothing; after it was built anew, it takes a new process.

    Parameters
    ----------
    library : path
        The file.

    Returns
    -------
    list of str
        The names of its policies.

    Raises
    ------
    ConfigError
        If it is no such library, was built for another mcsim, or has a policy with a name that
        is taken; then none is added.
    """
    path = file_given("library", library)
    note_input(path)
    if path.exists() and not is_regular(path):
        raise ConfigError(f"{path}: not a regular file")
    return _policies.load(os.fsencode(library))


@dataclass(frozen=True)
class PolicySpec:
    """A policy and its parameters: `NAME` or `NAME(PARAM=VALUE,…)`."""

    name: str
    params: dict[str, str]

    def __str__(self) -> str:
        return title(self.name, self.params)

    @property
    def policy(self) -> str:
        """Name in the core."""
        return self.name

    def declared(self) -> dict[str, ParamValue]:
        """Return the parameters as the kinds that the policy declares."""
        described = [*_policies.describe(), *_policies.describe_libraries()]
        described += described_for_sizes()
        return as_declared(self.params, declared_by(described, self.name))


class DeployedSpec(PolicySpec):
    """A deployed cache in place of a policy: a system, and its parameters."""

    def declared(self) -> dict[str, ParamValue]:
        """Return the parameters as the kinds that the system declares."""
        return as_declared(self.params, declared_by(engine.describe_systems(), self.name))


def described_for_sizes() -> list[dict[str, Any]]:
    """Return what there is for objects of different sizes alone, as the core describes policies."""
    names = {entry["name"] for entry in _policies.describe()}
    others = [entry for entry in _policies.describe_weighing() if entry["name"] not in names]
    return [*others, _PFOO]


_PFOO = {
    "name": BOUND_OF_SIZES,
    "summary": "Bounds the hits of all policies, in caches of objects with sizes (PFOO-L; no "
    "replay; uses the future; only for capacities in bytes).",
    "reference": "Berger, Beckmann, Harchol-Balter: Practical bounds on optimal caching with "
    "variable object sizes, POMACS 2(2), 2018",
    "params": [],
}


def parse_policies(text: str, *, sizes: bool = False, deployed: bool = False) -> list[PolicySpec]:
    """Parse policies separated by commas; parameters contain commas, too.

    `all` is every one of `policy_names`. The name of a library gets its version as a parameter.

    Parameters
    ----------
    sizes : bool
        Whether policies for objects of different sizes alone are accepted.
    deployed : bool
        Whether deployed caches are accepted, as `DeployedSpec`.

    Raises
    ------
    ConfigError
        If there is no such policy or a value is missing.

    Examples
    --------
    >>> from mcsim.policies.specs import parse_policies
    >>> [str(spec) for spec in parse_policies("lru,arc(step=integer)")]
    ['lru', 'arc(step=integer)']
    """
    check_text("policies", text)
    if text.strip() == "all":
        return [PolicySpec(name, {}) for name in policy_names()]
    names = [*policy_names(), *wrapper_names(), *library_versions()]
    for_sizes = [entry["name"] for entry in described_for_sizes()]
    known = [*names, *for_sizes, *RULES]
    specs = [_spec(*parse_spec(spec, "eviction policy", known)) for spec in split_specs(text)]
    if not deployed and (only := next((one.name for one in specs if one.name in RULES), None)):
        raise ConfigError(
            f"{only}: a deployed cache, which is replayed whole: `mcsim compare` and experiments "
            "have it"
        )
    if not sizes and (only := next((one.name for one in specs if one.name in for_sizes), None)):
        raise ConfigError(
            f"{only}: it is for objects with sizes: give a size in bytes, such as 1GiB"
        )
    return specs


def _spec(name: str, params: dict[str, str]) -> PolicySpec:
    if version := library_versions().get(name):
        params = {"version": version, **params}
    return (DeployedSpec if name in RULES else PolicySpec)(name, params)


def with_rules_for_sizes(policies: PolicyChoice) -> list[Any]:
    """Return policies in which `all` stands for those with a rule for objects of all sizes."""
    several = policies if isinstance(policies, (list, tuple)) else [policies]
    weighing = [entry["name"] for entry in _policies.describe_weighing()]
    names = ",".join([*weighing, BOUND_OF_SIZES])
    return [names if isinstance(one, str) and one.strip() == "all" else one for one in several]


def policies_given(policies: PolicyChoice, *, sizes: bool = False) -> list[PolicySpec | PythonSpec]:
    """Read policies and deployed caches, by name or in Python; `sizes` as of `parse_policies`."""
    specs: list[PolicySpec | PythonSpec] = []
    for given in policies if isinstance(policies, Sequence) else [policies]:
        if isinstance(given, str):
            specs += parse_policies(given, sizes=sizes, deployed=True)
        else:
            specs.append(PythonSpec.of(given))
    return specs
