"""Tables of a run as the terminal shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow.compute as pc

from mcsim.base import units
from mcsim.results.data_paths import differing_fields
from mcsim.results.foresight import in_two, yardstick_note
from mcsim.results.loads import device_titles
from mcsim.results.results import Results
from mcsim.results.tables import comparison, systems

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as RichTable

__all__ = [
    "MOST_VMS",
    "STYLE",
    "Columns",
    "add_rows",
    "cells_of",
    "latency",
    "percent",
    "points",
    "render_comparison",
    "render_systems",
    "says_nothing",
    "signed",
    "speaking",
    "table_of_systems",
]

Columns = Sequence[tuple[str, str, Callable[[Any], str]]]
"""The name of a column in a table of results, its head, and how a value is shown."""

# So many VMs are shown one by one.
MOST_VMS = 24


_COUNTS = ("churn", "infeasible", "saturated_intervals", "overloaded_intervals")


def says_nothing(name: str, values: Sequence[Any]) -> bool:
    """Whether a column need not be shown: it is unknown, or counts what did not happen.

    Parameters
    ----------
    name : str
        As the tables of a run call it.
    values : sequence
        Of all rows; None where it is not known.
    """
    known = [value for value in values if value is not None]
    if not known:
        return True
    match name:
        case "decide_seconds":
            return all(value < 0.005 for value in known)  # which is shown as 0.00
        case "over_hindsight":
            return len(values) == 1  # of itself
        case _:
            return name in _COUNTS and not any(known)


def speaking(columns: Columns, rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Return those columns that say something in a table of these rows."""
    return [
        column
        for column in columns
        if not says_nothing(column[0], [r.get(column[0]) for r in rows])
    ]


def cells_of(row: Mapping[str, Any], columns: Columns) -> Iterator[str]:
    """Write what a row has in these columns; a dash where it has nothing."""
    return ("–" if row[name] is None else show(row[name]) for name, _, show in columns)


def table_of_systems(results: Results, what: str, heads: Iterable[str]) -> RichTable:
    """Begin a table with a row a system, for numbers under these heads."""
    from rich.table import Table

    table = Table(title=f"{results.title}: {what}", **STYLE)
    table.add_column("system", overflow="fold")
    for head in heads:
        table.add_column(head, justify="right")
    return table


_Row = TypeVar("_Row", bound=Mapping[str, Any])


def add_rows(
    table: RichTable,
    rows: Iterable[_Row],
    results: Results,
    add: Callable[[_Row], object],
) -> None:
    """Add rows to a table of systems, yardsticks last and below a heading."""
    realisable, yardsticks = in_two(rows, results.foresight)
    for row in realisable:
        add(row)
    if yardsticks:
        table.add_row(_YARDSTICKS)
    for row in yardsticks:
        add(row)


_YARDSTICKS = "yardsticks:"


def render_comparison(results: Results) -> RenderableType:
    """Show `comparison` in at most 100 columns."""
    from rich.table import Table

    spec = results.spec
    table = Table(title=_title(results), **STYLE)
    table.add_column("VM")
    table.add_column("accesses", justify="right")
    table.add_column("system", overflow="fold")
    vms = pc.count_distinct(results.table("vms")["vm"]).as_py()
    compared = comparison(results, by_vm=vms <= MOST_VMS).to_pylist()
    fields = differing_fields(compared)
    for head in fields.values():
        table.add_column(head, overflow="fold")
    has_baseline = any(row["gain"] is not None for row in compared)
    heads = ["hit %", *(f"{title} %" for title in device_titles(spec)[:-1]), "latency"]
    for head in (*heads, *(("gain", "points", "speed") if has_baseline else ())):
        table.add_column(head, justify="right", no_wrap=bool(fields))

    def add(rows: Iterable[Mapping[str, Any]], *, strong: bool) -> None:
        by_vm: dict[str | None, list[Mapping[str, Any]]] = {}
        for row in rows:
            by_vm.setdefault(row["vm"], []).append(row)
        for vm, of_vm in by_vm.items():
            shown: int | None = None
            for row in of_vm:
                first, changed = shown is None, row["accesses"] != shown
                shown = row["accesses"]
                shares = row["tier_hit_ratio"] + [None] * (len(spec.tiers) - len(row["tier_hits"]))
                table.add_row(
                    (vm or "all") if first else "",
                    f"{shown:,}" if changed else "",
                    row["system"],
                    *(row[name] or "–" for name in fields),
                    percent(row["hit_ratio"]),
                    *map(percent, shares),
                    latency(row["mean_latency_ns"]),
                    *(_against_baseline(row) if has_baseline else ()),
                    style="bold" if vm is None and strong else None,
                )
            table.add_section()

    realisable, yardsticks = in_two(compared, results.foresight)
    add(realisable, strong=True)
    if yardsticks:
        table.add_row("", "", _YARDSTICKS)
    add(yardsticks, strong=False)
    table.caption = _caption(results, vms, has_baseline)
    return table


