"""The choice of systems that a chart shows, and their colours, dashes and markers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.config.spec import SystemSpec
from mcsim.results.answer import rank
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError, is_legacy, vms_of

_BLUE, _ORANGE, _RED, _SKY = "#005F99", "#C98300", "#A63200", "#3C97D9"
_OLIVE, _GREEN, _BLACK, _PURPLE = "#6B5900", "#00A078", "#000000", "#C46FA0"
_BROWN, _GREY, _PALE_GREY = "#8A4A1C", "#666666", "#8A8A8A"

_SOLID, _DASHED, _DOTTED, _DASH_DOT = "", "5 1.5", "1 1", "6 1.5 1 1.5"
_LONG, _DOT_DOT, _SHORT, _SPARSE = "9 2", "6 1.5 1 1.5 1 1.5", "3 1", "3 3"


@dataclass(frozen=True)
class Look:
    """The label of one VM or system, and its distinction from the others.

    Attributes
    ----------
    label : str
    color : str
    dashes : str
        Lengths on and off, in line widths; empty for a solid line.
    marker : str
        As of matplotlib.
    """

    label: str
    color: str
    dashes: str
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """As the arguments of a line."""
        dashes = (0, tuple(map(float, self.dashes.split()))) if self.dashes else "-"
        return {"label": self.label, "color": self.color, "linestyle": dashes}

    @property
    def marks(self) -> dict[str, Any]:
        """As the arguments of markers; stars are larger, because their area is smaller."""
        return {"marker": self.marker} | ({"markersize": 5.5} if self.marker == "*" else {})

    @property
    def area(self) -> dict[str, Any]:
        """As the arguments of a filled shape with an edge that separates it from the next."""
        edge = {"edgecolor": "white", "linewidth": 0.4}
        return {"label": self.label, "facecolor": self.color} | edge


BLACK = Look("", _BLACK, _SOLID, "")
"""The look of exact curves and upper bounds; `looks_of` never returns it."""

_COLORS = (_BLUE, _ORANGE, _RED, _SKY, _OLIVE, _GREEN, _BLACK, _PURPLE)
_DASHES = (_SOLID, _DASHED, _DASH_DOT, _DOTTED, _LONG, _DOT_DOT, _SHORT, _SPARSE)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def _distinct_looks() -> list[tuple[str, str, str]]:
    """Return colours, dashes and markers that differ in pairs, neighbours in all three.

    Dashes and markers advance by one each time colours repeat. The look of `BLACK` is that of the
    last turn instead, which ends there.
    """
    count, black = len(_COLORS), _COLORS.index(_BLACK)
    every = [(i % count, (i % count + i // count) % count) for i in range(count * count)]
    last = len(every) - count + black
    every[every.index((black, _DASHES.index(_SOLID)))] = every[last]
    return [(_COLORS[i], _DASHES[j], _MARKERS[j]) for i, j in every[:last]]


_LOOKS = _distinct_looks()

MOST_LOOKS = len(_LOOKS)
"""Upper limit of looks that differ."""

# Looks by kind of system. If a kind has several systems, one has the look of the kind: the system
# without a label of its own, or else the first. Others have spare looks.
_SYSTEM_LOOKS = {
    "lru": (_RED, _DASHED, "s"),
    "lru (legacy)": (_ORANGE, _DOT_DOT, "P"),
    "static": (_GREEN, _DASH_DOT, "^"),
    "single-tier": (_BLACK, _DOTTED, "v"),
    "multicache": (_BLUE, _SOLID, "o"),
    "multicache (history)": (_BROWN, _SHORT, "*"),
    "multicache (legacy)": (_PURPLE, _LONG, "X"),
    "multicache-joint": (_SKY, _DOTTED, "D"),
}
_SPARE_LOOKS = (
    (_OLIVE, _SOLID, "*"),
    (_GREY, _DASHED, "<"),
    (_PALE_GREY, _DASH_DOT, ">"),
)

_LONGEST = 36  # letters


def vm_looks(results: Results) -> dict[str, Look]:
    """Return the look of every VM, by name, in the order of the experiment."""
    return looks_of(vms_of(results))


def looks_of(names: Sequence[str]) -> dict[str, Look]:
    """Return a look for each name, in their order; the first `MOST_LOOKS` differ."""
    return {
        name: Look(label, *_LOOKS[i % MOST_LOOKS])
        for i, (name, label) in enumerate(zip(names, short_names(names), strict=True))
    }


def system_looks(systems: Sequence[SystemSpec]) -> dict[str, Look]:
    """Return the look of every system, by title, in the order given."""
    kinds = [_kind(system) for system in systems]
    left = [look for kind, look in _SYSTEM_LOOKS.items() if kind not in kinds]
    fixed = {look[:2] for look in (*_SYSTEM_LOOKS.values(), *_SPARE_LOOKS)}
    spare = [*_SPARE_LOOKS, *left, *(look for look in _LOOKS if look[:2] not in fixed)]
    owners: dict[str, str] = {}
    for system, kind in zip(systems, kinds, strict=True):
        if kind in _SYSTEM_LOOKS and (kind not in owners or system.title == system.name):
            owners[kind] = system.title
    looks: dict[str, Look] = {}
    others = 0
    labels = short_names([system.title for system in systems])
    for system, kind, label in zip(systems, kinds, labels, strict=True):
        if owners.get(kind) == system.title:
            look = _SYSTEM_LOOKS[kind]
        else:
            look = spare[others % len(spare)]
            others += 1
        looks[system.title] = Look(label, *look)
    return looks


def short_names(names: Sequence[str], longest: int = _LONGEST) -> list[str]:
    """Shorten long names; no two become equal.

    Examples
    --------
    >>> from mcsim.figures.looks import short_names
    >>> short_names(["web", "a" * 50 + "1", "a" * 50 + "2"])[1]
    'aaaaaaaaaaaaaaaaaa…aaaaaaaaaaa1'
    >>> short_names(["b" * 50 + c + "b" * 50 for c in "12"])
    ['1: bbbbbbbbbbbbbbbbbb…bbbbbbbbbbbb', '2: bbbbbbbbbbbbbbbbbb…bbbbbbbbbbbb']
    """
    head, tail = longest // 2, longest // 3
    short = [name if len(name) <= longest else f"{name[:head]}…{name[-tail:]}" for name in names]
    twice = {name for name, count in Counter(short).items() if count > 1}
    return [f"{i}: {name}" if name in twice else name for i, name in enumerate(short, 1)]


def _kind(system: SystemSpec) -> str:
    if is_legacy(system):
        return f"{system.name} (legacy)"
    remembers = system.params.get("distance_scope") == "cumulative"
    return f"{system.name} (history)" if remembers else system.name


MOST_SYSTEMS = 10
"""Upper limit of systems on one chart."""

_WORDS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def best_first(results: Results) -> list[SystemSpec]:
    """Return the systems, the best first and yardsticks last."""
    by_title = {system.title: system for system in results.spec.systems}
    return [by_title[title] for title in rank(results)]


def systems_named(results: Results, names: Sequence[str]) -> list[SystemSpec]:
    """Return the systems with these titles; several in one name have commas between.

    Raises
    ------
    ConfigError
        If there is none of a name; it names the closest.
    """
    by_name = {system.title: system for system in results.spec.systems}
    given = [part for name in names for part in ([name] if name in by_name else name.split(","))]
    given = list(dict.fromkeys(part.strip() for part in given))
    for name in given:
        if name not in by_name:
            near = did_you_mean(name, list(by_name))
            raise ConfigError(f"systems: no {name!r}{near}; there are {', '.join(by_name)}")
    return [by_name[name] for name in given]


def chosen(
    results: Results,
    names: Sequence[str] | None = None,
    *,
    among: Sequence[SystemSpec] | None = None,
    most: int = MOST_SYSTEMS,
) -> tuple[list[SystemSpec], str]:
    """Choose the systems of a chart, in the order of the experiment.

    Parameters
    ----------
    results : Results
    names : sequence of str, optional
        Titles of systems. If absent, they are the best ones and Global LRU.
    among : sequence of SystemSpec, optional
        Systems that the chart can show; all if absent.
    most : int
        Upper limit of systems that are not named.

    Returns
    -------
    systems : list of SystemSpec
    note : str
        The choice in a sentence; empty where the chart shows all.
    """
    every = list(results.spec.systems if among is None else among)
    if names:
        titles = {system.title for system in systems_named(results, names)}
        found = [system for system in every if system.title in titles]
        if not found:
            raise CannotDrawError(f"does not apply to {', '.join(sorted(titles))}")
        return found, ""
    if len(every) <= most:
        return every, ""
    allowed = {system.title for system in every}
    ranked = [system for system in best_first(results) if system.title in allowed]
    best = ranked[:most]
    baseline = next((system for system in every if system.name == "lru"), None)
    shown = f"the best {_WORDS[most]}"
    if baseline is not None and baseline not in best:
        best = [*ranked[: most - 1], baseline]
        shown = f"the best {_WORDS[most - 1]} and {baseline.title}"
    titles = {system.title for system in best}
    return (
        [system for system in every if system.title in titles],
        f"{most} of {len(every)} systems: {shown}.",
    )
