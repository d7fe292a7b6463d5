"""Propose which columns of a table or of text are what, from their names and values.

A file may have several plausible readings, such as objects with sizes, or blocks with lengths. Each
is a `Proposal`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mcsim.base.errors import ConfigError
from mcsim.exchange.assigned_columns import BY_NAME, Columns
from mcsim.exchange.column_roles import (
    Role,
    Unit,
    clock_unit,
    has_known_time_unit,
    operation_options,
    time_unit_of_name,
    unit_of_name,
    words_of,
)
from mcsim.exchange.samples import is_date, sample_of
from mcsim.traces.metadata import OptionValue
from mcsim.traces.table_files import TABLE_FORMATS

_SECTOR = 512
_GUESS = "a guess: check it"


_ORDER = ("delimiter", "header", "key", "offset", "length", "time", "time_unit", "op")


@dataclass
class Proposal:
    """A format with parameters, and the reason of each.

    Attributes
    ----------
    format : str
    title : str
        Kind and units of the references.
    options, reasons : dict
        By parameter.
    columns : list of str
        Names of the columns, or their positions from 1.
    warnings : list of str
        Columns that a request may need and that are not used.
    """

    format: str
    title: str
    options: dict[str, OptionValue] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def set(self, name: str, value: OptionValue, reason: str) -> None:
        """Set a parameter."""
        self.options[name] = value
        self.reasons[name] = reason

    def unused(self) -> list[str]:
        """Return the columns that no parameter names."""
        used = {
            part for value in self.options.values() for part in [str(value), *str(value).split("+")]
        }
        return [column for column in self.columns if column not in used]


def propose(path: Path) -> list[Proposal]:
    """Return the plausible readings of a file, the most probable first.

    Raises
    ------
    ConfigError
        If the file is not a table and has no lines of text with columns, no column of references
        can be recognised, or the words of its operations are unknown.
    """
    sample = sample_of(path)
    columns = Columns(path, sample)
    common = Proposal(
        sample.format,
        "",
        dict(sample.options),
        dict(sample.reasons),
        [sample.label(column) for column in range(sample.width)],
    )
    columns.assign()
    _set_common(common, columns)
    readings = list(_readings(columns))
    if not readings:
        shown = ", ".join(common.columns[:12])
        raise ConfigError(f"{path}: no column looks like an offset or a key, among {shown}")
    return [_completed(common, reading, columns) for reading in readings]


@dataclass(frozen=True)
class _Reading:
    """The columns of references and sizes, their units, and the reasons."""

    place: int
    place_reason: str
    length: int | None = None
    length_reason: str = ""
    is_key: bool = False
    place_unit: Unit | None = None
    length_unit: Unit | None = None
    unit_reason: str = ""

    @property
    def title(self) -> str:
        """The reading in words."""
        if self.is_key:
            return "objects" if self.length is None else "objects with sizes in bytes"
        units = f"offsets in {(self.place_unit or Unit('bytes')).name}"
        if self.length is not None:
            units += f", lengths in {(self.length_unit or Unit('bytes')).name}"
        return f"blocks: {units}"


def _set_common(common: Proposal, columns: Columns) -> None:
    """Set the parameters that all readings share."""
    for role in ("time", "op", "vm", "response", "repeat"):
        if role in columns.roles:
            column = columns.roles[role]
            common.set(role, columns.sample.label(column), columns.reasons[role])
    for role in ("time", "response"):
        if role in columns.roles:
            _set_time_unit(common, columns, role)
    if "op" in columns.roles:
        column = columns.roles["op"]
        words = operation_options(columns.name(column), columns.sample.values(column))
        for name, (value, reason) in words.items():
            common.set(name, value, reason)


def _set_time_unit(common: Proposal, columns: Columns, role: Role) -> None:
    column = columns.roles[role]
    if columns.sample.has_names and has_known_time_unit(columns.name(column)):
        return
    values = columns.sample.values(column)
    if (unit := time_unit_of_name(columns.name(column))) is not None:
        common.set(f"{role}_unit", unit, BY_NAME)
    elif columns.sample.format in TABLE_FORMATS and all(map(is_date, values)):
        return  # the type of the column has the unit
    elif role == "time" and (unit := clock_unit(values)) is not None:
        common.set("time_unit", unit, f"the values are then dates after 1970: {values[0]}")
    else:
        common.set(f"{role}_unit", "s", _GUESS)


def _readings(columns: Columns) -> Iterator[_Reading]:
    """Yield the plausible references, lengths and units."""
    roles, reasons = columns.roles, columns.reasons
    length, why = roles.get("length"), reasons.get("length", "")
    if "key" in roles:
        size = length if length is not None and _may_be_size(columns, length) else None
        yield _Reading(roles["key"], reasons["key"], size, why, is_key=True)
    if "offset" in roles:
        yield from _units_of(columns, roles["offset"], reasons["offset"], length, why)
    if "key" in roles or "offset" in roles:
        return
    if (weak := next((c for c in columns.free() if _is_id(columns.name(c))), None)) is not None:
        yield _Reading(weak, BY_NAME, length, why, is_key=True)
        return
    yield from _by_values(columns, length, why)


def _is_id(name: str) -> bool:
    return words_of(name)[-1:] in (["id"], ["ids"])


def _may_be_size(columns: Columns, length: int) -> bool:
    """Return whether a column may have sizes in bytes, the only unit of objects."""
    unit = unit_of_name(columns.name(length))
    return unit is None or unit.kind in ("bytes", "count")


def _by_values(columns: Columns, length: int | None, why: str) -> Iterator[_Reading]:
    """Yield readings of columns by their values."""
    numbers = columns.numbers
    free = [c for c in columns.free() if numbers.get(c)]
    free.sort(key=lambda c: -max(numbers[c]))
    if not free:
        texts = [c for c in columns.free() if len(set(columns.sample.values(c))) > 1]
        if texts:
            reason = "text that differs from row to row"
            yield _Reading(texts[0], reason, length, why, is_key=True)
        return
    place, largest = free[0], "it has the largest values"
    if length is None and len(free) == 2:
        place, length = _in_order(numbers, *sorted(free))
        why = "the other number"
        largest = largest if place == free[0] else "the number before the size"
    elif length is None and len(free) > 2:
        whole = [c for c in free[1:] if _is_aligned(numbers[c])]
        length = min(whole or free[1:], key=lambda c: max(numbers[c]))
        why = "multiples of 512" if whole else "the smallest values"
    is_aligned = _is_aligned([n for n in numbers[place] if n])
    if not (is_aligned and (length is None or _is_aligned(numbers[length]))):
        yield _Reading(place, largest, length, why, is_key=True)
    yield from _units_of(columns, place, largest, length, why)


def _in_order(numbers: Mapping[int, Sequence[float]], one: int, other: int) -> tuple[int, int]:
    """Return the columns of references and sizes: swapped if the second has more, larger values."""
    is_larger = max(numbers[other]) > max(numbers[one])
    has_more = len(set(numbers[other])) > len(set(numbers[one]))
    return (other, one) if is_larger and has_more else (one, other)


def _is_aligned(numbers: Sequence[float]) -> bool:
    return bool(numbers) and all(n > 0 and n % _SECTOR == 0 for n in numbers)


def _units_of(
    columns: Columns, place: int, reason: str, length: int | None, why: str
) -> Iterator[_Reading]:
    """Yield readings as blocks, in the units that names state or values allow."""
    one = unit_of_name(columns.name(place))
    if one is not None and one.kind == "count":
        one = None
    other = None if length is None else unit_of_name(columns.name(length))
    base = _Reading(place, reason, length, why, unit_reason=BY_NAME)
    if length is None:
        yield from (replace(base, place_unit=unit) for unit in _place_units(columns, place, one))
        return
    if other is not None and other.kind == "count":
        other = one if one is not None and one.kind != "bytes" else None
        if other is not None:
            yield replace(base, place_unit=one, length_unit=other, unit_reason="a count of them")
            return
    if one is not None and other is not None:
        yield from _stated_pair(base, one, other, columns.name(length))
        return
    places = [n for n in columns.numbers.get(place, []) if n]
    lengths = [n for n in columns.numbers.get(length, []) if n]
    pairs = _unit_pairs(one, other, places, lengths)
    if columns.name(place):  # a name without a unit is one of bytes more often than not
        pairs.sort(key=lambda pair: pair != (Unit("bytes"), Unit("bytes")))
    for pair in pairs:
        yield replace(base, place_unit=pair[0], length_unit=pair[1], unit_reason="by the values")


def _stated_pair(base: _Reading, one: Unit, other: Unit, length_name: str) -> Iterator[_Reading]:
    """Yield readings of two units that names state, but not always exactly.

    A count of blocks in the row of a sector or an LBA counts sectors. A block number in the row of
    a count of sectors may be a sector.
    """
    is_count = other.kind == "blocks" and "page" not in "".join(words_of(length_name))
    if one.kind == "sectors" and is_count and other.block_bytes == Unit("blocks").block_bytes:
        yield replace(base, place_unit=one, length_unit=one, unit_reason="a count of them")
        return
    if one.kind == "blocks" and other.kind == "sectors":
        yield replace(base, place_unit=other, length_unit=other)
    yield replace(base, place_unit=one, length_unit=other)


def _place_units(columns: Columns, place: int, stated: Unit | None) -> list[Unit]:
    """Return the units of offsets without lengths."""
    if stated is not None:
        return [stated]
    if columns.name(place) or _is_aligned([n for n in columns.numbers[place] if n]):
        return [Unit("bytes")]
    return [Unit("sectors")]


def _unit_pairs(
    one: Unit | None, other: Unit | None, places: Sequence[float], lengths: Sequence[float]
) -> list[tuple[Unit, Unit]]:
    """Return plausible units of offsets and lengths, of which at most one is stated.

    Bytes are plausible for lengths that are whole sectors, and for offsets that are. Numbers in
    another unit are whole multiples of 512 by chance alone.
    """
    sectors, in_bytes = Unit("sectors"), Unit("bytes")
    place_is_whole = not places or _is_aligned(places)
    length_is_whole = _is_aligned(lengths)
    if one is not None and one.kind != "bytes":
        return [(one, in_bytes), (one, one)] if length_is_whole else [(one, one)]
    if other is not None and other.kind != "bytes":
        if one is not None:
            return [(one, other)]
        return [(in_bytes, other), (other, other)] if place_is_whole else [(other, other)]
    if one is not None or other is not None:
        if one is None and not place_is_whole and length_is_whole:
            return [(in_bytes, in_bytes), (sectors, in_bytes)]
        return [(in_bytes, in_bytes)]
    if length_is_whole and place_is_whole:
        return [(in_bytes, in_bytes)]
    if length_is_whole:
        return [(sectors, in_bytes), (in_bytes, in_bytes)]
    is_small = bool(lengths) and sorted(lengths)[len(lengths) // 2] < _SECTOR
    return [(sectors, sectors), (in_bytes, in_bytes)] if is_small else [(in_bytes, in_bytes)]


def _completed(common: Proposal, reading: _Reading, columns: Columns) -> Proposal:
    """Return the proposal of a reading."""
    label = columns.sample.label
    proposal = replace(
        common,
        title=reading.title,
        options=dict(common.options),
        reasons=dict(common.reasons),
        warnings=[],
    )
    proposal.set("key" if reading.is_key else "offset", label(reading.place), reading.place_reason)
    if reading.length is not None:
        proposal.set("length", label(reading.length), reading.length_reason)
    if not reading.is_key:
        _set_units(proposal, reading, columns)
    order = {name: rank for rank, name in enumerate(_ORDER)}
    names = sorted(proposal.options, key=lambda name: order.get(name, len(order)))
    proposal.options = {name: proposal.options[name] for name in names}
    numbers = [label(c) for c in columns.numbers if label(c) in proposal.unused()]
    if numbers:
        proposal.warnings.append(
            f"not used, though of numbers: {', '.join(numbers)}: state what it is, if a request "
            "needs it (--option length=, time=, response=, ...)"
        )
    clocks = [label(c) for c in range(columns.sample.width) if label(c) in proposal.unused()]
    clocks = [c for c in clocks if columns.has_times_of_day(c)]
    if clocks:
        proposal.warnings.append(
            f"not used, though of times of day: {', '.join(clocks)}: join date and time in a column"
        )
    return proposal


def _set_units(proposal: Proposal, reading: _Reading, columns: Columns) -> None:
    """Set the units that are not the default; ConfigError if two sizes of blocks are needed."""
    units = {"offset": reading.place_unit}
    if reading.length is not None:
        units["length"] = reading.length_unit
    sizes = set()
    for name, unit in units.items():
        column = reading.place if name == "offset" else reading.length
        assert column is not None
        if unit is None or (unit.kind == "bytes" and _reads_bytes(columns, column)):
            continue
        is_stated = unit == unit_of_name(columns.name(column))
        proposal.set(f"{name}_unit", unit.kind, BY_NAME if is_stated else reading.unit_reason)
        if unit.kind == "blocks":
            sizes.add(unit.block_bytes)
    if len(sizes) > 1:
        raise ConfigError(
            f"{columns.path}: offset and length count blocks of {' and '.join(map(str, sizes))} "
            "bytes, and one size can be stated: convert a column"
        )
    if sizes:
        size = sizes.pop()
        reason = _GUESS if size == 4096 else "by its name"
        proposal.set("block_bytes", size, reason)


def _reads_bytes(columns: Columns, column: int) -> bool:
    """Return whether the reader takes the name of a column for one of bytes without a unit."""
    name = columns.name(column) if columns.sample.has_names else ""
    unit = unit_of_name(name)
    return unit is None and not {"block", "blk", "page", "sector", "lba", "id"} & set(
        words_of(name)
    )
