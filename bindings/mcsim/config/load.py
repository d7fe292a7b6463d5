"""Parse a YAML file into a validated `ExperimentSpec`; every error has its line.

A `Source` has the file as nodes with their lines. Overrides (`--set`) edit the nodes before
validation. A file and an override are therefore validated by the same rules, and each error names
its origin:

    web.yaml:7: tiers[0]: unknown key 'capacty' (did you mean 'capacity'?)
    --set tiers.0.capacity=lots: tiers[0].capacity: expected a capacity …
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scalarbool import ScalarBoolean
from ruamel.yaml.scalarfloat import ScalarFloat
from ruamel.yaml.scalarint import ScalarInt

from mcsim.base import units
from mcsim.base.arguments import file_given
from mcsim.base.errors import ConfigError, HostError, is_host_fault
from mcsim.base.inputs import note_input, read_text_or_pipe, resolved
from mcsim.config.complaints import complaints
from mcsim.config.spec import SHORTHANDS, ExperimentSpec
from mcsim.config.values import DEFAULT_BLOCK_BYTES

# Limits far above any real experiment.
_MOST_BYTES = 4 << 20
MOST_VALUES = 1_000_000
_MOST_LEVELS = 50
_TOO_DEEP = f"nested more than {_MOST_LEVELS} deep"

Location = tuple[str | int, ...]
Schema = TypeVar("Schema", bound=BaseModel)


def format_location(where: Sequence[str | int]) -> str:
    """Format a location for people: `tiers[0].capacity`."""
    text = ""
    for step in where:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


class Source:
    """Nodes of an experiment's configuration, with the origin of each.

    Parameters
    ----------
    name : str
        Name in messages: a file name, or `spec` for a configuration built in Python.
    root : mapping
        Nodes. Those of ruamel have lines; plain dictionaries have none.
    folder : Path
        Base of relative paths.
    """

    def __init__(self, name: str, root: Mapping[str, Any], folder: Path) -> None:
        self.name = name
        check_extent(root, lambda _: name)
        self.root: Any = copy.deepcopy(root)  # overrides must not reach the caller's
        self.folder = folder
        self.code_folder = folder  # of classes and libraries
        self._lines: Any = self.root  # nodes with lines
        self._overrides: dict[Location, str] = {}
        self._inherited: dict[Location, Source] = {}

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Source:
        """Read a YAML 1.2 file.

        Raises
        ------
        ConfigError
            If it is missing, is not YAML, or its top is not a map.
        HostError
            If the system cannot read it.
        """
        path = file_given("experiment", path)
        note_input(path)
        try:
            content = read_text_or_pipe(path, _MOST_BYTES)
        except OSError as error:
            kind = HostError if is_host_fault(error) else ConfigError
            raise kind(f"{path}: {error.strerror}") from error
        except ValueError as error:  # a NUL in it
            raise ConfigError(f"{path}: {error}") from None
        if len(content) > _MOST_BYTES:
            limit = units.format_bytes(_MOST_BYTES)
            raise ConfigError(f"{path}: no experiment: it has more than {limit}")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from None
        root = _parse_yaml(text, lambda line: f"{path}:{line}")
        if not isinstance(root, CommentedMap):
            raise ConfigError(f"{path}:1: expected keys such as 'name:' and 'workload:'")
        source = cls(str(path), {}, resolved(path).parent)
        source.root = source._lines = root  # no copy, because copying nodes with lines is slow
        return source

    def override(self, assignment: str) -> None:
        """Apply one `--set key=value`: a dotted path, indices of lists as numbers.

        Raises
        ------
        ConfigError
            If the path leads nowhere or the value is not YAML.
        """
        blame = f"--set {assignment}"
        dotted, separator, text = assignment.partition("=")
        if not separator or not dotted:
            raise ConfigError(f"{blame}: expected key=value, such as seed=2")
        value = _parse_yaml(text, lambda _: blame)
        where = _descend_and_set(self.root, dotted.split("."), value, blame)
        self._wrote(where, blame)

    def inheriting(self, root: dict[str, Any], inherited: Mapping[Location, Source]) -> Source:
        """Return a copy with the nodes `root`, of which `inherited` are those of other files."""
        source = copy.copy(self)
        source.root = root
        source._inherited = dict(inherited)
        return source

    def varied(self, settings: Iterable[tuple[str, Any, str]]) -> Source:
        """Return a copy with some values replaced.

        Parameters
        ----------
        settings : iterable of (str, value, str)
            Dotted paths as of `override`, with the value and its origin.

        Raises
        ------
        ConfigError
            If a path leads nowhere.
        """
        source = copy.copy(self)
        source.root = to_plain(self.root)
        source._lines = self._lines
        source._overrides, source._inherited = dict(self._overrides), dict(self._inherited)
        for dotted, value, blame in settings:
            path = dotted.split(".")
            source._wrote(_descend_and_set(source.root, path, copy.deepcopy(value), blame), blame)
        return source

    def _wrote(self, where: Location, blame: str) -> None:
        """Record the origin of a value, in place of the origins of all values below it."""
        self._overrides[where] = blame
        for place in [place for place in self._inherited if place[: len(where)] == where]:
            del self._inherited[place]

    def blame(self, where: Sequence[str | int]) -> str:
        """Return the origin of the node at a location, or of the nearest node above it."""
        for depth in range(len(where), 0, -1):
            if (blame := self._overrides.get(tuple(where[:depth]))) is not None:
                return blame
            if (other := self._inherited.get(tuple(where[:depth]))) is not None:
                return other.blame(where)
        line = self._line(where)
        return self.name if line is None else f"{self.name}:{line}"

    def complain(
        self,
        where: Sequence[str | int],
        message: str,
        *,
        about: Sequence[str | int] | None = None,
    ) -> ConfigError:
        """Return an error with the line of `where` and a message about `about` or `where`."""
        place = format_location(where if about is None else about)
        return ConfigError(": ".join(filter(None, (self.blame(where), place, message))))

    @contextmanager
    def blaming(
        self, where: Sequence[str | int], *, about: Sequence[str | int] | None = None
    ) -> Iterator[None]:
        """Add a location to the errors raised inside, as `complain` does."""
        try:
            yield
        except ConfigError as error:
            raise self.complain(where, str(error), about=about) from error

    def order(self, where: Sequence[str | int]) -> int:
        """Return the line of a location, to sort errors; overrides are first."""
        return self._line(where) or 0

    def _line(self, where: Sequence[str | int]) -> int | None:
        node: Any = self._lines
        line = node.lc.line if isinstance(node, CommentedMap) else None
        for step in where:
            if isinstance(node, CommentedMap) and step in node and step in (node.lc.data or {}):
                line = node.lc.key(step)[0]
            elif isinstance(node, CommentedSeq) and _is_index(node, step):
                line = node.lc.item(step)[0] if step in (node.lc.data or {}) else line
            else:
                break
            node = node[step]
        return None if line is None else line + 1


def _is_index(node: Sequence[Any], step: object) -> bool:
    return isinstance(step, int) and 0 <= step < len(node)


def _parse_yaml(text: str, blame: Callable[[int], str]) -> Any:
    reader = YAML(typ="rt")
    reader.max_depth = 2 * _MOST_LEVELS  # the time of a level grows with its depth
    try:
        root = reader.load(text)
    except RecursionError:
        raise ConfigError(f"{blame(1)}: {_TOO_DEEP}") from None
    except DuplicateKeyError as error:
        key = str(error.problem).partition('"')[2].partition('"')[0]
        raise ConfigError(f"{_blame(error, blame)}: duplicate key {key!r}") from None
    except MarkedYAMLError as error:
        if str(error.problem).startswith("maximum depth"):
            raise ConfigError(f"{blame(1)}: {_TOO_DEEP}") from None
        raise ConfigError(f"{_blame(error, blame)}: not YAML: {error.problem}") from None
    except YAMLError as error:
        raise ConfigError(f"{blame(1)}: not YAML: {str(error).splitlines()[0]}") from None
    check_extent(root, blame)
    return root


def check_extent(root: Any, blame: Callable[[int], str], most_values: int = MOST_VALUES) -> None:
    """Check the number of values, with aliases written out, and the depth of nesting.

    Raises
    ------
    ConfigError
        If a node contains itself, or exceeds a limit.
    """
    values: dict[int, int] = {}  # by node; 0 while it is walked

    def extent(node: Any, depth: int) -> int:
        if not isinstance(node, (Mapping, list, tuple)):
            return 1
        known = values.get(id(node))
        if known == 0:
            raise complaint(node, "a value that contains itself")
        if known is None:
            if depth == _MOST_LEVELS:
                raise complaint(node, _TOO_DEEP)
            values[id(node)] = 0
            inside = node.values() if isinstance(node, Mapping) else node
            known = 1 + sum(extent(value, depth + 1) for value in inside)
            if known > most_values:
                raise complaint(node, f"more than {most_values:,} values, aliases written out")
            values[id(node)] = known
        return known

    def complaint(node: Any, what: str) -> ConfigError:
        line = node.lc.line if isinstance(node, (CommentedMap, CommentedSeq)) else 0
        return ConfigError(f"{blame(line + 1)}: {what}")

    extent(root, 0)


def _blame(error: MarkedYAMLError, blame: Callable[[int], str]) -> str:
    mark = error.problem_mark or error.context_mark
    return blame(1 if mark is None else mark.line + 1)


def _descend_and_set(root: dict[str, Any], path: list[str], value: Any, blame: str) -> Location:
    """Set `value` at a dotted path; write out shorthands on the way."""
    node: Any = root
    where: list[str | int] = []
    for depth, text in enumerate(path):
        step = _step_into(node, text, where, blame)
        where.append(step)
        if depth + 1 == len(path):
            node[step] = value
            break
        if isinstance(node, dict) and step not in node:
            node[step] = {}
        if isinstance(node[step], str) and (place := _place_of(where)) in SHORTHANDS:
            node[step] = {SHORTHANDS[place]: node[step]}
        node = node[step]
    return tuple(where)


def _step_into(node: Any, text: str, where: list[str | int], blame: str) -> str | int:
    if isinstance(node, dict):
        return text
    if not isinstance(node, list):
        raise ConfigError(f"{blame}: {format_location(where)} is a value, it has no {text!r}")
    if not text.isdecimal() or int(text) >= len(node):
        items = f"{len(node)} item{'' if len(node) == 1 else 's'}, counted from 0"
        raise ConfigError(f"{blame}: {format_location(where)} has no item {text!r} ({items})")
    return int(text)


def _place_of(where: Sequence[str | int]) -> str:
    return next(step for step in reversed(where) if isinstance(step, str))


def to_plain(node: Any) -> Any:
    """Convert ruamel's nodes to plain Python values."""
    if isinstance(node, Mapping):
        return {key: to_plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [to_plain(value) for value in node]
    if isinstance(node, ScalarBoolean):
        return bool(node)
    if isinstance(node, ScalarInt):
        return int(node)
    if isinstance(node, ScalarFloat):
        return float(node)
    if isinstance(node, str):
        return str(node)
    return node


def check_spec(source: Source) -> ExperimentSpec:
    """Check a configuration against the schema.

    Raises
    ------
    ConfigError
        All complaints, a line each, in the order of the file.
    """
    return check(source, ExperimentSpec)


def check(source: Source, schema: type[Schema]) -> Schema:
    """Check nodes against any schema; capacities may use the nodes' `block_bytes`.

    Raises
    ------
    ConfigError
        All complaints, a line each, in the order of the file.
    """
    plain = to_plain(source.root)
    try:
        return schema.model_validate(plain, context={"block_bytes": _block_bytes(plain)})
    except ValidationError as error:
        found = error.errors(include_url=False)
    raise ConfigError("\n".join(complaints(source, schema, found)))


def _block_bytes(plain: Mapping[str, Any]) -> int:
    """The block size that capacities in bytes refer to; its own check comes with the rest."""
    try:
        size = units.parse_bytes(plain.get("block_bytes", DEFAULT_BLOCK_BYTES))
    except ValueError:
        size = 0
    return size if 0 < size < 2**32 else DEFAULT_BLOCK_BYTES
