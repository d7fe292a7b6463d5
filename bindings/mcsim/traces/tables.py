"""Tables of anybody as requests: Arrow and Parquet files and frames, their columns mapped.

The mapping has the names and the defaults of the `csv` format's: a column that bears a field's own
name (`time_ms`, `vm`, `op`, `offset`, `length`, `response_us`) is that field, and the options say
what else is which. Of classes they have to: a column of that name may be anything. What mcsim wrote
carries its own description and needs no mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mcsim.base.arguments import check_param
from mcsim.base.errors import ConfigError, TraceError
from mcsim.base.suggest import did_you_mean, some_of
from mcsim.traces.batches import CLASSED_SCHEMA, SCHEMA, Batch, batch_with
from mcsim.traces.store import OptionValue, TimeBase
from mcsim.traces.unmapped import check_length, check_units
from mcsim.traces.values import NS, bytes_of, classes_of, ns_of, view_of, words_of

_SECTOR = 512
_MOST_VMS = 2**16
_FIELDS = ("time", "vm", "op", "offset", "length", "response", "classes")


@dataclass(frozen=True)
class TableMapping:
    """Which columns of a table are what; as the options of the `csv` format."""

    time: str = ""
    time_unit: str = "by-name"
    vm: str = ""
    op: str = ""
    read: str = "read,r,0"
    write: str = "write,w,1"
    offset: str = ""
    offset_unit: str = "bytes"
    length: str = ""
    length_unit: str = "bytes"
    response: str = ""
    response_unit: str = "by-name"
    classes: str = ""
    block_bytes: int = 4096

    @classmethod
    def of(cls, options: Mapping[str, OptionValue]) -> TableMapping:
        """Read options; ConfigError if there is no such one, or it cannot have such a value."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise ConfigError(f"no option {name!r}{did_you_mean(name, known)}")
        for name, value in options.items():
            check_param(name, value)
        given = {name: v if name == "block_bytes" else str(v) for name, v in options.items()}
        mapping = cls(**given)  # type: ignore[arg-type]  # judged below
        times = ("by-name", *NS, "filetime")
        choices = {
            "time_unit": (*times, "references"),
            "response_unit": times,
            "offset_unit": ("bytes", "sectors", "blocks"),
            "length_unit": ("bytes", "sectors", "blocks"),
        }
        for name, allowed in choices.items():
            if (value := getattr(mapping, name)) not in allowed:
                raise ConfigError(f"{name}: {value!r} is none of {', '.join(allowed)}")
        size: object = mapping.block_bytes
        if not isinstance(size, int) or not 0 < size <= 2**30:
            raise ConfigError(f"block_bytes: expected 1 byte to 1 GiB, got {size!r}")
        return mapping


TABLE_OPTIONS = tuple(field.name for field in fields(TableMapping))