def _caption(results: Results, vms: int, has_baseline: bool) -> str | None:
    """Return the lines below a comparison; None if there are none."""
    against = "against Global LRU: gain and points in hit ratio, speed by mean latency"
    one_by_one = f"the {vms:,} VMs one by one are in vms.parquet and metrics.parquet"
    captions = [
        against if has_baseline else "",
        yardstick_note(results.foresight),
        one_by_one if vms > MOST_VMS else "",
    ]
    return "\n".join(filter(None, captions)) or None


def _against_baseline(row: Mapping[str, Any]) -> tuple[str, str, str]:
    saved = row["latency_gain"]
    return (
        _signed_percent(row["gain"]),
        points(row["gain_absolute"]),
        "–" if saved is None or saved == 1 else f"{1 / (1 - saved):.2f}×",
    )


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} s"


def render_systems(results: Results) -> RenderableType:
    """Show `systems` in at most 100 columns."""
    spec = results.spec
    rows = systems(results).to_pylist()
    has_baseline = any(row["gain_over_legacy"] is not None for row in rows)
    decides = not says_nothing("decide_seconds", [row["decide_seconds"] for row in rows])
    heads = ["gain over\nlegacy LRU", "points"] if has_baseline else []
    heads += [f"{title}\nwrites" for title in device_titles(spec)[:-1]]
    heads += ["cost $", "1/s/$", "replay", "rate", *(["decide"] if decides else [])]
    table = table_of_systems(results, "systems", heads)

    def add(row: Mapping[str, Any]) -> None:
        gained, lead = row["gain_over_legacy"], row["gain_absolute_over_legacy"]
        writes = [units.format_count(blocks) for blocks in row["device_writes"]]
        rate = row["accesses_per_second"]
        table.add_row(
            row["system"],
            *((_signed_percent(gained), points(lead)) if has_baseline else ()),
            *writes,
            *["–"] * (len(spec.tiers) - len(writes)),
            "–" if row["cost_dollars"] is None else f"{row['cost_dollars']:.3g}",
            "–" if row["performance_per_cost"] is None else f"{row['performance_per_cost']:.3g}",
            _seconds(row["replay_seconds"]),
            "–" if rate is None else f"{units.format_count(rate)}/s",
            *([_seconds(row["decide_seconds"])] if decides else []),
        )

    add_rows(table, rows, results, add)
    captions = [
        "writes in blocks; cost: of the blocks granted, in the mean; 1/s/$: accesses per second "
        "one client completes, per dollar",
        yardstick_note(results.foresight),
    ]
    table.caption = "\n".join(filter(None, captions))
    return table


STYLE: Mapping[str, Any] = {
    "box": None,
    "padding": (0, 1, 0, 0),
    "title_justify": "left",
    "caption_justify": "left",
}


def _title(results: Results) -> str:
    spec = results.spec
    space = " + ".join(f"{tier.capacity:,}" for tier in spec.tiers)
    if spec.hosts is not None:
        space = f"{spec.host_count} hosts of {space}"
    ops = {"all": "reads and writes"}.get(spec.ops, spec.ops)
    return f"{results.title}: {ops}, {space} blocks of {units.format_bytes(spec.block_bytes)}"


def percent(ratio: float | None) -> str:
    """Write a share in percent, without the sign; a dash where there is none."""
    return "–" if ratio is None else f"{100 * ratio:.2f}"


def _signed_percent(ratio: float | None) -> str:
    return "–" if ratio is None else signed(100 * ratio, 1) + "%"


def points(difference: float | None) -> str:
    """Write a difference of shares in percentage points."""
    return "–" if difference is None else signed(100 * difference, 2)


def signed(value: float, digits: int) -> str:
    """Write a difference, what is rounded to nothing without a sign."""
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}" if rounded else f"{0:.{digits}f}"


def latency(ns: float | None) -> str:
    """Write a latency for people."""
    return "–" if ns is None else units.format_latency(ns)
