"""Exact curves of pieces of a stream, which are merged into those of the whole.

The pieces follow one another in time. Each counts the distances between its own accesses, and has
the blocks by first and by last access, from which `merge` computes the other distances (PARDA). The
curves of all references are equal, bit by bit, for every division into pieces and every tree of
merges. Keys of blocks have the position of their VM in the upper 16 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsim.base.errors import ConfigError
from mcsim.locality.column_file import ColumnFile, write_columns
from mcsim.locality.curve_discards import VmDiscards
from mcsim.locality.curve_parts import (
    ALL,
    Ends,
    Partial,
    check_narrow,
    curves_of,
    from_columns,
    from_parts,
    merged,
    nothing,
    parts_of,
    renumbered_keys,
)
from mcsim.locality.estimators import curve_of

if TYPE_CHECKING:
    from mcsim.locality.curve import HitRatioCurve
    from mcsim.references.blocks import Blocks


@dataclass(frozen=True)
class Span:
    """The part of a trace that a piece has.

    Attributes
    ----------
    source, digest : str
        Name of the file, and digest of the requests of the part.
    times : tuple of int, optional
        Times of the first and of the last request of the piece; None without requests.
    vms : tuple of str
        VMs of the piece, in the order in which requests of the same time are merged.
    has_ties : bool
        Whether requests of different VMs have the same time.
    """

    source: str
    digest: str
    times: tuple[int, int] | None
    vms: tuple[str, ...]
    has_ties: bool


@dataclass(frozen=True)
class FileContent:
    """The content of a file, by its digest, and the state in which the file had it.

    Attributes
    ----------
    digest : str
    state : tuple of int
        As of `file_state`, without the device; empty if the file could change and keep it.
    """

    digest: str
    state: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CurvePiece:
    """The exact curves of a piece.

    Attributes
    ----------
    facts : dict
        Facts that pieces of one stream share, such as the kind of its references.
    place : tuple of int
        The piece is from the first to before the second of all pieces.
    spans : tuple of Span
        Parts of traces, in the order of time.
    vms : tuple of str
        VMs by their numbers in the keys of blocks.
    curves : dict of str to Partial
        By VM or number of interval, if requested; `ALL` for all VMs.
    contents : dict of int to FileContent
        Files that the piece depends on, by their positions among all files.
    """

    facts: dict[str, Any]
    place: tuple[int, int]
    spans: tuple[Span, ...]
    vms: tuple[str, ...]
    curves: Mapping[str, Partial]
    contents: Mapping[int, FileContent] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        blocks: Blocks | None,
        discards: Mapping[str, VmDiscards],
        spans: tuple[Span, ...],
        facts: dict[str, Any],
        place: tuple[int, int],
        ends: Ends,
    ) -> CurvePiece:
        """Compute the curves of the references of a whole trace.

        Parameters
        ----------
        blocks : Blocks, optional
            The references, with addresses of blocks; None if there are none.
        discards : mapping of str to VmDiscards
            Discards of each VM that has any.
        spans, facts, place
            As of the piece. The facts state whether there is a curve for each VM.
        ends : Ends
            Whether the piece is the first, or the last one.
        """
        vms = spans[0].vms
        return cls(facts, place, spans, vms, curves_of(blocks, vms, discards, facts, ends))

    def merge(self, right: CurvePiece) -> CurvePiece:
        """Return this piece and the one that follows it as one.

        Raises
        ------
        ConfigError
            If `right` is not of the same stream, or does not follow in time.
        """
        facts = self.facts
        if facts != right.facts:
            different = [key for key in facts if facts[key] != right.facts.get(key)]
            raise ConfigError(
                f"{self.spans[0].source} and {right.spans[0].source} differ in "
                f"{', '.join(different) or 'their facts'}: they are not pieces of one stream"
            )
        _check_order(self, right)
        vms = tuple(dict.fromkeys((*self.vms, *right.vms)))
        if facts["estimator"] == "exact":
            for piece in (self, right):
                if len(piece.vms) < len(vms) and len(piece.vms) == 1:
                    check_narrow(*(piece.curves[ALL].columns[name] for name in _KEYS))
            right = right._renumbered(vms)
        curves = {ALL: merged(self.curves[ALL], right.curves[ALL])}
        curves |= (
            self._merged_by_vm(right, vms) if facts["by"] == "vm" else _by_interval(self, right)
        )
        place = self.place[0], right.place[1]
        for at in self.contents.keys() & right.contents.keys():
            if self.contents[at].digest != right.contents[at].digest:
                raise ConfigError(
                    f"{self.spans[0].source} and {right.spans[0].source}: file {at + 1} of the "
                    "curve changed between these pieces; compute them again"
                )
        spans, contents = (*self.spans, *right.spans), {**self.contents, **right.contents}
        return CurvePiece(facts, place, spans, vms, curves, contents)

    def _merged_by_vm(self, right: CurvePiece, vms: Sequence[str]) -> dict[str, Partial]:
        starts, ends = self.curves[ALL].numbers["starts"], right.curves[ALL].numbers["ends"]
        before = nothing(self.facts, Ends(starts=bool(starts), ends=False))
        after = nothing(self.facts, Ends(starts=False, ends=bool(ends)))
        return {vm: merged(self.curves.get(vm, before), right.curves.get(vm, after)) for vm in vms}

    def _renumbered(self, vms: Sequence[str]) -> CurvePiece:
        """Return the piece with the numbers that its VMs have in a list."""
        number_of = {vm: number for number, vm in enumerate(vms)}
        numbers = [number_of[vm] for vm in self.vms]
        if numbers == list(range(len(numbers))):
            return self
        chosen = [ALL] if self.facts["by"] == "vm" else self.curves
        moved = {label: self._moved(self.curves[label], numbers) for label in chosen}
        return replace(self, vms=tuple(vms), curves={**self.curves, **moved})

    def _moved(self, curve: Partial, numbers: Sequence[int]) -> Partial:
        """Return a curve with other numbers of VMs."""
        columns = dict(curve.columns)
        for name in _KEYS:
            # A range ends before the first key after it, which may look like another VM's.
            is_end = name == "first" and len(columns["kinds"]) > 0
            ends = columns["kinds"] == _DISCARD_END if is_end else None
            columns[name] = renumbered_keys(columns[name], numbers, ends)
        return from_columns(columns, curve.numbers, self.facts)

    def finished(self) -> dict[str, HitRatioCurve]:
        """Return the curves of a stream that consists of this piece, by label and `ALL`."""
        unit = self.facts["block_bytes"] if self.facts["kind"] == "blocks" else None
        estimator = self.facts["estimator"]
        return {
            label: curve_of(of.curve(), float(of.distinct), estimator, unit)
            for label, of in self.curves.items()
            if label == ALL or of.accesses or self.facts["by"] == "interval"
        }

    def write(self, path: Path) -> None:
        """Write the piece to a file, which appears whole or not at all."""
        header = {
            "facts": self.facts,
            "place": self.place,
            "spans": [asdict(span) for span in self.spans],
            "vms": self.vms,
            "contents": {at: astuple(content) for at, content in self.contents.items()},
            "curves": {label: curve.numbers for label, curve in self.curves.items()},
        }
        columns = {
            (label, name): parts
            for label, curve in self.curves.items()
            for name, parts in parts_of(curve).items()
        }
        write_columns(path, header, columns)

    @classmethod
    def read(cls, path: Path, *, with_last: bool = True) -> CurvePiece:
        """Read what `write` wrote.

        Parameters
        ----------
        path : Path
        with_last : bool
            Whether the exact curves get the blocks by last access.

        Raises
        ------
        ConfigError
            If the file is no piece, is of another version, or is damaged.
        """
        file = ColumnFile(path)
        header = file.header
        skipped = () if with_last else ("last", "last_range")
        curves = {}
        for label, numbers in header["curves"].items():
            columns = {n: file.read(label, n) for n in file.names(label) if n not in skipped}
            curves[label] = from_parts(columns, numbers, header["facts"])
        begin, end = header["place"]
        spans = tuple(_span_of(span) for span in header["spans"])
        contents = _contents_of(header)
        return cls(header["facts"], (begin, end), spans, tuple(header["vms"]), curves, contents)

    @staticmethod
    def contents_in(path: Path) -> dict[int, FileContent]:
        """Return the contents that a piece in a file depends on; raise as `read` does."""
        return _contents_of(ColumnFile(path).header)


def _contents_of(header: dict[str, Any]) -> dict[int, FileContent]:
    return {
        int(at): FileContent(digest, tuple(state))
        for at, (digest, state) in header["contents"].items()
    }


_KEYS = ("first", "last", "gone")
_DISCARD_END = 6  # PieceEvent::kDiscardEnd


def _by_interval(left: CurvePiece, right: CurvePiece) -> dict[str, Partial]:
    """Return the curves of intervals; those of a piece without requests have discards alone."""
    found = {}
    for piece, other in ((left, right), (right, left)):
        has_requests = any(span.times for span in piece.spans)
        for label, curve in piece.curves.items():
            if label != ALL and label not in other.curves and has_requests:
                found[label] = curve
    for label in left.curves.keys() & right.curves.keys() - {ALL}:
        found[label] = merged(left.curves[label], right.curves[label])
    return found


def _span_of(stored: dict[str, Any]) -> Span:
    times = None if stored["times"] is None else tuple(stored["times"])
    return Span(**{**stored, "times": times, "vms": tuple(stored["vms"])})


def _check_order(left: CurvePiece, right: CurvePiece) -> None:
    """Check that a piece begins after the end of the one before it."""
    before = next(((span, span.times) for span in reversed(left.spans) if span.times), None)
    after = next(((span, span.times) for span in right.spans if span.times), None)
    seen = {span.digest for span in left.spans if span.times}
    twice = seen & {span.digest for span in right.spans if span.times}
    if twice:
        source = next(span.source for span in right.spans if span.digest in twice)
        raise ConfigError(f"{source}: the same requests are in two pieces")
    if before is None or after is None:
        return
    (last, (_, end)), (first, (begin, _)) = before, after
    if left.facts["time_base"] == "index":
        if last.source != first.source and not set(last.vms) & set(first.vms):
            raise ConfigError(
                f"{first.source}: it has no clock and no VM of {last.source}, so its requests do "
                "not follow those; --vm-name names the VM of files"
            )
        return
    is_one_vm = last.vms == first.vms and len(first.vms) == 1
    if begin < end or (begin == end and not is_one_vm):
        raise overlap(last.source, end, first.source, begin)
    if begin == end and left.facts["estimator"] != "exact":
        raise ConfigError(
            f"{first.source} begins at the time at which {last.source} ends, {end} ns: shards-rate "
            "samples the references of one time together; join the files into one"
        )


def overlap(before: str, end: int, after: str, begin: int) -> ConfigError:
    """Return the error for a file that begins before an earlier piece ends."""
    return ConfigError(
        f"{after} begins at {begin} ns, and {before} ends at {end} ns: pieces follow one another "
        "in time; give files in this order, and VMs that overlap in one file"
    )


def check_vms(spans: Sequence[Span]) -> None:
    """Check that requests of the same time are merged in the order that one process has.

    Raises
    ------
    ConfigError
        If a piece has its VMs in another order, and requests of several have the same time.
    """
    order = {vm: at for at, vm in enumerate(dict.fromkeys(chain(*(s.vms for s in spans))))}
    for span in spans:
        numbers = [order[vm] for vm in span.vms]
        if span.has_ties and any(b < a for a, b in pairwise(numbers)):
            raise ConfigError(
                f"{span.source}: its VMs are in another order than in {spans[0].source}, and some "
                "of their requests have the same time: join the files into one"
            )
