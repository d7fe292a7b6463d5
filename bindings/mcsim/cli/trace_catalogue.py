"""`mcsim trace catalogue`: public collections of traces."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.options import table_option
from mcsim.cli.terminal import Form, TextTable, print_result

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.traces.collections import Collection


@click.command("catalogue", short_help="List public collections of traces.")
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
    lines: list[str | TextTable] = [_listed(chosen)] if name is None else _shown(found[name])

    def data() -> pa.Table:
        import pyarrow as pa

        return pa.Table.from_pylist([_row(collection) for collection in chosen])

    def whole() -> Any:
        return [asdict(collection) for collection in chosen] if name is None else asdict(chosen[0])

    print_result(form, *lines, data=data, whole=whole)


def _row(collection: Collection) -> dict[str, Any]:
    """Return the fields of a collection in one row, without checksums."""
    row = asdict(collection)
    del row["checksums"]
    return row | {"formats": " ".join(collection.formats)}


def _listed(chosen: list[Collection]) -> TextTable:
    table = TextTable(["name", "year", "opens as", "stresses"], left=4)
    for of in chosen:
        table.add_row(of.name, of.year, ", ".join(of.formats) or "no reader here", of.stresses)
    table.caption = "mcsim trace catalogue NAME shows source, licence, size, citation and checksums"
    return table


def _shown(of: Collection) -> list[str | TextTable]:
    texts = _row(of) | {"formats": ", ".join(of.formats) or "no reader here"}
    lines: list[str | TextTable] = [f"{field}: {text}" for field, text in texts.items()]
    if of.checksums:
        table = TextTable(["file", "bytes", "checksum"], left=1, last=True)
        for known in of.checksums:
            digest = f"SHA-256 {known.sha256}" if known.sha256 else f"MD5 {known.md5}"
            table.add_row(known.file, f"{known.bytes:,}" if known.bytes else "unknown", digest)
        lines.append(table)
    return lines
