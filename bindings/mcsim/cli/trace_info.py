"""`mcsim trace info` and `trace catalogue`: tables of a trace, and of public collections."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.help import Sectioned
from mcsim.cli.options import table_option
from mcsim.cli.terminal import Form, Line, print_result
from mcsim.tables.column import Column, column
from mcsim.tables.result_columns import TABLES
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.cli.terminal import Line
    from mcsim.tables.formatted_table import RowStyle
    from mcsim.tables.result_table import ResultTable
    from mcsim.traces.collections import Collection
    from mcsim.traces.info import TraceInfo, VmInfo
    from mcsim.traces.metadata import TraceMetadata
    from mcsim.traces.trace import Trace


def lines_of(opened: Trace, found: TraceInfo) -> list[Line]:
    """Return a trace's metadata, a table of its VMs, and a table of what they stress."""
    from mcsim.traces.info import described_rows, rows_text

    meta = opened.metadata
    kind = "synthetic, " if meta.synthetic else ""
    base = "times by clock" if meta.time_base == "clock" else "no clock, times count references"
    lines: list[Line] = [
        f"{meta.source}: {kind}{meta.kind}, format {meta.format}, {base}, digest {meta.digest[:16]}"
    ]
    if (name := collection_of(opened)) is not None:
        lines.append(f"published in: {name} (mcsim trace catalogue {name})")
    if meta.has_prefixes:
        lines.append("requests are prefixes; hits are of their blocks one by one, not of prefixes")
    if text := rows_text(described_rows(meta)):
        lines.append(text)
    lines += meta.notes
    if meta.complaints:
        lines.append("skipped first:")
        lines += [f"  {complaint}" for complaint in meta.complaints]
    rows = [*found.vms, found.total] if len(found.vms) > 1 else list(found.vms)
    styles: list[RowStyle] = ["total" if vm is found.total else "" for vm in rows]
    return [*lines, _counts(rows, found, meta, styles), "access pattern:", _stress(rows, styles)]


def collection_of(opened: Trace) -> str | None:
    """Return the name of the collection that published a trace's file; None if unknown."""
    from mcsim.traces.collections import published_as

    found = published_as(opened.metadata.source_digest)
    return None if found is None else found[0].name


_GROWTH = {"half_share": "half %", "last_tenth_share": "last tenth %"}
_NOTES = [
    "once: blocks with one access, and the share of accesses to them; sequential: requests that",
    "begin where the VM's previous one ended; half: distinct blocks seen in the first half of the",
    "requests; last tenth: distinct blocks that are new in it; --json has all columns",
]


def _stress(vms: Sequence[VmInfo], styles: Sequence[RowStyle]) -> ResultTable:
    """Return the table of what VMs stress, for people."""
    columns = [of for of in TABLES["stress"] if of.shown]
    columns += [Column(name, heading, "share", "") for name, heading in _GROWTH.items()]
    rows = ([getattr(vm, of.name) for of in columns] for vm in vms)
    return ResultTable.of_rows(columns, rows, "stress", notes=_NOTES, styles=styles)


def _counts(
    vms: Sequence[VmInfo], found: TraceInfo, meta: TraceMetadata, styles: Sequence[RowStyle]
) -> ResultTable:
    """Return the table of the requests of VMs."""
    from mcsim.base.units import format_span

    has_clock = found.time_base == "clock"
    columns = {
        "requests": column("requests", "count"),
        "read_requests": column("reads", "count"),
    }
    if found.kind == "objects":
        columns["unique_blocks"] = column("objects", "count")
        columns["unique_read_blocks"] = column("read objects", "count")
    else:
        columns["blocks"] = column("accesses", "count")
        columns["read_blocks"] = column("of reads", "count")
        columns["unique_blocks"] = column("unique blocks", "count")
        columns["unique_read_blocks"] = column("read blocks", "count")
        columns["footprint_bytes"] = column("footprint", "bytes")
    rows = [[vm.name, *(getattr(vm, name) for name in columns)] for vm in vms]
    ends = [column("span"), column("rate")]
    for row, vm in zip(rows, vms, strict=True):
        row.append(format_span(vm.span) if has_clock else f"{vm.span:,} refs")
        row.append("-" if math.isnan(vm.rate) else f"{_three_digits(vm.rate)}/s")
    if meta.has_lengths:
        ends += [column(head, "bytes") for head in ("mean size", "median", "largest")]
        for row, vm in zip(rows, vms, strict=True):
            row += [vm.mean_request, vm.median_request, vm.largest_request]
    every = [column("VM", "text"), *columns.values(), *ends]
    return ResultTable.of_rows(every, rows, styles=styles)


def _three_digits(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 1000 else f"{rate:.3g}"


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
