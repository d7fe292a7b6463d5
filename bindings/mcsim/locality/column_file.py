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
_HEAD = len(_MAGIC) + 2 * 8 + 32
_INDEX = np.dtype([("length", "<u8"), ("checksum", "<u4")])
_MOST_HEADER = 2**31


def write_columns(path: Path, header: Mapping[str, Any], columns: Columns) -> None:
    """Write columns to a file, which appears whole or not at all."""
    parts = [*chain.from_iterable(columns.values())]
    shapes = [(*key, of[0].dtype.str if of else "|u1", len(of)) for key, of in columns.items()]
    index = np.array([(len(part), zlib.crc32(part.data)) for part in parts], _INDEX).tobytes()
    text = json.dumps({**header, "columns": shapes}).encode()
    lengths = b"".join(len(of).to_bytes(8, "little") for of in (text, index))
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(_MAGIC + lengths + hashlib.sha256(text + index).digest())
        file.write(text + index)
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
            self.header, index = _header(path, file)
            at = file.tell()
        self._columns: dict[tuple[str, str], tuple[np.dtype[Any], NDArray[Any], int]] = {}
        first = 0
        for label, name, dtype, count in self.header.pop("columns"):
            of = index[first : first + count]
            self._columns[label, name] = np.dtype(dtype), of, at
            first += count
            at += int(of["length"].sum()) * np.dtype(dtype).itemsize

    def names(self, label: str) -> list[str]:
        """Return the columns of a curve."""
        return [name for of, name in self._columns if of == label]

    def length(self, label: str, name: str, end: int | None = None) -> int:
        """Return the length of the parts of a column up to before `end`; 0 if it is not there."""
        if (label, name) not in self._columns:
            return 0
        return int(self._columns[label, name][1]["length"][:end].sum())

    def read(self, label: str, name: str, begin: int = 0, end: int | None = None) -> NDArray[Any]:
        """Read the parts of a column from `begin` to before `end`.

        Raises
        ------
        ConfigError
            If one is damaged.
        """
        dtype, index, at = self._columns[label, name]
        offset = at + self.length(label, name, begin) * dtype.itemsize
        lengths = index["length"][begin:end].tolist()
        whole = np.empty(0, dtype)
        if total := sum(lengths):
            whole = np.fromfile(self.path, dtype, total, offset=offset)
        ends = [0, *accumulate(lengths)]
        for part, stored in enumerate(index["checksum"][begin:end].tolist()):
            piece = whole[ends[part] : ends[part + 1]]
            if len(piece) < lengths[part] or zlib.crc32(piece.data) != stored:
                raise ConfigError(
                    f"{self.path}: damaged: its checksum does not match; make it again"
                )
        whole.flags.writeable = False
        return whole


def _header(path: Path, file: BinaryIO) -> tuple[dict[str, Any], NDArray[Any]]:
    """Read the header, and the length and the checksum of each part."""
    head = file.read(_HEAD)
    if head[: len(_MAGIC)] != _MAGIC:
        raise ConfigError(f"{path}: not a piece of a curve of this version of mcsim")
    text, index = (
        file.read(min(int.from_bytes(head[at : at + 8], "little"), _MOST_HEADER))
        for at in (len(_MAGIC), len(_MAGIC) + 8)
    )
    if hashlib.sha256(text + index).digest() != head[len(_MAGIC) + 16 :]:
        raise ConfigError(f"{path}: damaged: the checksum of its header does not match")
    return parse_object(text), np.frombuffer(index, _INDEX)
