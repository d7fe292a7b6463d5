"""Colours, dashes, markers and hatches of VMs and systems: the same in all figures.

Every colour has a contrast of at least 3 to 1 on white, and neighbours differ in lightness.
Looks that differ in colour differ in dashes, marker or hatch as well, so that grey prints are
legible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcsim.config.spec import SystemSpec
from mcsim.results.results import Results
from mcsim.results.series import is_legacy, vms_of

_BLUE, _ORANGE, _RED, _SKY = "#005F99", "#C98300", "#A63200", "#3C97D9"
_OLIVE, _GREEN, _BLACK, _PURPLE = "#6B5900", "#00A078", "#000000", "#C46FA0"
_BROWN, _GREY, _PALE_GREY = "#8A4A1C", "#666666", "#8A8A8A"

_DASHED, _DOTTED, _DASH_DOT = (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5))
_LONG, _DOT_DOT = (0, (9, 2)), (0, (6, 1.5, 1, 1.5, 1, 1.5))
_SHORT = (0, (3, 1))


@dataclass(frozen=True)
class Look:
    """The label of one VM or system, and its distinction from the others."""

    label: str
    color: str
    dashes: Any
    marker: str
    hatch: str

    @property
    def line(self) -> dict[str, Any]:
        """As the arguments of a line."""
        return {"label": self.label, "color": self.color, "linestyle": self.dashes}

    @property
    def area(self) -> dict[str, Any]:
        """As the arguments of a filled shape."""
        return {
            "label": self.label,
            "facecolor": self.color,
            "edgecolor": "white" if self.hatch else self.color,
            "hatch": self.hatch,
        }


# The look of number i has colour i of eight. Dashes, markers and hatches advance by one each time
# colours repeat, so that up to 48 looks are distinct.
_COLORS = (_BLUE, _ORANGE, _RED, _SKY, _OLIVE, _GREEN, _BLACK, _PURPLE)
_DASHES = ("-", _DASHED, _DASH_DOT, _DOTTED, _LONG, _DOT_DOT)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Straight lines only: an SVG or PDF contains every dot of other hatches. The last is wide.
_HATCHES = ("", "////", "++", "\\\\\\\\", "----", "xxxx", "||||", "//")

# Looks by kind of system. If a kind has several systems, one has the look of the kind: the system
# without a label of its own, or else the first. Others have spare looks.
_SYSTEM_LOOKS = {
    "Global LRU": (_RED, _DASHED, "s", "////"),
    "Global LRU (legacy)": (_ORANGE, _DOT_DOT, "P", "//"),
    "Static": (_GREEN, _DASH_DOT, "^", "----"),
    "Single-tier LRU": (_BLACK, _DOTTED, "v", "xxxx"),
    "Multi-Cache": (_BLUE, "-", "o", ""),
    "Multi-Cache (history)": (_BROWN, _SHORT, "*", "\\\\"),
    "Multi-Cache (legacy)": (_PURPLE, _LONG, "X", "\\\\\\\\"),
    "Multi-Cache (joint)": (_SKY, _DOTTED, "D", "++++"),
}
_SPARE_LOOKS = (
    (_OLIVE, "-", "*", "++"),
    (_GREY, _DASHED, "<", "|||"),
    (_PALE_GREY, _DASH_DOT, ">", ""),
)

_LONGEST = 36  # letters

_NAMES = {
    "lru": "Global LRU",
    "static": "Static",
    "single-tier": "Single-tier LRU",
    "multicache": "Multi-Cache",
    "multicache-joint": "Multi-Cache (joint)",
}


def vm_looks(results: Results) -> dict[str, Look]:
    """Return the look of every VM, by name, in the order of the experiment."""
    return looks_of(vms_of(results))


def looks_of(names: Sequence[str]) -> dict[str, Look]:
    """Return a look for each name, in their order; no two are alike below 49."""
    looks = {}
    for i, (name, label) in enumerate(zip(names, short_names(names), strict=True)):
        after = i % len(_COLORS) + i // len(_COLORS)
        looks[name] = Look(
            label,
            _COLORS[i % len(_COLORS)],
            _DASHES[after % len(_DASHES)],
            _MARKERS[after % len(_MARKERS)],
            _HATCHES[after % len(_HATCHES)],
        )
    return looks


def system_looks(systems: Sequence[SystemSpec]) -> dict[str, Look]:
    """Return the look of every system, by title, in the order given."""
    kinds = [_kind(system) for system in systems]
    left = [look for kind, look in _SYSTEM_LOOKS.items() if kind not in kinds]
    fixed = {(color, hatch) for color, _, _, hatch in (*_SYSTEM_LOOKS.values(), *_SPARE_LOOKS)}
    many = looks_of([str(i) for i in range(len(_COLORS) * len(_HATCHES))]).values()
    more = [(o.color, o.dashes, o.marker, o.hatch) for o in many if (o.color, o.hatch) not in fixed]
    spare = [*_SPARE_LOOKS, *left, *more]
    owners: dict[str, str] = {}
    for system, kind in zip(systems, kinds, strict=True):
        if kind in _SYSTEM_LOOKS and (kind not in owners or system.title == system.name):
            owners[kind] = system.title
    looks: dict[str, Look] = {}
    others = 0
    titles = [
        kind if system.title == system.name else system.title
        for system, kind in zip(systems, kinds, strict=True)
    ]
    for system, kind, label in zip(systems, kinds, short_names(titles), strict=True):
        if owners.get(kind) == system.title:
            look = _SYSTEM_LOOKS[kind]
        else:
            look = spare[others % len(spare)]
            others += 1
        looks[system.title] = Look(label, *look)
    return looks


def short_names(names: Sequence[str]) -> list[str]:
    """Shorten long names; no two become equal.

    Examples
    --------
    >>> from mcsim.figures.looks import short_names
    >>> short_names(["web", "a" * 50 + "1", "a" * 50 + "2"])[1]
    'aaaaaaaaaaaaaaaaaa…aaaaaaaaaaa1'
    >>> short_names(["b" * 50 + c + "b" * 50 for c in "12"])
    ['1: bbbbbbbbbbbbbbbbbb…bbbbbbbbbbbb', '2: bbbbbbbbbbbbbbbbbb…bbbbbbbbbbbb']
    """
    short = [name if len(name) <= _LONGEST else f"{name[:18]}…{name[-12:]}" for name in names]
    twice = {name for name, count in Counter(short).items() if count > 1}
    return [f"{i}: {name}" if name in twice else name for i, name in enumerate(short, 1)]


def _kind(system: SystemSpec) -> str:
    name = _NAMES.get(system.name, system.name)
    if is_legacy(system):
        return f"{name} (legacy)"
    remembers = system.params.get("distance_scope") == "cumulative"
    return f"{name} (history)" if remembers else name
