"""What the Multi-Cache paper prints beside what a run measured.

A row for every number in the paper's text that the run has the systems and VMs
for. Published numbers are as printed; many are read off figures by their authors
("about", "up to"). The paper does not say whether its gains are relative; they
are taken so, and the difference in percentage points is given beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsim.config.spec import SystemSpec
from mcsim.results.render import STYLE
from mcsim.results.results import Results
from mcsim.results.series import (
    CannotDrawError,
    clock_of,
    curve_of,
    global_lru,
    is_legacy,
    multicache,
    series_of,
    vms_of,
)
from mcsim.results.tables import comparison

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Compared", "paper_comparison", "render_published"]

PAPERS_TIERS = (250_000, 2_500_000)
"""Blocks of DRAM and of flash; over sizes (Fig. 14), the first tier is a tenth of the second."""

_VMS = {"web_0", "web_1", "web_2", "web_3"}
_MORE_VMS = {"prn_0", "prn_1"}
_EARLY_HOURS = 30
_HOUR = 3600 * 10**9


@dataclass(frozen=True)
class Compared:
    """One published number and the run's.

    Attributes
    ----------
    figure : str
        Where the paper has it.
    item : str
        What it is.
    published : str
        As the paper prints it.
    measured : str
        The run's, in the same form.
    value : float
        The run's, unrounded; ratios and gains as fractions, blocks as such.
    note : str
        What to mind; empty if nothing.
    """

    figure: str
    item: str
    published: str
    measured: str
    value: float
    note: str = ""


_Row = Mapping[str, Any]


def paper_comparison(runs: Results | Sequence[Results]) -> list[Compared]:
    """Compare a run, or one experiment at several capacities, with the paper.

    Returns
    -------
    list of Compared
        In the order of the paper's figures; empty if the run is not of the paper's VMs,
        blocks and tiers, or has nothing that the paper prints.
    """
    listed = [runs] if isinstance(runs, Results) else list(runs)
    if not all(_is_papers_setting(run, several=len(listed) > 1) for run in listed):
        return []
    found = _of_sweep(listed) if len(listed) > 1 else _of_run(listed[0])
    if not any(run.synthetic for run in listed):
        return list(found)
    return [replace(row, note=", ".join(filter(None, (row.note, "synthetic")))) for row in found]


def _is_papers_setting(run: Results, several: bool) -> bool:
    """Whether a run has the VMs, requests, blocks and tiers that the paper's numbers are of."""
    spec = run.spec
    sizes = tuple(tier.capacity_blocks for tier in spec.tiers)
    fits = len(sizes) == 2 and 10 * sizes[0] == sizes[1] if several else sizes == PAPERS_TIERS
    return (
        fits
        and spec.ops == "reads"
        and spec.block_bytes == 4096
        and set(vms_of(run)) == (_VMS | _MORE_VMS if several else _VMS)
    )


