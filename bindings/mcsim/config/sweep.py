"""The grid of an experiment: validation of `sweep:`, and the resulting cells.

    sweep:
      tiers.1.capacity: log(64MiB, 1GiB, 5)    # a path as of --set, and its values
      systems: [lru, {name: multicache, ri_window: 60s}]   # one system a cell
      seed: 5 seeds
      workload: {web: {profile: web.yaml}, prn: {profile: prn.yaml}}   # by names to be shown
      zip: {interval: [1h, 2h], block_bytes: [4KiB, 8KiB]}    # these go together
      exclude: [{systems: lru, seed: [2, 3]}]

Cells come in the order of the axes, the last of which changes fastest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.config.load import Location, Source, to_plain
from mcsim.config.spec import ExperimentSpec
from mcsim.config.values import values_of_range

MOST_CELLS = 100_000
"""Limit of the cells of a sweep; planning this many takes minutes."""

SEED_AXES = ("seed", "workload.seed")
"""Axes of repetitions: results are means over them."""

_RESERVED = ("zip", "exclude")


@dataclass(frozen=True)
class Value:
    """A value on an axis: its text in tables, its node, and its location."""

    shown: str | int | float | bool | None
    node: Any
    where: Location

    def is_meant_by(self, given: object) -> bool:
        """Return whether `given` denotes this value."""
        return given in (self.node, self.shown) or str(given) == str(self.shown)


@dataclass(frozen=True)
class Axis:
    """An axis of a grid: paths that are set together, and their values at each step."""

    names: tuple[str, ...]
    steps: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True)
class Cell:
    """A point of a grid.

    Attributes
    ----------
    index : int
        Number of the cell.
    values : mapping of str to Value
        Values by the names of axes.
    """

    index: int
    values: Mapping[str, Value]

    @property
    def shown(self) -> dict[str, Any]:
        """The values as tables show them."""
        return {name: value.shown for name, value in self.values.items()}

    def __str__(self) -> str:
        return ", ".join(f"{name}={value.shown}" for name, value in self.values.items())


@dataclass(frozen=True)
class Grid:
    """All cells of a sweep, and the experiment that they vary."""

    source: Source
    axes: tuple[Axis, ...]
    exclude: tuple[Mapping[str, Sequence[Any]], ...]

    @property
    def names(self) -> list[str]:
        """Names of all axes."""
        return [name for axis in self.axes for name in axis.names]

    def cells(self) -> list[Cell]:
        """List the cells.

        Raises
        ------
        ConfigError
            If `exclude` excludes all cells.
        """
        kept = [values for values in self._product() if not self._is_excluded(values)]
        if not kept:
            raise self.source.complain(("sweep",), "an empty grid: no cell is left")
        return [Cell(index, values) for index, values in enumerate(kept)]

    def varied(self, cell: Cell) -> Source:
        """Return the experiment of a cell."""
        return self.source.varied(
            (name, _node_of(name, value), self.source.blame(value.where))
            for name, value in cell.values.items()
        )

    def values(self, name: str) -> list[Value]:
        """Return the values of an axis.

        Raises
        ------
        ConfigError
            If there is no such axis.
        """
        for axis in self.axes:
            if name in axis.names:
                at = axis.names.index(name)
                return [step[at] for step in axis.steps]
        near = did_you_mean(name, self.names)
        raise ConfigError(f"no axis {name!r}{near}; there are {', '.join(self.names)}")

    def _product(self) -> Iterator[dict[str, Value]]:
        names = self.names
        for steps in itertools.product(*(axis.steps for axis in self.axes)):
            yield dict(zip(names, itertools.chain(*steps), strict=True))

    def _is_excluded(self, values: Mapping[str, Value]) -> bool:
        return any(
            all(any(values[name].is_meant_by(one) for one in given) for name, given in rule.items())
            for rule in self.exclude
        )


def take_sweep(source: Source) -> Grid | None:
    """Remove `sweep:` from an experiment and validate it.

    Returns
    -------
    Grid or None
        None if there is no `sweep:`.

    Raises
    ------
    ConfigError
        If `sweep:` is wrong, with file and line.
    """
    if "sweep" not in source.root:
        return None
    given = to_plain(source.root["sweep"])
    if not isinstance(given, dict) or not given:
        raise source.complain(("sweep",), "expected axes, such as seed: 5 seeds")
    rules = given.pop("exclude", [])
    axes = []
    for name, node in given.items():
        where: Location = ("sweep", name)
        if name == "zip":
            axes += _zipped(source, node, where)
        else:
            axes.append(_axis_of(source, name, node, where))
    _check_names(source, axes)
    count = math.prod(len(axis.steps) for axis in axes)
    if count > MOST_CELLS:
        message = f"a grid of {count:,} cells, and at most {MOST_CELLS:,} are planned: split it"
        raise source.complain(("sweep",), message)
    exclude = _rules(source, rules, axes)
    plain = source.varied(())
    del plain.root["sweep"]
    return Grid(plain, tuple(axes), exclude)


def _axis_of(source: Source, name: str, node: Any, where: Location) -> Axis:
    steps = tuple((value,) for value in _values(source, name, node, where))
    return Axis((name,), steps)


def _zipped(source: Source, node: Any, where: Location) -> list[Axis]:
    """Parse axes of paths that are set together: one map, or several in a list."""
    if isinstance(node, list):
        return [
            axis for index, one in enumerate(node) for axis in _zipped(source, one, (*where, index))
        ]
    if not isinstance(node, dict) or not node:
        raise source.complain(where, "expected axes that go together")
    columns = {name: _values(source, name, of, (*where, name)) for name, of in node.items()}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        told = ", ".join(f"{name} has {len(values)}" for name, values in columns.items())
        raise source.complain(where, f"axes that go together have as many values: {told}")
    return [Axis(tuple(columns), tuple(zip(*columns.values(), strict=True)))]


def _values(source: Source, name: str, node: Any, where: Location) -> list[Value]:
    if isinstance(node, dict) and node:
        return [Value(str(label), value, (*where, label)) for label, value in node.items()]
    try:
        found = (
            values_of_range(node, to_plain(source.root), name) if isinstance(node, str) else node
        )
    except ValueError as error:
        raise source.complain(where, str(error)) from None
    if not isinstance(found, list):
        message = (
            "expected a list of values, a map of names to values, a range such as "
            f"log(1MiB, 1TiB, 12) or linear(1, 9, 5), or 5 seeds, got {node!r}"
        )
        raise source.complain(where, message)
    if not found:
        raise source.complain(where, "an empty grid: no values")
    shown = [_shown(name, value) for value in found]
    for index, one in enumerate(shown):
        if one in shown[:index]:
            message = f"a second {one!r}; name the values: a map instead of a list"
            raise source.complain((*where, index), message)
    of_list = not isinstance(node, str)
    return [
        Value(text, value, (*where, index) if of_list else where)
        for index, (text, value) in enumerate(zip(shown, found, strict=True))
    ]


def _shown(name: str, value: Any) -> Any:
    """Return the text or number that represents an unnamed value in tables."""
    if name == "systems" and isinstance(value, list):
        return " + ".join(str(_shown(name, one)) for one in value)
    if not isinstance(value, dict):
        return str(value) if isinstance(value, list) else value
    if (label := value.get("label")) is not None:
        return str(label)
    parts = [str(value["name"])] if "name" in value else []
    parts += [f"{key}={inside}" for key, inside in value.items() if key != "name"]
    return " ".join(parts)


def _node_of(name: str, value: Value) -> Any:
    """Return the node of a value; a single value of `systems` becomes a list."""
    if name != "systems" or isinstance(value.node, list):
        return value.node
    return [value.node]


def _check_names(source: Source, axes: Sequence[Axis]) -> None:
    """Check that axes name keys of an experiment, and that no two axes set the same key."""
    seen: dict[tuple[str, ...], str] = {}
    for axis in axes:
        for name, value in zip(axis.names, axis.steps[0], strict=True):
            where = value.where[: value.where.index(name) + 1]
            path = tuple(str(name).split("."))
            fields = list(ExperimentSpec.model_fields)
            if path[0] not in fields:
                near = did_you_mean(path[0], [*fields, *_RESERVED])
                message = f"an axis that names nothing: an experiment has no {path[0]!r}{near}"
                raise source.complain(where, message, about=("sweep", name))
            for other, called in seen.items():
                shorter = min(len(path), len(other))
                if path[:shorter] == other[:shorter]:
                    message = f"clashes with the axis {called!r}: both set the same"
                    raise source.complain(where, message, about=("sweep", name))
            seen[path] = name


def _rules(
    source: Source, given: Any, axes: Sequence[Axis]
) -> tuple[Mapping[str, Sequence[Any]], ...]:
    where: Location = ("sweep", "exclude")
    if not isinstance(given, list):
        raise source.complain(where, f"expected a list of maps of axes to values, got {given!r}")
    values: dict[str, list[Value]] = {}
    for axis in axes:
        for at, name in enumerate(axis.names):
            values[name] = [step[at] for step in axis.steps]
    rules = []
    for index, rule in enumerate(given):
        if not isinstance(rule, dict) or not rule:
            message = f"expected a map of axes to values, got {rule!r}"
            raise source.complain((*where, index), message)
        for name, given_values in rule.items():
            if name not in values:
                message = f"no axis {name!r}{did_you_mean(name, values)}"
                raise source.complain((*where, index, name), message)
            for one in given_values if isinstance(given_values, list) else [given_values]:
                if not any(value.is_meant_by(one) for value in values[name]):
                    there = [str(value.shown) for value in values[name]]
                    message = f"the axis has no value {one!r}{did_you_mean(str(one), there)}"
                    raise source.complain((*where, index, name), message)
        rules.append({n: v if isinstance(v, list) else [v] for n, v in rule.items()})
    return tuple(rules)
