"""Merges of all pieces of a curve by ranges of the hashes of their blocks.

A merge of neighbours in a tree has all blocks of both. These three steps have fewer, and each has
independent tasks (`hash_ranges.hpp`).

1. *join*, by ranges of hashes: the access that moves each block of the LRU stack of a piece.
2. *rank*, by piece: the blocks of its stack above each moved one.
3. *resolve*, by piece: the distances of its first accesses.

Then pieces have no blocks, and `CurvePiece.merge` adds up their counts. Pieces with discards, which
are replayed in order, and samples, which are small, are merged in a tree instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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

_GROUPED = ("first", "last")
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
        files = [ColumnFile(path) for path in self.pieces]
        numbers = _numbers_of_vms(files)
        columns: dict[tuple[str, str], list[NDArray[Any]]] = {}
        opened = _open_pieces(files)
        for label, (first, last) in opened.items():
            join = _locality.RangeJoin(last - first)
            lengths = []
            for file in files[first:last]:
                keys = [_keys(file, label, name, begin, end, numbers) for name in _GROUPED]
                join.add(keys[0], file.length(label, "first", begin), keys[1])
                lengths.append(len(keys[1]))
            cuts = np.cumsum(lengths)[:-1]
            piece, access = join.finish()
            columns[label, "piece"] = np.split(piece, cuts)
            columns[label, "access"] = np.split(access, cuts)
        contents: dict[str, Any] = {}
        for file in files:
            contents |= file.header["contents"]
        _write(self.joined(task), {"contents": contents, "open": opened}, columns)

    def rank(self, piece: int) -> None:
        """Rank the moved blocks in the stack of a piece, and write the result."""
        files = [ColumnFile(self.joined(task)) for task in range(self.joins)]
        of_piece = ColumnFile(self.pieces[piece])
        columns: dict[tuple[str, str], list[NDArray[Any]]] = {}
        for label, (first, last) in _open_in(files[0], of_piece, piece):
            at = piece - first
            number, access = (
                np.concatenate([file.read(label, name, at, at + 1) for file in files])
                for name in ("piece", "access")
            )
            range_of = of_piece.read(label, "last_range")
            above, access, count = _locality.rank_moves(range_of, number, access, last - first)
            cuts = np.cumsum(count[:-1])[:-1]
            columns[label, "above"] = np.split(above, cuts)
            columns[label, "access"] = np.split(access, cuts)
            columns[label, "count"] = [count]
        _write(self.ranked(piece), files[0].header, columns)

    def resolve(self, piece: int) -> CurvePiece:
        """Return the curves of a piece, with the distances of all its first accesses."""
        before = [ColumnFile(self.ranked(at)) for at in range(piece)]
        whole = CurvePiece.read(self.pieces[piece], with_last=False)
        if not before:
            return whole
        of_piece = ColumnFile(self.pieces[piece])
        curves: dict[str, Partial] = dict(whole.curves)
        for label, (first, _) in _open_in(before[0], of_piece, piece):
            range_of = of_piece.read(label, "first_range")
            access, above = _moved_by(piece - first, label, before[first:])
            curve = curves[label]
            assert isinstance(curve, _locality.PartialCurve)
            curves[label] = _locality.resolve_piece(curve, range_of, access, above)
        return replace(whole, curves=curves)


def _numbers_of_vms(files: Sequence[ColumnFile]) -> dict[str, int]:
    """Return the numbers of VMs among those of all pieces."""
    names = dict.fromkeys(vm for file in files for vm in file.header["vms"])
    return {vm: number for number, vm in enumerate(names)}


def _open_pieces(files: Sequence[ColumnFile]) -> dict[str, tuple[int, int]]:
    """Return, by label, the pieces from the first to after the last one that has blocks."""
    found: dict[str, tuple[int, int]] = {}
    for at, file in enumerate(files):
        for label in file.header["curves"]:
            if any(file.length(label, name) for name in _GROUPED):
                found[label] = found.get(label, (at, at))[0], at + 1
    return found


def _open_in(
    file: ColumnFile, of_piece: ColumnFile, piece: int
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the labels of a piece with curves that depend on other pieces."""
    for label, (first, last) in file.header["open"].items():
        if first <= piece < last and label in of_piece.header["curves"]:
            yield label, (first, last)


def _keys(
    file: ColumnFile, label: str, name: str, begin: int, end: int, numbers: Mapping[str, int]
) -> NDArray[np.uint64]:
    """Return keys in ranges of hashes, with the numbers that VMs have among those of all pieces."""
    if not file.length(label, name):
        return np.empty(0, np.uint64)
    keys: NDArray[np.uint64] = file.read(label, name, begin, end)
    if file.header["facts"]["by"] == "vm" and label != ALL:
        return keys
    vms = file.header["vms"]
    if len(vms) == 1 and len(numbers) > 1:
        check_narrow(keys)
    return renumbered_keys(keys, [numbers[vm] for vm in vms])


def _write(path: Path, header: Mapping[str, Any], columns: Columns) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_columns(path, header, columns)


def _moved_by(
    piece: int, label: str, before: Sequence[ColumnFile]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the blocks that a piece moves, in the stacks of earlier pieces from the bottom up."""
    accesses, aboves = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    later = 0
    for file in reversed(before):
        if not file.length(label, "count"):
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
    return any(file.length(label, name) for label in file.header["curves"] for name in _EVENTS)


def joins_for(files: Sequence[ColumnFile]) -> int:
    """Return a number of joins, each of which needs about 1 GB."""
    blocks = sum(file.length(ALL, "last") for file in files)
    return min(1 + blocks // _MOST_OF_A_JOIN, MOST_JOINS)