class TableReader:
    """Requests of record batches, as a `Reader` of the core gives those of text.

    Parameters
    ----------
    source : str
        What messages call the table.
    schema : Schema
    batches_of : callable
        Returns the record batches, in their order, of columns by their names.
    vm_name : str
        Of all requests, if no column has it.
    options : mapping
        See `TableMapping`.
    skip_bad_rows : bool
        Whether a row that cannot be a request is left out and counted, or is an error.
    keep_unsorted : bool
        Whether a request earlier than the one before it is told by `unsorted`, or is an error.

    Raises
    ------
    ConfigError
        If the mapping is wrong, or the table has no such columns; it names those there are.
    """

    def __init__(
        self,
        source: str,
        schema: pa.Schema,
        batches_of: Callable[[Sequence[str]], Iterable[pa.RecordBatch]],
        vm_name: str,
        options: Mapping[str, OptionValue],
        *,
        skip_bad_rows: bool,
        keep_unsorted: bool,
    ) -> None:
        self._source = source
        self._schema = schema
        self._mapping = TableMapping.of(options)
        self._columns = self._assigned()
        self._units = {
            field: self._unit(field) for field in ("time", "response") if self._columns[field]
        }
        check_units(source, self._columns, options)
        if self._is_own and "vm" not in options:
            self._check_named()
        used = [name for names in self._columns.values() for name in names]
        if not self._columns["length"]:
            check_length(source, schema.names, used, options)
        self._vm_name = vm_name
        self._skip = skip_bad_rows
        self._keep_unsorted = keep_unsorted
        self._rows = 0
        self._references = 0
        self._last_time: int | None = None
        self._numbers: dict[str, int] = {}
        self._batches = iter(batches_of(list(dict.fromkeys(used))))
        self.bytes_a_row = 0.0
        self.synthetic = False
        self.unsorted = False
        self.skipped = 0
        self.complaints: list[str] = []

    @property
    def time_base(self) -> TimeBase:
        """Whether the times are ns, or positions in a stream of references."""
        return "clock" if self._units.get("time", "references") != "references" else "index"

    @property
    def has_lengths(self) -> bool:
        """Whether a column tells how long requests were; else each is a block."""
        return bool(self._columns["length"])

    @property
    def consumed(self) -> int:
        """About how many bytes of the file were read."""
        return int(self._rows * self.bytes_a_row)

    @property
    def vms(self) -> list[str]:
        """Names of the VMs so far."""
        return list(self._numbers)

    def next(self) -> Batch | None:
        """Return the next requests; None at the end."""
        for record_batch in self._batches:
            try:
                requests = self._read(record_batch)
            except pa.ArrowException as error:
                raise TraceError(f"{self._source}: {error}") from None
            self._rows += record_batch.num_rows
            if len(requests.time):
                return requests
        if not self._numbers:
            raise TraceError(f"{self._source}: there are no requests in it")
        return None

    def _assigned(self) -> dict[str, list[str]]:
        """Find the columns of every field; none where there is none."""
        names = self._schema.names
        known = some_of(list(map(repr, names)), 12)
        columns: dict[str, list[str]] = {}
        for field in _FIELDS:
            asked = getattr(self._mapping, field)
            if not asked and field == "classes":
                columns[field] = ["class"] if self._is_own and "class" in names else []
                continue
            if not asked:
                own = [field, *(f"{field}_{unit}" for unit in (*NS, "references"))]
                columns[field] = [name for name in names if name in own][:1]
                continue
            columns[field] = [asked] if asked in names or field != "vm" else asked.split("+")
            for name in columns[field]:
                if name not in names:
                    raise ConfigError(
                        f"{self._source}: {field}: no column {name!r}{did_you_mean(name, names)}; "
                        f"there are {known}"
                    )
        if not columns["offset"]:
            raise ConfigError(f"{self._source}: offset: state its column; there are {known}")
        return columns

    @property
    def _is_own(self) -> bool:
        """Whether these are the columns of a trace, be VMs names or positions among names."""
        at = SCHEMA.get_field_index("vm")
        return any(
            self._schema.names == of.names and self._schema.remove(at).types == of.remove(at).types
            for of in (SCHEMA, CLASSED_SCHEMA)
        )

    def _check_named(self) -> None:
        """Refuse positions among names of VMs that the table has lost."""
        if pa.types.is_integer(self._schema.field("vm").type):
            raise ConfigError(
                f"{self._source}: vm: column 'vm' has positions among the names of VMs, which the "
                "table has lost (to_pandas and to_polars write names; vm: vm makes names of the "
                "numbers)"
            )

    def _unit(self, field: str) -> str:
        stated = str(getattr(self._mapping, f"{field}_unit"))
        (name,) = self._columns[field]
        kind = self._schema.field(name).type
        if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
            return "ns"  # Arrow knows the unit, and brings it to this one
        if stated != "by-name":
            return stated
        if self._is_own:
            return "ns"
        ending = name.rpartition("_")[2]
        if ending in (*NS, "references") and ending != name:
            return ending
        raise ConfigError(
            f"{self._source}: {field}_unit: state it (such as ms), for the name of column "
            f"{name!r} does not tell"
        )

    def _read(self, record_batch: pa.RecordBatch) -> Batch:
        n = record_batch.num_rows
        bad = np.zeros(n, bool)

        def column(field: str) -> npt.NDArray[Any]:
            (name,) = self._columns[field]
            return self._numbers_of(record_batch, name, bad)

        offset = bytes_of(column("offset"), self._bytes_of("offset"), bad)
        block = self._mapping.block_bytes
        length = np.uint64(block) - offset % np.uint64(block)
        if self._columns["length"]:
            length = bytes_of(column("length"), self._bytes_of("length"), bad)
        bad |= length >= 2**32
        bad |= offset + length < offset
        op = self._operations(record_batch, bad)
        vm = self._vms(record_batch, bad)
        response = np.full(n, -1, np.int64)
        if self._columns["response"]:
            response = ns_of(column("response"), self._units["response"], bad)
        classes = np.zeros(n, np.uint8)
        if self._columns["classes"]:
            classes = classes_of(column("classes"), bad)
        if self._columns["time"]:
            time = ns_of(column("time"), self._units["time"], bad)
        self._complain(bad, record_batch)
        kept = ~bad
        blocks = np.where(
            length > 0,
            (offset + np.maximum(length, 1) - np.uint64(1)) // np.uint64(block)
            - offset // np.uint64(block)
            + np.uint64(1),
            0,
        ).astype(np.int64)[kept]
        if not self._columns["time"]:
            time = np.empty(n, np.int64)
            time[kept] = self._references + np.cumsum(blocks) - blocks
        self._references += int(blocks.sum())
        columns: list[npt.NDArray[Any]] = [time, vm, op, offset, length.astype(np.uint32), response]
        if self._columns["classes"]:
            columns.append(classes)
        batch = batch_with(column[kept] for column in columns)
        self._check_order(batch.time, np.flatnonzero(kept))
        return batch

    def _bytes_of(self, field: str) -> int:
        unit = getattr(self._mapping, f"{field}_unit")
        return {"bytes": 1, "sectors": _SECTOR}.get(unit, self._mapping.block_bytes)

    def _numbers_of(
        self, record_batch: pa.RecordBatch, name: str, bad: npt.NDArray[np.bool_]
    ) -> npt.NDArray[Any]:
        """Return a column of numbers or times as an array, those that are missing as 0."""
        values = record_batch.column(name)
        kind = values.type
        if pa.types.is_timestamp(kind):
            values = pc.cast(values, pa.timestamp("ns", kind.tz)).view(pa.int64())
        elif pa.types.is_duration(kind):
            values = pc.cast(values, pa.duration("ns")).view(pa.int64())
        elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise TraceError(f"{self._source}: column {name!r}: expected numbers, it has {kind}")
        if values.null_count:
            bad |= view_of(pc.is_null(values).cast(pa.uint8())).astype(bool)
            values = pc.fill_null(values, 0)
        return view_of(values)

    def _operations(
        self, record_batch: pa.RecordBatch, bad: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.uint8]:
        if not self._columns["op"]:
            return np.zeros(record_batch.num_rows, np.uint8)
        words, codes = words_of(record_batch.column(self._columns["op"][0]), bad)
        meaning = {
            word.strip().lower(): code
            for code, option in enumerate((self._mapping.read, self._mapping.write))
            for word in option.split(",")
        }
        of_word = np.array([meaning.get(word.lower(), 2) for word in words] or [2], np.uint8)
        op = of_word[codes]
        bad |= op > 1
        return op

    def _vms(
        self, record_batch: pa.RecordBatch, bad: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.uint16]:
        names = self._columns["vm"]
        if not names:
            self._numbers.setdefault(self._vm_name, 0)
            return np.zeros(record_batch.num_rows, np.uint16)
        words, codes = words_of(record_batch.column(names[0]), bad)
        for name in names[1:]:
            more, other = words_of(record_batch.column(name), bad)
            if not words or not more:
                return np.zeros(len(codes), np.uint16)  # and no row is a request
            pairs = codes.astype(np.int64) * len(more) + other
            unique, codes = np.unique(pairs, return_inverse=True)
            words = [f"{words[p // len(more)]}_{more[p % len(more)]}" for p in unique.tolist()]
        # Numbered as they first appear.
        first = np.full(max(len(words), 1), len(codes))
        rows = np.flatnonzero(~bad)
        np.minimum.at(first, codes[rows], rows)
        numbers = np.zeros(max(len(words), 1), np.uint16)
        for k in np.argsort(first, kind="stable").tolist():
            if first[k] < len(codes):
                number = self._numbers.setdefault(words[k], len(self._numbers))
                if number >= _MOST_VMS:
                    raise TraceError(f"{self._source}: more than {_MOST_VMS:,} VMs")
                numbers[k] = number
        return numbers[codes]

    def _complain(self, bad: npt.NDArray[np.bool_], record_batch: pa.RecordBatch) -> None:
        rows = np.flatnonzero(bad)
        if not len(rows):
            return
        mapped = [name for names in self._columns.values() for name in names]

        def complaint(row: int) -> str:
            values = ", ".join(f"{name} {record_batch.column(name)[row]}" for name in mapped)
            return f"{self._source}: row {self._rows + row + 1}: no request: {values}"

        if not self._skip:
            raise TraceError(complaint(int(rows[0])))
        self.skipped += len(rows)
        self.complaints += [complaint(int(row)) for row in rows[: 5 - len(self.complaints)]]

    def _check_order(self, time: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> None:
        if not len(time):
            return
        before = time[0] if self._last_time is None else self._last_time
        earlier = np.flatnonzero(np.diff(time, prepend=before) < 0)
        self._last_time = int(time[-1])
        if len(earlier):
            if not self._keep_unsorted:
                raise TraceError(
                    f"{self._source}: row {self._rows + int(rows[earlier[0]]) + 1}: time goes "
                    "back (on_unsorted: sort puts requests in order)"
                )
            self.unsorted = True
