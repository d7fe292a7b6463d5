"""The key `search` of an experiment: its values, checked, and the points of its grid.

search:
  sizes: [log(64MiB, 1GiB, 12), log(1GiB, 16GiB, 12)]    # of either tier; or lists of sizes
  policies: [lru, arc]                    # every pair; 'arc / lru' is that pair alone
  objective: latency                      # or hit-ratio, per-dollar, dollars
  limits: {dollars: 12, years: 5}         # also device_writes, latency, hit_ratio
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.sizes import parse_capacities, sizes_in
from mcsim.config import Source
from mcsim.config.load import check
from mcsim.config.spec import ExperimentSpec
from mcsim.config.values import Blocks, Latency, Positive, Share
from mcsim.searches.space import Objective, Point

_MOST_POINTS = 20_000


def _divided(given: object) -> object:
    """Divide what is written in one line, a tier each."""
    return re.split(r"\s+/\s+", given.strip()) if isinstance(given, str) else given


def _listed(given: object) -> object:
    return given if isinstance(given, list) else [given]


def _choices(given: object) -> object:
    """Return a list of policies; one of every tier may be a list itself."""
    listed = given if isinstance(given, list) else [given]
    return [" / ".join(map(str, one)) if isinstance(one, list) else one for one in listed]


_SomeSizes = Annotated[list[int | float | str], BeforeValidator(_listed)]


_SIZE = {"type": ["string", "number"], "examples": ["log(64MiB, 1GiB, 12)", "10%"]}
_SIZES = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"anyOf": [_SIZE, {"type": "array", "items": _SIZE}]}},
    ]
}
_POLICIES = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "array"]}}]
}


class Limits(BaseModel):
    """Limits of hierarchies."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    dollars: Positive | None = None
    """price of both tiers, at most"""
    years: Positive | None = None
    """until the first tier is worn out, at least"""
    device_writes: Blocks | None = None
    """blocks, or bytes, written to tiers that wear, at most"""
    latency: Latency | None = None
    """mean of all accesses, at most"""
    hit_ratio: Share | None = None
    """of all accesses, at least"""

    def named(self) -> dict[str, float]:
        """Return those that are given, by the names of `mcsim.searches.space.LIMITS`."""
        return {name.replace("_", "-"): float(of) for name, of in self if of is not None}


class Asked(BaseModel):
    """The key `search` of an experiment."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    sizes: Annotated[list[_SomeSizes], BeforeValidator(_divided), WithJsonSchema(_SIZES)] | None = (
        None
    )
    """by tier: sizes, shares of the distinct blocks, or log(FROM, TO, COUNT); thirteen from
    an eighth to eight times the experiment's own if not given"""
    policies: Annotated[list[str], BeforeValidator(_choices), WithJsonSchema(_POLICIES)] | None = (
        None
    )
    """eviction policies, or pairs such as 'arc / lru'; the experiment's if not given"""
    objective: Objective = "latency"
    """what is to be best"""
    limits: Limits | None = None
    """what is to be kept; the price of the experiment's own tiers if not given"""


class _WithSearch(BaseModel):
    model_config = ConfigDict(extra="allow")

    search: Asked = Asked()


def take_search(source: Source, instead: Mapping[str, Any]) -> Asked:
    """Check the key `search` and take it out of an experiment.

    Parameters
    ----------
    source : Source
        The experiment.
    instead : mapping of str to value
        Value in place of that under the key; None keeps it.

    Raises
    ------
    ConfigError
        All that is wrong with it, with its lines.
    """
    given = {key: value for key, value in instead.items() if value is not None}
    if given:
        source.root["search"] = (source.root.get("search") or {}) | given
    asked = check(source, _WithSearch).search
    source.root.pop("search", None)
    return asked


def sizes_of(
    given: Sequence[Sequence[int | float | str]] | None, spec: ExperimentSpec, unique: int
) -> list[list[int]]:
    """Return the capacities of either tier in blocks, increasing.

    Parameters
    ----------
    given : sequence of sequence of int, float or str, optional
        By tier.
    spec : ExperimentSpec
        Its capacities are the middle of the default sizes.
    unique : int
        Distinct blocks, of which shares are.
    """
    tiers = len(spec.tiers)
    if given is None:
        own = [tier.capacity for tier in spec.tiers]
        given = [[f"log({max(1, size // 8)}, {8 * size}, 13)"] for size in own]
    if len(given) != tiers:
        raise ConfigError(
            f"sizes: expected those of {tiers} tiers, with ' / ' between them, got {len(given)}"
        )
    found = []
    for index, texts in enumerate(given):
        with mistakes_in(f"sizes: of tier {index}"):
            of_tier = [
                blocks
                for text in texts
                for part in (sizes_in(text) if isinstance(text, str) else [text])
                for blocks in parse_capacities(part, unique, spec.block_bytes)
            ]
        found.append(sorted(set(of_tier)))
    return found


def policies_of(given: Sequence[str] | None, own: str, tiers: int) -> list[str]:
    """Return policies in the form of the system `hierarchy`, one for each tier.

    Examples
    --------
    >>> from mcsim.searches.asked import policies_of
    >>> policies_of(["lru", "arc"], "lru", 2)
    ['lru / lru', 'lru / arc', 'arc / lru', 'arc / arc']
    >>> policies_of(["arc / lru"], "lru", 2)
    ['arc / lru']
    """
    words = [own] if given is None else [word.strip() for word in given]
    for word in words:
        if not word.isprintable():
            raise ConfigError(f"policies: {word!r}: expected the name of an eviction policy")
    single = [word for word in words if "/" not in word]
    pairs = [_of_tiers(word, tiers) for word in words if "/" in word]
    return list(dict.fromkeys([*map(" / ".join, product(single, repeat=tiers)), *pairs]))


def _of_tiers(word: str, tiers: int) -> str:
    parts = [part.strip() for part in word.split("/")]
    if len(parts) != tiers:
        raise ConfigError(f"policies: {word!r}: expected those of {tiers} tiers, divided by /")
    return " / ".join(parts)


def grid_of(sizes: Sequence[Sequence[int]], policies: Sequence[str]) -> Iterator[Point]:
    """Return every combination.

    Raises
    ------
    ConfigError
        If there are too many to look at.
    """
    count = len(policies)
    for of_tier in sizes:
        count *= len(of_tier)
    if not 0 < count <= _MOST_POINTS:
        raise ConfigError(f"sizes, policies: expected 1 to {_MOST_POINTS:,} points, got {count:,}")
    return (Point(tuple(blocks), policy) for policy in policies for blocks in product(*sizes))
