"""`mcsim trace info` of pieces of curves: the counts that they have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsim.cli.options import reporter_asked
from mcsim.cli.terminal import Form, print_result
from mcsim.tables.column import column
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.locality.curve import HitRatioCurve
    from mcsim.locality.curve_pieces import CurvePiece
    from mcsim.traces.batches import Kind


def has_pieces(file: str) -> bool:
    """Return whether a path is a piece of `mcsim mrc --shard`, or a folder of pieces."""
    path = Path(file)
    return path.suffix == ".piece" or (path.is_dir() and any(path.rglob("*.piece")))


def show_counts(file: str, form: Form) -> None:
    """Merge the pieces in a file or folder, and print their counts, by VM if they have these.

    Raises
    ------
    ConfigError
        As of `merge_files`.
    """
    from mcsim.sweeps.curves import merge_files

    reporter = reporter_asked()
    with reporter.live():
        whole = merge_files([Path(file)], reporter)
    rows = _rows(whole)

    def data() -> pa.Table:
        import pyarrow as pa

        return pa.Table.from_pylist(rows)

    print_result(
        form,
        _heading(whole),
        _table(rows, whole.facts["kind"]),
        data=data,
        whole=lambda: _about(whole, rows),
    )


def _rows(whole: CurvePiece) -> list[dict[str, Any]]:
    from mcsim.locality.curve_parts import ALL

    curves = whole.finished()
    of_vms = [(vm, curves[vm]) for vm in whole.vms if vm in curves]
    total = [("all", curves[ALL])] if len(of_vms) != 1 else []
    return [_row(name, curve) for name, curve in (*of_vms, *total)]


def _row(name: str, curve: HitRatioCurve) -> dict[str, Any]:
    unique = round(curve.distinct or 0)
    footprint = {} if curve.block_bytes is None else {"footprint_bytes": unique * curve.block_bytes}
    return {
        "name": name,
        "requests": curve.requests,
        "total_bytes": curve.bytes,
        "blocks": curve.accesses,
        "unique_blocks": unique,
        **footprint,
    }


def _times(whole: CurvePiece) -> tuple[int | None, int | None]:
    times = [time for span in whole.spans if span.times for time in span.times]
    return min(times, default=None), max(times, default=None)


def _about(whole: CurvePiece, rows: list[dict[str, Any]]) -> dict[str, Any]:
    first, last = _times(whole)
    facts = {key: whole.facts[key] for key in ("kind", "time_base", "ops", "block_bytes")}
    return {**facts, "pieces": whole.facts["count"], "first_time": first, "last_time": last} | {
        "rows": rows
    }


def _heading(whole: CurvePiece) -> str:
    from mcsim.base.units import format_span

    facts = whole.facts
    counts = (len({span.source for span in whole.spans}), "file"), (facts["count"], "piece")
    first, last = _times(whole)
    span = ""
    if first is not None and last is not None and facts["time_base"] == "clock":
        span = f", {format_span(last - first)}"
    estimated = "" if facts["estimator"] == "exact" else f", blocks by {facts['estimator']}"
    counted = [f"{n:,} {name}{'' if n == 1 else 's'}" for n, name in counts]
    return f"{' in '.join(counted)}: {facts['ops']}{span}{estimated}"


def _table(rows: list[dict[str, Any]], kind: Kind) -> ResultTable:
    columns = [
        column("VM", "text"),
        column("requests", "count"),
        column("size", "bytes"),
        column("accesses", "count"),
        column(f"unique {kind}", "count"),
        *([column("footprint", "bytes")] if kind == "blocks" else []),
    ]
    return ResultTable.of_rows(columns, [list(row.values()) for row in rows])
