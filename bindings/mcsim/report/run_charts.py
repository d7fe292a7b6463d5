"""The charts on the page of a run, which are those of its figures."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from mcsim.figures import MOST_VMS
from mcsim.figures.chart import Chart
from mcsim.figures.choice import chosen
from mcsim.figures.comparison import hit_ratio_by_vm, latency_by_vm, tier_chart
from mcsim.figures.curves import hit_ratio_curves
from mcsim.figures.timeline import (
    baseline_occupancy,
    occupancy_over_time,
    over_time,
    reuse_intensity,
)
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError, vms_of

_Names = Sequence[str] | None


def charts_of(results: Results, systems: _Names = None) -> list[Chart]:
    """Return the charts of a run as a whole."""
    few = len(vms_of(results)) <= MOST_VMS
    shown, _ = chosen(results, systems)
    charts = [
        *hit_ratio_by_vm([results], systems, by_vm=few).charts,
        *latency_by_vm(results, systems, by_vm=few).charts,
        tier_chart(results, systems),
        over_time(results, shown),
    ]
    if few:
        charts += hit_ratio_curves(results).charts
    return charts


def vm_charts(results: Results, systems: _Names = None) -> Iterator[Chart]:
    """Yield hit ratio and reuse intensity over time of each VM, if there are not too many."""
    vms = vms_of(results)
    if len(vms) > MOST_VMS:
        return
    shown, _ = chosen(results, systems)
    if len(vms) > 1:
        for v in range(len(vms)):
            yield over_time(results, shown, v)
    with contextlib.suppress(CannotDrawError):
        yield from reuse_intensity(results).charts


def occupancy_charts(results: Results, systems: _Names = None) -> list[Chart]:
    """Return what VMs hold of each tier, under the baseline and the best system."""
    if len(vms_of(results)) > MOST_VMS:
        return []
    if systems:
        return list(occupancy_over_time(results, systems).charts)
    charts: dict[str, Chart] = {}
    for sheet_of in (occupancy_over_time, baseline_occupancy):
        with contextlib.suppress(CannotDrawError):
            charts |= {chart.title: chart for chart in sheet_of(results).charts}
    return list(charts.values())
