"""Merges of all pieces of a curve by ranges of the hashes of their blocks.

A merge of neighbours in a tree has all blocks of both. Three steps have fewer, and tasks that do
not depend on one another (`hash_ranges.hpp`):

1. *join*, by ranges of hashes: the access that moves each block of the LRU stack of a piece.
2. *rank*, by piece: the blocks of its stack above each moved one.
3. *resolve*, by piece: the distances of its first accesses.

Then pieces have no blocks, and `CurvePiece.merge` adds up their counts. Pieces with discards, which
are replayed in order, and samples, which are small, are merged in a tree instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim._core import locality as _locality
from mcsim.locality.column_file import ColumnFile, Columns, write_columns
from mcsim.locality.curve_parts import ALL, Partial, check_narrow, renumbered_keys
from mcsim.locality.curve_pieces import CurvePiece

_MOST_OF_A_JOIN = 1 << 25
"""Blocks of all pieces in a task, for `joins_for`."""

MOST_JOINS = _locality.HASH_RANGES

_EVENTS = ("kinds", "holes", "gone")


@dataclass(frozen=True)
class RangeMerge:
    """A merge of pieces that follow one another.

    Attributes
    ----------
    pieces : tuple of Path
        Files of the pieces, in order.
    folder : Path
        Folder of the results of tasks.
    joins : int
        Number of tasks that join, at most 256.
    """

    pieces: tuple[Path, ...]
    folder: Path
    joins: int

    def joined(self, task: int) -> Path:
        """Return the file of a task that joins."""
        return self.folder / f"{task:03}-of-{self.joins}.join"

    def ranked(self, piece: int) -> Path:
        """Return the file of the ranks of a piece."""
        return self.folder / f"{piece:05}-of-{len(self.pieces)}.rank"

    def join(self, task: int) -> None:
        """Join the blocks of some ranges of hashes, and write the result."""
        begin, end = (at * MOST_JOINS // self.joins for at in (task, task + 1))
        columns: dict[tuple[str, str], list[NDArray[Any]]] = {}
        for label, pieces in self._open.items():
            join = _locality.RangeJoin(len(pieces))
            lengths = []
            for at in pieces:
                last = self._keys(at, label, "last", begin, end)
                first_at = sum(self._files[at].lengths(label, "first")[:begin])
                join.add(self._keys(at, label, "first", begin, end), first_at, last)
                lengths.append(len(last))
            cuts = np.cumsum(lengths)[:-1]
            piece, access = join.finish()
            columns[label, "piece"] = np.split(piece, cuts)
            columns[label, "access"] = np.split(access, cuts)
        self._write(self.joined(task), columns)

    def rank(self, piece: int) -> None:
        """Rank the moved blocks in the stack of a piece, and write the result."""
        files = [ColumnFile(self.joined(task)) for task in range(self.joins)]
        columns: dict[tuple[str, str], list[NDArray[Any]]] = {}
        for label, pieces in self._open_in(piece):
            at = piece - pieces.start
            number, access = (
                np.concatenate([file.read(label, name, at, at + 1) for file in files])
                for name in ("piece", "access")
            )
            range_of = self._files[piece].read(label, "last_range")
            above, access, count = _locality.rank_moves(range_of, number, access, len(pieces))
            cuts = np.cumsum(count[:-1])[:-1]
            columns[label, "above"] = np.split(above, cuts)
            columns[label, "access"] = np.split(access, cuts)
            columns[label, "count"] = [count]
        self._write(self.ranked(piece), columns)

    def resolve(self, piece: int) -> CurvePiece:
        """Return the curves of a piece whose first accesses all have distances."""
        before = [ColumnFile(self.ranked(at)) for at in range(piece)]
        whole = CurvePiece.read(self.pieces[piece], with_last=False)
        curves: dict[str, Partial] = dict(whole.curves)
        for label, pieces in self._open_in(piece):
            range_of = self._files[piece].read(label, "first_range")
            earlier = before[pieces.start :]
            access, above = _moved_by(piece - pieces.start, label, earlier)
            curve = curves[label]
            assert isinstance(curve, _locality.PartialCurve)
            curves[label] = _locality.resolve_piece(curve, range_of, access, above)
        return replace(whole, curves=curves)

    @cached_property
    def _files(self) -> list[ColumnFile]:
        return [ColumnFile(path) for path in self.pieces]

    @cached_property
    def _number_of(self) -> dict[str, int]:
        """The numbers of VMs among those of all pieces."""
        names = dict.fromkeys(vm for file in self._files for vm in file.header["vms"])
        return {vm: number for number, vm in enumerate(names)}

    @cached_property
    def _open(self) -> dict[str, range]:
        """The pieces from the first to the last one whose curve of a label has blocks."""
        found: dict[str, range] = {}
        for at, file in enumerate(self._files):
            for label in file.header["curves"]:
                if any(file.lengths(label, name) for name in ("first", "last")):
                    found[label] = range(found.get(label, range(at, at)).start, at + 1)
        return found

    def _open_in(self, piece: int) -> list[tuple[str, range]]:
        """Return the labels of a piece whose curves depend on those of other pieces."""
        labels = self._files[piece].header["curves"]
        return [(label, of) for label, of in self._open.items() if piece in of and label in labels]

    def _keys(self, at: int, label: str, name: str, begin: int, end: int) -> NDArray[np.uint64]:
        """Return keys of a piece with the numbers that VMs have among those of all pieces."""
        file = self._files[at]
        if not file.lengths(label, name):
            return np.empty(0, np.uint64)
        keys = file.read(label, name, begin, end)
        if file.header["facts"]["by"] == "vm" and label != ALL:
            return keys
        vms = file.header["vms"]
        if len(vms) == 1 and len(self._number_of) > 1:
            check_narrow(keys)
        return renumbered_keys(keys, [self._number_of[vm] for vm in vms])

    def _write(self, path: Path, columns: Columns) -> None:
        contents: dict[str, Any] = {}
        for file in self._files:
            contents |= file.header["contents"]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_columns(path, {"contents": contents}, columns)


def _moved_by(
    piece: int, label: str, before: Sequence[ColumnFile]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the blocks that a piece moves, in the stacks of earlier pieces from the bottom up."""
    accesses, aboves = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    later = 0
    for file in reversed(before):
        if not file.lengths(label, "count"):
            continue
        accesses.append(file.read(label, "access", piece, piece + 1))
        aboves.append(file.read(label, "above", piece, piece + 1) + np.int64(later))
        later += int(file.read(label, "count")[piece + 1 :].sum())
    return np.concatenate(accesses[::-1]), np.concatenate(aboves[::-1])


def can_merge_by_ranges(files: Sequence[ColumnFile]) -> bool:
    """Return whether pieces are several, exact and without discards."""
    is_exact = all(file.header["facts"]["estimator"] == "exact" for file in files)
    return len(files) > 1 and is_exact and not any(_has_events(file) for file in files)


def _has_events(file: ColumnFile) -> bool:
    return any(
        sum(file.lengths(label, name)) for label in file.header["curves"] for name in _EVENTS
    )


def joins_for(files: Sequence[ColumnFile]) -> int:
    """Return a number of joins, each of which needs about 1 GB."""
    blocks = sum(sum(file.lengths(ALL, "last")) for file in files)
    return min(1 + blocks // _MOST_OF_A_JOIN, MOST_JOINS)
