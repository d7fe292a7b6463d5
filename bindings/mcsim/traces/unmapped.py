"""Columns that look like the length of a request and are not said to be it."""

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

__all__ = ["check_csv_header", "check_length"]

_LENGTH = re.compile(
    r"(.*[_. -])?(size|sz|bytes|nbytes|len|length|sectors)"
    r"([_. -](in[_. -])?(bytes|b|sectors|blocks))?"
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")

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


def check_csv_header(path: Path, options: Mapping[str, OptionValue]) -> None:
    """Hold delimited text to the same, if its first line names its columns.

    Raises
    ------
    ConfigError
        As of `check_length`.
    """
    if "length" in options or options.get("header", True) is False:
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
    if any(name == "length" or name.startswith("length_") for name in names):
        return
    fields = ("time", "vm", "op", "offset", "response")
    taken = {
        name
        for place, name in enumerate(names, 1)
        for role in (*fields, "classes")
        if (said := str(options.get(role, ""))) in (name, str(place))
        or (said == "" and role in fields and (name == role or name.startswith(f"{role}_")))
        or (role == "vm" and name in said.split("+"))
    }
    check_length(f"{path}:1", names, taken, options)


def _text_of(path: Path) -> Any:
    """Open a file that may be compressed, as the core knows it by its first bytes."""
    openers: dict[bytes, Callable[[Path], Any]] = {
        b"\x1f\x8b": gzip.open,
        b"BZh": bz2.open,
        b"\xfd7zXZ": lzma.open,
        b"\x28\xb5\x2f\xfd": lambda of: pa.CompressedInputStream(pa.OSFile(str(of)), "zstd"),
    }
    with path.open("rb") as file:
        head = file.read(6)
    found = next((of for magic, of in openers.items() if head.startswith(magic)), None)
    return path.open("rb") if found is None else found(path)
