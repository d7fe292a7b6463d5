"""A document as data: bibliography, published numbers and notes, one YAML file each.

`document.yaml` is a map with the keys of `Document`.

`published.yaml` is a list of maps:

    - figure: fig6                   # of this document
      item: total                    # key in the values of the figure's finding
      text: all volumes, against Global LRU
      value: 31                      # a number, or a text such as "10-50 ns"
      unit: "%"
      kind: about                    # exact, about or bound
      page: abstract

Optional keys: `within`, the absolute tolerance of a published zero; `construction`, how the
stand-in was built to produce the value; `unmeasured`, why nothing here measures the value. The
value of a bound is such as `"<= 5"` or `">= 72"`.

`notes.yaml` is a list of maps. Keys are a `figure`, the `about` (an item or a claim) and a `note`:
the probable reason of a difference, or a caveat.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq
from ruamel.yaml.error import YAMLError

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.config.load import to_plain

Kind = Literal["exact", "about", "bound"]


class _Map(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


_Entry = TypeVar("_Entry", bound=_Map)


class Published(_Map):
    """One number, or one short text, that a document prints."""

    figure: str
    """of the document, without its name"""
    item: str
    """as the figure's finding calls it"""
    value: float | str
    """as printed; of a bound `<= 5` or `>= 72`"""
    unit: str = ""
    """of the value, and of what is measured"""
    kind: Kind
    """what the document claims by it"""
    page: int | str = ""
    """where: a page, a slide, the abstract"""
    text: str = ""
    """what it is, in words"""
    within: float = 0
    """absolute tolerance of a published zero, of which 10 % is nothing"""
    construction: str = ""
    """how the workload or the model was built to produce the value; empty if it was not"""
    unmeasured: str = ""
    """why nothing here measures the value"""

    @model_validator(mode="after")
    def _has_a_value_of_its_kind(self) -> Published:
        if self.kind == "bound":
            self.bound()
        elif self.within and self.value != 0:
            raise ValueError("within: only a published zero has an absolute tolerance")
        return self

    def bound(self) -> tuple[str, float]:
        """Return which bound it is, ``'<='`` or ``'>='``, and the number."""
        which, _, number = str(self.value).partition(" ")
        try:
            if which not in ("<=", ">="):
                raise ValueError
            return which, float(number)
        except ValueError:
            raise ValueError(
                f"value: of a bound expected such as '<= 5' or '>= 72', got {self.value!r}"
            ) from None

    @property
    def printed(self) -> str:
        """The value as the document prints it, with its unit."""
        return ("about " if self.kind == "about" else "") + shown(self.value, self.unit)


class Document(_Map):
    """A published document."""

    title: str
    """as printed on its first page"""
    authors: list[str]
    """in the printed order"""
    year: int
    """of publication"""
    published: str
    """where: a conference, a university"""
    link: str
    """a lasting address"""

    @property
    def citation(self) -> str:
        """Authors, title, place and year, in a line."""
        return f"{', '.join(self.authors)}: {self.title}; {self.published}, {self.year}"


class Note(_Map):
    """The probable reason of a difference, or a caveat."""

    figure: str
    """of the document, without its name"""
    about: str
    """the item or the claim"""
    note: str
    """a sentence or two"""


def read_document(folder: Path) -> Document:
    """Read the bibliography of a document.

    Raises
    ------
    ConfigError
        If the file has other keys than a `Document`, or lacks one.
    """
    file = folder / "document.yaml"
    node = _nodes(file)
    try:
        return Document.model_validate(to_plain(node))
    except ValidationError as error:
        raise ConfigError(f"{file}: {_said(error, Document)}") from None


def read_published(folder: Path) -> list[Published]:
    """Read the published numbers of a document.

    Raises
    ------
    ConfigError
        If the file does not have the format above; the message names file and line.
    """
    return _read(folder / "published.yaml", Published)


def read_notes(folder: Path) -> list[Note]:
    """Read the notes on a document's figures; none where it has no such file."""
    file = folder / "notes.yaml"
    return _read(file, Note) if file.exists() else []


def _nodes(file: Path) -> Any:
    try:
        return YAML(typ="rt").load(file)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    except YAMLError as error:
        raise ConfigError(f"{file}: not YAML: {str(error).splitlines()[0]}") from None


def _read(file: Path, kind: type[_Entry]) -> list[_Entry]:
    nodes = _nodes(file)
    if not isinstance(nodes, CommentedSeq):
        raise ConfigError(f"{file}:1: expected a list of maps")
    entries = []
    for index, node in enumerate(nodes):
        try:
            entries.append(kind.model_validate(to_plain(node)))
        except ValidationError as error:
            line = nodes.lc.item(index)[0] + 1
            raise ConfigError(f"{file}:{line}: {_said(error, kind)}") from None
    return entries


def _said(error: ValidationError, kind: type[BaseModel]) -> str:
    """Describe the first error of an entry."""
    first = error.errors()[0]
    key = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        return f"unknown key {key!r}{did_you_mean(key, kind.model_fields)}"
    if first["type"] == "missing":
        return f"missing key {key!r}"
    return ": ".join(filter(None, (key, first["msg"].removeprefix("Value error, "))))


def shown(value: Any, unit: str) -> str:
    """Write a value with its unit, numbers in three figures."""
    if isinstance(value, str):
        text = value.replace("<=", "≤").replace(">=", "≥")
    elif value == round(value):
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{text} {unit}".rstrip()