def render_published(rows: Sequence[Compared]) -> RenderableType:
    """Show rows of `paper_comparison` in at most 100 columns."""
    from rich.table import Table

    table = Table(title="Beside the Multi-Cache paper", **STYLE)
    for name in ("figure", "item", "paper", "here", "note"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(row.figure, row.item, row.published, row.measured, row.note)
    return table


def _of_run(results: Results) -> Iterator[Compared]:
    vms = vms_of(results)
    try:
        multi = multicache(results)
    except CannotDrawError:
        yield from _of_curves(results, vms)
        return
    rows = comparison(results).to_pylist()
    by_vm = {row["vm"]: row for row in rows if row["system"] == multi.title}
    for base in _global_lrus(results):
        base_row = next(r for r in rows if r["system"] == base.title and r["vm"] is None)
        yield _gain("Fig. 6", "hit ratio over Global LRU", "+31 %", by_vm[None], base_row, base)
    yield from _of_curves(results, vms)
    yield from _of_early_hours(results, vms, multi)
    yield from _of_latency(results, by_vm, rows)
    yield from _of_shares(results, vms, multi)
    yield from _of_tiers(by_vm)


def _of_curves(results: Results, vms: Sequence[str]) -> Iterator[Compared]:
    if "web_1" in vms:
        curve = curve_of(results, "web_1")
        ratio = float(curve.ratio.max())
        yield _share("Fig. 7", "web_1: hit ratio at any capacity", "at most 5 %", ratio)
    if "web_2" in vms:
        curve = curve_of(results, "web_2")
        if curve.ratio.max() > 0:
            half = int(curve.capacity[np.argmax(curve.ratio >= curve.ratio.max() / 2)])
            item = "web_2: capacity for half of its hits"
            yield Compared("Fig. 7", item, "about 10^7 blocks", f"{half:,} blocks", half)


def _of_early_hours(results: Results, vms: Sequence[str], multi: SystemSpec) -> Iterator[Compared]:
    if "web_1" not in vms or results.spec.interval.by_reference:
        return
    ratio = series_of(results, multi).hit_ratio[:, vms.index("web_1")]
    begins = clock_of(results).begin
    early = ratio[(begins - begins[0] < _EARLY_HOURS * _HOUR) & ~np.isnan(ratio)]
    if len(early):
        item = f"web_1: best interval of the first {_EARLY_HOURS} h"
        yield _share("Fig. 10", item, "up to 80 %", float(early.max()))


def _of_latency(
    results: Results, by_vm: Mapping[str | None, _Row], rows: Sequence[_Row]
) -> Iterator[Compared]:
    for base in _global_lrus(results):
        gains = {}
        for row in rows:
            vm = row["vm"]
            if row["system"] == base.title and vm is not None and row["mean_latency_ns"]:
                gains[vm] = by_vm[vm]["mean_latency_ns"] / row["mean_latency_ns"] - 1
        if not gains:
            continue
        best = min(gains, key=lambda vm: gains[vm])
        worst = max(gains, key=lambda vm: gains[vm])
        for item, published, vm in (("best", "-72 %", best), ("worst", "none worse", worst)):
            yield Compared(
                figure="Fig. 11",
                item=f"mean latency, {item} VM",
                published=published,
                measured=f"{100 * gains[vm]:+.1f} %",
                value=gains[vm],
                note=f"{vm}, against {base.title}",
            )


def _of_shares(results: Results, vms: Sequence[str], multi: SystemSpec) -> Iterator[Compared]:
    held = series_of(results, multi).occupancy.mean(axis=0)
    for vm, tier, published in (
        ("web_0", 0, "55 %"),
        ("web_0", 1, "about 50 %"),
        ("web_3", 0, "about 25 %"),
    ):
        if vm in vms and tier < held.shape[1]:
            share = float(held[vms.index(vm), tier] / results.spec.tiers[tier].capacity_blocks)
            yield _share("Fig. 12", f"{vm}: mean share of tier {tier + 1}", published, share)


def _of_tiers(by_vm: Mapping[str | None, _Row]) -> Iterator[Compared]:
    for vm, tier, published in (
        ("web_0", 0, "about 10 %"),
        ("web_0", 1, "about 20 %"),
        ("web_3", 0, "about 50 %"),
        ("web_3", 1, "0 %"),
    ):
        if vm in by_vm and tier < len(by_vm[vm]["tier_hit_ratio"]):
            ratio = by_vm[vm]["tier_hit_ratio"][tier]
            yield _share("Fig. 13", f"{vm}: hit ratio from tier {tier + 1}", published, ratio)


def _of_sweep(runs: Sequence[Results]) -> Iterator[Compared]:
    largest = max(runs, key=lambda run: run.spec.tiers[-1].capacity_blocks)
    rows = {row["system"]: row for row in comparison(largest).to_pylist() if row["vm"] is None}
    try:
        row = rows[multicache(largest).title]
    except CannotDrawError:
        return
    for base in _global_lrus(largest):
        other = rows[base.title]
        yield _gain("Fig. 14", "hit ratio at the largest size", "+31 %", row, other, base)
        first, second = ({"hit_ratio": of["tier_hit_ratio"][0]} for of in (row, other))
        item = "hit ratio of tier 1 at the largest size"
        yield _gain("Fig. 14", item, "+89 %", first, second, base)


def _global_lrus(results: Results) -> list[SystemSpec]:
    """The clean Global LRU and the legacy one, as far as the run has them."""
    try:
        first = global_lru(results)
    except CannotDrawError:
        return []
    systems = results.spec.systems
    legacy = [system for system in systems if system.name == "lru" and is_legacy(system)]
    return [first, *(system for system in legacy[:1] if system != first)]


def _gain(
    figure: str, item: str, published: str, row: _Row, base_row: _Row, base: SystemSpec
) -> Compared:
    ratio, base_ratio = row["hit_ratio"], base_row["hit_ratio"]
    gain = ratio / base_ratio - 1 if base_ratio else float("nan")
    points = f"{100 * (ratio - base_ratio):+.2f} points, against {base.title}"
    return Compared(figure, item, published, f"{100 * gain:+.1f} %", gain, points)


def _share(figure: str, item: str, published: str, ratio: float) -> Compared:
    return Compared(figure, item, published, f"{100 * ratio:.1f} %", ratio)
