"""Tables of `mcsim trace info`: the requests of VMs, and what they stress."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcsim.base.column import Column
from mcsim.cli.terminal import TextTable

if TYPE_CHECKING:
    from mcsim.base.formatted_table import FormattedTable, RowStyle
    from mcsim.traces.info import TraceInfo, VmInfo
    from mcsim.traces.metadata import TraceMetadata
    from mcsim.traces.trace import Trace


def lines_of(opened: Trace, found: TraceInfo) -> list[str | TextTable | FormattedTable]:
    """Return a trace's metadata, a table of its VMs, and a table of what they stress."""
    from mcsim.traces.info import described_rows, rows_text

    meta = opened.metadata
    kind = "synthetic, " if meta.synthetic else ""
    base = "times by clock" if meta.time_base == "clock" else "no clock, times count references"
    lines: list[str | TextTable | FormattedTable] = [
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
    cells = [_cells(vm, found, meta) for vm in rows]
    table = TextTable(list(cells[0]), left=1)
    for vm, row in zip(rows, cells, strict=True):
        style: RowStyle = "total" if vm is found.total else ""
        table.add_row(*row.values(), style=style)
    return [*lines, table, "access pattern:", _stress(rows)]


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


def _stress(vms: Sequence[VmInfo]) -> FormattedTable:
    """Return the table of what VMs stress, for people."""
    from mcsim.base.formatted_table import FormattedTable
    from mcsim.base.result_columns import TABLES

    left_out = {"sequential_byte_share"}
    columns = [c for c in TABLES["stress"] if not c.by and c.name not in left_out]
    columns = [c for c in columns if c.is_informative([getattr(vm, c.name) for vm in vms])]
    columns += [Column(name, heading, "share", "") for name, heading in _GROWTH.items()]
    return FormattedTable(
        [column.heading for column in columns],
        [[column.format(getattr(vm, column.name)) for column in columns] for vm in vms],
        [column.is_numeric for column in columns],
        notes=_NOTES,
        styles=["total" if len(vms) > 1 and vm is vms[-1] else "" for vm in vms],
    )


def _cells(vm: VmInfo, found: TraceInfo, meta: TraceMetadata) -> dict[str, str]:
    """Return a row by its headings."""
    from mcsim.base.units import format_size, format_span

    cells = {"VM": vm.name, "requests": f"{vm.requests:,}", "reads": f"{vm.read_requests:,}"}
    if found.kind == "objects":
        cells |= {
            "objects": f"{vm.unique_blocks:,}",
            "read objects": f"{vm.unique_read_blocks:,}",
        }
    else:
        cells |= {
            "accesses": f"{vm.blocks:,}",
            "of reads": f"{vm.read_blocks:,}",
            "unique blocks": f"{vm.unique_blocks:,}",
            "read blocks": f"{vm.unique_read_blocks:,}",
            "footprint": format_size(vm.footprint_bytes),
        }
    has_clock = found.time_base == "clock"
    cells |= {
        "span": format_span(vm.span) if has_clock else f"{vm.span:,} refs",
        "rate": "-" if math.isnan(vm.rate) else f"{vm.rate:.3g}/s",
    }
    if meta.has_lengths:
        cells |= {
            "mean size": format_size(vm.mean_request),
            "median": format_size(vm.median_request),
            "largest": format_size(vm.largest_request),
        }
    return cells
