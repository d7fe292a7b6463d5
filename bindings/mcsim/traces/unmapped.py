"""Checks of column names against the fields and units that they are mapped to."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from mcsim.base.errors import ConfigError
from mcsim.traces.store import OptionValue

_LENGTH = re.compile(
    r"(.*[_. -])?(size|sz|bytes|nbytes|len|length|sectors)"
    r"([_. -](in[_. -])?(bytes|b|sectors|blocks))?"
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SECTORS = re.compile(r"\w*sectors?\w*|n?sects?|(lba|lbn)[a-z]*|[a-z]*(lba|lbn)s?|nlb")
_BLOCKS = re.compile(r"\w*(block|blk)\w*|pages?")
_IDS = re.compile(r"keys?|ids?|obj|objid|\w*objects?|hash|uuid")

# No line that names columns is longer.
_MOST_BYTES = 1 << 16


def check_length(
    source: str, names: Sequence[str], taken: Collection[str], options: Mapping[str, OptionValue]
) -> None:
    """Refuse a table whose requests would be one block each beside a column of their lengths.

    Parameters
    ----------
    source : str
        What messages call the table.
    names : sequence of str
        Its columns.
    taken : collection of str
        Those that have a meaning, of which none is the length.
    options : mapping
        Of the format: an empty `length` says that there is none.

    Raises
    ------
    ConfigError
        If a column's name is that of a length.
    """
    if "length" in options:
        return
    for name in names:
        if name not in taken and _LENGTH.fullmatch(_HUMP.sub("_", name).lower()):
            raise ConfigError(
                f"{source}: length: state its column: {name!r} may be it, and without one every "
                f"request is of one block (length: {name}; length: '' if it has none)"
            )


def check_units(
    source: str, columns: Mapping[str, Sequence[str]], options: Mapping[str, OptionValue]
) -> None:
    """Refuse to read a column as bytes by default if its name is that of another unit.

    Parameters
    ----------
    source : str
        Name of the table in messages.
    columns : mapping of str to sequence of str
        Names of the columns of every field.
    options : mapping
        Options of the format; `offset_unit` and `length_unit` state units.

    Raises
    ------
    ConfigError
        If an offset or a length may count sectors or blocks, or an offset may be an id.
    """
    for field in ("offset", "length"):
        if f"{field}_unit" in options:
            continue
        for name in columns.get(field, ()):
            words = re.split(r"[^a-z]+", _HUMP.sub("_", name).lower())
            if {"bytes", "byte", "b"} & set(words):
                continue
            for pattern, what, unit in (
                (_SECTORS, "count sectors of 512 bytes", "sectors"),
                (_BLOCKS, "count blocks", "blocks"),
                (_IDS, "hold ids of objects", "blocks"),
            ):
                if any(map(pattern.fullmatch, words)) and (field, pattern) != ("length", _IDS):
                    raise ConfigError(
                        f"{source}: {field}_unit: state it: column {name!r} may {what} "
                        f"({field}_unit: {unit}; {field}_unit: bytes if it counts bytes)"
                    )


def check_csv_header(path: Path, options: Mapping[str, OptionValue]) -> None:
    """Check the same of delimited text, if its first line names its columns.

    Raises
    ------
    ConfigError
        As of `check_length` and `check_units`.
    """
    if options.get("header", True) is False:
        return
    delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(
        given := str(options.get("delimiter", ",")), given
    )
    names: list[str] = []
    # What cannot be read is told by the one who reads all of it.
    with suppress(OSError, EOFError, ValueError, TypeError, csv.Error, lzma.LZMAError):
        with _text_of(path) as file:
            line = file.read(_MOST_BYTES).partition(b"\n")[0].decode("utf-8-sig")
        names = next(csv.reader([line.rstrip("\r")], delimiter=delimiter), [])

    def columns_of(field: str) -> list[str]:
        if said := str(options.get(field, "")):
            stated = said.split("+") if field == "vm" else [said]
            return [n for place, n in enumerate(names, 1) if {n, str(place)} & set(stated)][
                : len(stated)
            ]
        if field == "classes":
            return []
        return [name for name in names if name == field or name.startswith(f"{field}_")][:1]

    fields = ("time", "vm", "op", "offset", "length", "response", "classes")
    columns = {field: columns_of(field) for field in fields}
    check_units(f"{path}:1", columns, options)
    if not columns["length"]:
        taken = {name for of_field in columns.values() for name in of_field}
        check_length(f"{path}:1", names, taken, options)


def _text_of(path: Path) -> Any:
    """Open a file that may be compressed, as the core knows it by its first bytes."""
    openers: dict[bytes, Callable[[Path], Any]] = {
        b"\x1f\x8b": gzip.open,
        b"BZh": bz2.open,
        b"\xfd7zXZ": lzma.open,
        b"\x28\xb5\x2f\xfd": lambda of: pa.CompressedInputStream(of.open("rb"), "zstd"),
    }
    with path.open("rb") as file:
        head = file.read(6)
    found = next((of for magic, of in openers.items() if head.startswith(magic)), None)
    return path.open("rb") if found is None else found(path)
