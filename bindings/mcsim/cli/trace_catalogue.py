"""`mcsim trace catalogue`: public collections of traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.help import Sectioned
from mcsim.cli.options import table_option
from mcsim.cli.terminal import Form, Line, print_result

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.tables.result_table import ResultTable
    from mcsim.traces.collections import Collection


@click.command("catalogue", cls=Sectioned, short_help="List public collections of traces.")
@click.argument("name", required=False)
@table_option
def catalogue(name: str | None, form: Form) -> None:
    """List public collections of traces, or all that is known of NAME.

    The list has the format that opens each collection here, and what it stresses. NAME adds source,
    licence, size, citation, a command, and checksums of published files. Nothing is downloaded.
    """
    from mcsim.base.suggest import check_choice
    from mcsim.traces.collections import collections

    found = collections()
    if name is not None:
        check_choice("NAME", name, list(found))
    chosen = list(found.values()) if name is None else [found[name]]
    rows = [_row(collection) for collection in chosen]
    lines: list[Line] = [_listed(rows)] if name is None else _shown(found[name], rows[0])

    def data() -> pa.Table:
        import pyarrow as pa

        return pa.Table.from_pylist([row | {"formats": " ".join(row["formats"])} for row in rows])

    def whole() -> Any:
        return [asdict(collection) for collection in chosen] if name is None else asdict(chosen[0])

    print_result(form, *lines, data=data, whole=whole)


def _row(collection: Collection) -> dict[str, Any]:
    """Return the fields of a collection in one row, without checksums."""
    row = asdict(collection)
    del row["checksums"]
    return row


def _formats(row: Mapping[str, Any]) -> str:
    return ", ".join(row["formats"]) or "no reader here"


def _listed(rows: Sequence[Mapping[str, Any]]) -> ResultTable:
    from mcsim.tables.result_columns import TABLES
    from mcsim.tables.result_table import ResultTable

    return ResultTable.of_rows(
        TABLES["collections"],
        [(row["name"], row["year"], _formats(row), row["stresses"]) for row in rows],
        notes=["mcsim trace catalogue NAME shows source, licence, size, citation and checksums"],
    )


def _shown(of: Collection, row: Mapping[str, Any]) -> list[Line]:
    from mcsim.tables.column import column
    from mcsim.tables.result_table import ResultTable

    texts = {**row, "formats": _formats(row)}
    lines: list[Line] = [f"{field}: {text}" for field, text in texts.items()]
    if of.checksums:
        columns = [column("file", "text"), column("bytes"), column("checksum", "text")]
        known = [
            (
                one.file,
                f"{one.bytes:,}" if one.bytes else "unknown",
                f"SHA-256 {one.sha256}" if one.sha256 else f"MD5 {one.md5}",
            )
            for one in of.checksums
        ]
        lines.append(ResultTable.of_rows(columns, known))
    return lines
