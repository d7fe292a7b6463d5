"""Tables written as CSV, which spreadsheets open."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from mcsim.base.files import replacing

__all__ = ["without_formulas", "write_csv"]

_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def write_csv(path: Path, table: pa.Table) -> None:
    """Write a table as CSV, whole or not at all, its text as of `without_formulas`."""
    with replacing(path) as temporary, pa.OSFile(os.fsencode(temporary), "wb") as sink:
        csv.write_csv(without_formulas(table), sink)


def without_formulas(table: pa.Table) -> pa.Table:
    """Return a table with an apostrophe before text that a spreadsheet would run as a formula.

    Such text begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. Numbers stay.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mcsim.base.tables import without_formulas
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
