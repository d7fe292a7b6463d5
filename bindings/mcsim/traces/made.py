"""Traces of columns that are in memory, and the reverse: arrays, Arrow tables, frames."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim.base.arguments import list_of, text
from mcsim.base.columns import array_given
from mcsim.base.errors import ConfigError
from mcsim.base.suggest import check_choice
from mcsim.tables.frames import Tabular, pandas_frame, polars_frame
from mcsim.traces.batches import (
    CLASSED_SCHEMA,
    SCHEMA,
    Batch,
    Kind,
    batch_with,
    check_batch,
    column_of,
    keyed,
    record_batch_of,
    schema_with_keys,
)
from mcsim.traces.digests import keys_digest
from mcsim.traces.mapping import as_declared
from mcsim.traces.metadata import Counts, OptionValue, TimeBase, TraceMetadata
from mcsim.traces.store import named
from mcsim.traces.table_files import requests_in, rows_of, table_of
from mcsim.traces.tables import keys_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

OnBadLine = Literal["error", "skip"]
OnUnsorted = Literal["error", "sort"]


class MadeOfColumns(Tabular):
    """The ways to make a `Trace` of columns, and to return them."""

    def __init__(self, batches: Iterable[pa.RecordBatch], metadata: TraceMetadata) -> None:
        self._batches = batches
        self._metadata = metadata

    @classmethod
    def from_arrays(
        cls,
        time: npt.ArrayLike,
        offset: npt.ArrayLike,
        length: npt.ArrayLike,
        *,
        vm: npt.ArrayLike = 0,
        op: npt.ArrayLike = 0,
        response: npt.ArrayLike = -1,
        classes: npt.ArrayLike | None = None,
        vms: Sequence[str] = ("vm",),
        time_base: TimeBase = "clock",
        kind: Kind = "blocks",
        source: str = "arrays",
    ) -> Self:
        """Make a trace of arrays; a single number stands for a column.

        Parameters
        ----------
        time : array_like of int, shape (n,)
            Nanoseconds, or references before each request if `time_base` is
            ``'index'``; non-decreasing.
        offset, length : array_like of int, shape (n,)
            Bytes; in object traces, keys and sizes of the objects, 0 where unknown.
        vm : array_like of int, shape (n,)
            Positions in `vms`.
        op : array_like of int, shape (n,)
            0 read, 1 write, 2 discard.
        response : array_like of int, shape (n,)
            Nanoseconds, -1 where unknown.
        classes : array_like of int, shape (n,), optional
            0, the most important, to 7: set by file systems and applications.
        vms : sequence of str
            Names of the VMs.
        time_base : {'clock', 'index'}
        kind : {'blocks', 'objects'}
            Kind of the references. An object of any size is one reference.
        source : str
            Origin of the arrays, for `metadata`.

        Returns
        -------
        Trace
            A trace in memory, of copies of the arrays.

        Raises
        ------
        ConfigError
            If a column has another length, holds what its type cannot, or breaks a
            rule above.

        Examples
        --------
        >>> mc.Trace.from_arrays([0, 5, 9], [0, 4096, 0], 4096, vm=[0, 1, 0], vms=["db", "web"])
        <Trace arrays: 2 VMs, 3 requests, 3 blocks>
        """
        given = (time, vm, op, offset, length, response)
        n = np.size(array_given(time, "time"))
        check_choice("time_base", time_base, get_args(TimeBase))
        check_choice("kind", kind, get_args(Kind))
        text("source", source)
        vms = tuple(list_of("vms", vms, "names"))
        columns = [column_of(values, field, n) for values, field in zip(given, SCHEMA, strict=True)]
        if classes is not None:
            columns.append(column_of(classes, CLASSED_SCHEMA.field("class"), n))
        batch = batch_with(columns)
        check_batch(batch, vms, kind)
        return cls._of(batch, vms, time_base, source, kind)

    @classmethod
    def from_arrow(
        cls,
        table: Any,
        *,
        source: str = "table",
        on_bad_line: OnBadLine = "error",
        on_unsorted: OnUnsorted = "sort",
        **mapping: OptionValue,
    ) -> Self:
        """Make a trace of the columns of an Arrow table or stream.

        Parameters
        ----------
        table : object with an Arrow C stream
            Such as a `pyarrow.Table`, a record batch or a reader, a DuckDB relation, a Polars or
            pandas frame. A reader is consumed. A table from `to_arrow` needs no mapping.
        source : str
            Name in messages and `metadata`.
        on_bad_line : {'error', 'skip'}
            Whether a row that cannot be a request is an error, or left out and counted.
        on_unsorted : {'error', 'sort'}
            As of `open`.
        **mapping
            Which columns are what: the options of the ``parquet`` format (`mcsim describe
            parquet`), ``time="ts", time_unit="ms", offset="lba", offset_unit="sectors"``. A
            column with a field's own name, such as ``time_ms``, ``vm``, ``op``, ``offset`` or
            ``length``, needs none. Arrow timestamps have their unit.

        Returns
        -------
        Trace
            A trace in memory, with requests in the order of time.

        Raises
        ------
        ConfigError
            If the mapping is wrong, or there are no such columns; it names those there are. If
            `table` has no Arrow C stream.
        TraceError
            If a row is no request; the message names it. If the columns are damaged.

        Examples
        --------
        >>> import pyarrow as pa
        >>> table = pa.table({"ts": [0, 5], "lba": [8, 0], "rw": ["R", "W"]})
        >>> trace = mc.Trace.from_arrow(
        ...     table, time="ts", time_unit="ms", op="rw", offset="lba", offset_unit="sectors"
        ... )
        >>> trace.blocks("all").ids.tolist(), trace.blocks("all").times.tolist()
        ([0, 1], [0, 5000000])
        """
        check_choice("on_bad_line", on_bad_line, get_args(OnBadLine))
        check_choice("on_unsorted", on_unsorted, get_args(OnUnsorted))
        text("source", source)
        batch, reader = requests_in(
            table_of(table, source),
            source,
            as_declared("parquet", mapping),
            skip_bad_rows=on_bad_line == "skip",
            sort=on_unsorted == "sort",
        )
        keys = keys_of(reader.keys)
        trace = cls._of(batch, reader.vms, reader.time_base, source, reader.kind, keys)
        rows, complaints = rows_of(reader)
        told = replace(
            trace._metadata,
            options={name: v if isinstance(v, int) else str(v) for name, v in mapping.items()},
            synthetic=reader.synthetic,
            has_lengths=reader.has_lengths,
            rows=rows,
            complaints=complaints,
        )
        return cls(trace._batches, told)

    @classmethod
    def from_pandas(cls, frame: pd.DataFrame, **mapping: Any) -> Self:
        """Make a trace of the columns of a pandas frame.

        Parameters
        ----------
        frame : pandas.DataFrame
            A row for each request. An index with a name is a column.
        **mapping
            As of `from_arrow`, all its options included.

        Returns
        -------
        Trace
            A trace in memory, with requests in the order of time.

        Raises
        ------
        ConfigError
            If `frame` is no frame of pandas, or as of `from_arrow`.
        TraceError
            As of `from_arrow`.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"time_s": [0.5, 1.5], "vm": ["a", "b"], "offset": [0, 4096]})
        >>> mc.Trace.from_pandas(frame).vms
        ('a', 'b')
        """
        if not all(hasattr(frame, name) for name in ("columns", "index", "to_records")):
            raise ConfigError(f"frame: expected a pandas DataFrame, got {type(frame).__name__}")
        named = any(name is not None for name in frame.index.names)
        table = pa.Table.from_pandas(frame, preserve_index=None if named else False)
        return cls.from_arrow(table, **mapping)

    @classmethod
    def from_polars(cls, frame: pl.DataFrame, **mapping: Any) -> Self:
        """Make a trace of the columns of a Polars frame.

        Parameters
        ----------
        frame : polars.DataFrame
            A row for each request.
        **mapping
            As of `from_arrow`, all its options included.

        Returns
        -------
        Trace
            A trace in memory, with requests in the order of time.

        Raises
        ------
        ConfigError
            If `frame` is no frame of Polars, or as of `from_arrow`.
        TraceError
            As of `from_arrow`.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"time_s": [0.5, 1.5], "vm": ["a", "b"], "offset": [0, 4096]})
        >>> mc.Trace.from_polars(frame).vms
        ('a', 'b')
        """
        if not hasattr(frame, "to_arrow"):
            raise ConfigError(f"frame: expected a Polars DataFrame, got {type(frame).__name__}")
        return cls.from_arrow(frame.to_arrow(), **mapping)

    def to_arrow(self) -> pa.Table:
        """Return the columns as a table that shares the trace's memory.

        `from_arrow` reads the table, and any part of the table, without a mapping.

        Returns
        -------
        pyarrow.Table
            A row for each request: ``time`` in ns, ``vm`` as a name, ``op``, ``offset`` and
            ``length`` in bytes, and ``response`` in ns. The column ``time`` is called
            ``time_references`` if it counts references. Object traces have ``key`` and ``size``
            in place of ``offset`` and ``length``.

        Examples
        --------
        >>> trace = mc.Trace.from_arrays([0, 5], [0, 4096], 4096, vms=["db"])
        >>> trace.to_arrow().column_names
        ['time', 'vm', 'op', 'offset', 'length', 'response']
        """
        schema, batches = named(self._batches, self._metadata)
        return pa.Table.from_batches(list(batches), schema)

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            The columns of `to_arrow`; VMs are categories, by their names.

        Raises
        ------
        ConfigError
            If pandas is not installed.
        """
        return pandas_frame(self.to_arrow().replace_schema_metadata(None))

    def to_polars(self) -> pl.DataFrame:
        """Return the columns as a Polars frame.

        Returns
        -------
        polars.DataFrame
            The columns of `to_arrow`; VMs are categories, by their names.

        Raises
        ------
        ConfigError
            If Polars is not installed.
        """
        return polars_frame(self.to_arrow().replace_schema_metadata(None))

    @classmethod
    def _of(
        cls,
        batch: Batch,
        vms: Sequence[str],
        time_base: TimeBase,
        source: str,
        kind: Kind = "blocks",
        keys: pa.Array | None = None,
    ) -> Self:
        """Make a trace of columns that were checked."""
        identity: tuple[object, ...] = (tuple(vms), time_base)
        if kind == "objects":
            identity = (*identity, kind, keys_digest(keys))
        digest = hashlib.sha256(repr(identity).encode())
        for column in batch:
            digest.update(column.data)
        metadata = TraceMetadata(
            source=source,
            source_digest=digest.hexdigest(),
            digest=digest.hexdigest(),
            format="arrays",
            options={},
            time_base=time_base,
            vms=tuple(vms),
            counts=Counts().plus(batch, kind),
            kind=kind,
            keys_digest=keys_digest(keys),
        )
        columns = record_batch_of(batch)
        if kind == "objects":
            schema = schema_with_keys(columns.schema, text=keys is not None)
            columns = keyed(columns, schema, keys)
        return cls([columns], metadata)
