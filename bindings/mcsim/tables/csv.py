"""Tables written as CSV, which spreadsheets open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from mcsim.base.files import replacing

_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def write_csv(path: Path, table: pa.Table) -> None:
    """Write a table as CSV, whole or not at all, its text as of `without_formulas`."""
    with replacing(path) as temporary, pa.OSFile(os.fsencode(temporary), "wb") as sink:
        csv.write_csv(without_formulas(table), sink)


def csv_of(table: pa.Table) -> str:
    """Return a table as CSV, its text as of `without_formulas`."""
    sink = pa.BufferOutputStream()
    csv.write_csv(without_formulas(table), sink)
    text: str = sink.getvalue().to_pybytes().decode()
    return text


def without_lists(table: pa.Table) -> pa.Table:
    """Split columns of lists into a column for each element, ``name_0`` and so on.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mcsim.tables.csv import without_lists
    >>> without_lists(pa.table({"hits": [[1, 2], [3]]})).to_pydict()
    {'hits_0': [1, 3], 'hits_1': [2, None]}
    """
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table[name]
        if not pa.types.is_list(column.type):
            columns[name] = column
            continue
        rows = column.to_pylist()
        for index in range(max((len(row) for row in rows if row is not None), default=0)):
            each = [row[index] if row is not None and index < len(row) else None for row in rows]
            columns[f"{name}_{index}"] = pa.array(each, column.type.value_type)
    return pa.table(columns)


def without_formulas(table: pa.Table) -> pa.Table:
    """Return a table with an apostrophe before text that a spreadsheet would run as a formula.

    Such text begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. Numbers stay.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mcsim.tables.csv import without_formulas
    >>> table = pa.table({"vm": ["=HYPERLINK(1)", "-1.5", "web"], "gain": [-1, 2, 3]})
    >>> without_formulas(table).to_pydict()
    {'vm': ["'=HYPERLINK(1)", '-1.5', 'web'], 'gain': [-1, 2, 3]}
    """
    for index, column in enumerate(table.columns):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            risky = pc.and_(
                pc.match_substring_regex(column, _FORMULA),
                pc.invert(pc.match_substring_regex(column, _NUMBER)),
            )
            escaped = pc.replace_substring_regex(column, r"^", "'")
            text = pc.if_else(risky, escaped, column)
            table = table.set_column(index, table.schema.field(index).name, text)
    return table
