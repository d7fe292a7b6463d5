"""Tables of `mcsim trace info`: the requests of VMs, and what they stress."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcsim.tables.column import Column, column
from mcsim.tables.result_columns import TABLES
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    from mcsim.cli.terminal import Line
    from mcsim.tables.formatted_table import RowStyle
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
