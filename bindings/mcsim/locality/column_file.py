"""Files of columns in parts: pieces of curves, and what steps of a merge hand over.

A part is read without the others. Each has a checksum, as the header has.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.base.files import replacing
from mcsim.base.inputs import open_regular, parse_object

Parts = Sequence[NDArray[Any]]
Columns = Mapping[tuple[str, str], Parts]
"""Parts of equal type by label of a curve and name; a column without parts is empty."""

_MAGIC = b"mcsim curve piece 3\n"
_HEAD = len(_MAGIC) + 8 + 32
_MOST_HEADER = 2**31


def write_columns(path: Path, header: Mapping[str, Any], columns: Columns) -> None:
    """Write columns to a file, which appears whole or not at all."""
    parts = [*chain.from_iterable(columns.values())]
    shapes = [
        (*key, of[0].dtype.str if of else "|u1", [len(part) for part in of])
        for key, of in columns.items()
    ]
    sums = [zlib.crc32(part.data) for part in parts]
    text = json.dumps({**header, "columns": shapes, "sums": sums}).encode()
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(_MAGIC + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest())
        file.write(text)
        for part in parts:
            file.write(part.view(np.uint8).data)


class ColumnFile:
    """The columns in a file of `write_columns`.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    header : dict
        As given to `write_columns`.

    Raises
    ------
    ConfigError
        If the file is of another kind or version, or its header is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with open_regular(path) as file:
            self.header = _header(path, file)
            at = file.tell()
        shapes = self.header.pop("columns")
        sums = iter(self.header.pop("sums"))
        self._columns: dict[tuple[str, str], tuple[np.dtype[Any], list[int], list[int], int]] = {}
        for label, name, dtype, lengths in shapes:
            kind = np.dtype(dtype)
            self._columns[label, name] = kind, lengths, [next(sums) for _ in lengths], at
            at += sum(lengths) * kind.itemsize

    def names(self, label: str) -> list[str]:
        """Return the columns of a curve."""
        return [name for of, name in self._columns if of == label]

    def lengths(self, label: str, name: str) -> list[int]:
        """Return the lengths of the parts of a column; none if it is not there."""
        return self._columns[label, name][1] if (label, name) in self._columns else []

    def read(self, label: str, name: str, begin: int = 0, end: int | None = None) -> NDArray[Any]:
        """Read the parts of a column from `begin` to before `end`.

        Raises
        ------
        ConfigError
            If one is damaged.
        """
        dtype, lengths, sums, at = self._columns[label, name]
        chosen = lengths[begin:end]
        first = at + sum(lengths[:begin]) * dtype.itemsize
        whole = np.empty(0, dtype)
        if total := sum(chosen):
            whole = np.fromfile(self.path, dtype, total, offset=first)
        ends = [0, *accumulate(chosen)]
        for part, stored in enumerate(sums[begin:end]):
            piece = whole[ends[part] : ends[part + 1]]
            if len(piece) < chosen[part] or zlib.crc32(piece.data) != stored:
                raise ConfigError(
                    f"{self.path}: damaged: its checksum does not match; make it again"
                )
        whole.flags.writeable = False
        return whole


def _header(path: Path, file: BinaryIO) -> dict[str, Any]:
    head = file.read(_HEAD)
    if head[: len(_MAGIC)] != _MAGIC:
        raise ConfigError(f"{path}: not a piece of a curve of this version of mcsim")
    length = int.from_bytes(head[len(_MAGIC) : len(_MAGIC) + 8], "little")
    text = file.read(min(length, _MOST_HEADER))
    if hashlib.sha256(text).digest() != head[len(_MAGIC) + 8 :]:
        raise ConfigError(f"{path}: damaged: the checksum of its header does not match")
    return parse_object(text)
