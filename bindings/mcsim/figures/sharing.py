"""Charts of a cache that several VMs share: as it is, changed, and divided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsim.figures.chart import Chart, Series, Sheet
from mcsim.figures.locality import curve_series, knees_of, unit_for
from mcsim.figures.looks import Look, looks_of

if TYPE_CHECKING:
    from mcsim.locality.mix import Mix
    from mcsim.locality.whatif import Situation

__all__ = ["before_and_after", "shared_and_divided"]

_MOST_VMS = 40


def before_and_after(situations: Sequence[tuple[str, Situation]], *, log: bool) -> Sheet:
    """Return the curve of all VMs with the size marked, and the hit ratio of each VM.

    Parameters
    ----------
    situations : sequence of (str, Situation)
        One, or two: before and after a change.
    log : bool
        Whether the axis of capacities is logarithmic.
    """
    accesses = {str(row.vm): int(row.accesses) for _, now in situations for row in now.rows}
    busiest = sorted(accesses, key=accesses.__getitem__, reverse=True)[:_MOST_VMS]
    names = [name for name in accesses if name in set(busiest)]
    looks = looks_of([when for when, _ in situations])
    first = situations[0][1].sharing.together
    end = max(max(now.sharing.together.saturation, now.size) for _, now in situations)
    unit = unit_for(first, end)
    lines: list[Series] = []
    for when, now in situations:
        curve, look = now.sharing.together, looks[when]
        label = f"{when}: {len(now.sharing.vms):,} VMs" if len(names) > 1 else when
        look = replace(look, label=label)
        lines += curve_series(curve, look, unit, log=log, end=end)
        lines.append(knees_of(curve, unit))
    sizes = ", ".join(f"{when} {100 * now.ratio:.1f} %" for when, now in situations)
    marked = {float(first.sizes_in(np.array([now.size]), unit)[0]): "size" for _, now in situations}
    curves = Chart(
        "Hit ratio of all VMs", f"Over the size of the cache; at its size: {sizes}.", "steps",
        np.zeros(0), lines, f"Capacity ({unit})", "Hit ratio (%)", log_x=log,
        marks=list(marked.items()),
    )  # fmt: skip
    bars = [one for when, now in situations for one in _by_vm(when, now, names, looks[when])]
    thrashed = {str(vm) for _, now in situations for vm in now.rows.vm[now.rows.thrashed]}
    by_vm = Chart(
        "Hit ratio of each VM", "In the shared cache, and alone in an equal part of it.", "bars",
        names, bars, "", "Hit ratio (%)",
    )  # fmt: skip
    notes = ["Dashed: the size of the cache."]
    if len(names) < len(accesses):
        notes.append(f"The {len(names)} VMs of {len(accesses):,} with most accesses.")
    if shown := [name for name in names if name in thrashed]:
        notes.append(f"Thrashed by the others: {', '.join(shown)}.")
    return Sheet([curves, by_vm], notes=notes, height=2.4)


def _by_vm(when: str, now: Situation, names: Sequence[str], look: Look) -> Iterator[Series]:
    """Yield the hit ratio of VMs in the shared cache, and alone in an equal part."""
    places = {str(row.vm): row for row in now.rows}
    for column, label, color in (
        ("shared", f"{when}, shared", look.color),
        ("part", f"{when}, in an equal part", "#8A8A8A"),
    ):
        values = [100 * float(places[n][column]) if n in places else np.nan for n in names]
        hatch = look.hatch if column == "shared" else "//"
        yield Series(replace(look, label=label, color=color, hatch=hatch), np.array(values))


def shared_and_divided(found: Mix, *, log: bool) -> Sheet:
    """Return the hit ratio of a cache, shared and divided, over its size, and the gain of parts."""
    rows, together = found, found.sharing.together
    unit = unit_for(together, int(rows.capacity[-1]))
    x = np.asarray(together.sizes_in(np.asarray(rows.capacity), unit), np.float64)
    names = {"shared": "shared", "equal": "equal parts", "parts": "best parts"}
    looks = looks_of(list(names))
    shared: dict[str, Any] = {"log_x": log, "ticks": list(x) if log and len(x) <= 10 else ()}
    ratios = [
        Series(replace(looks[column], label=name), 100 * (1 - rows[column] / rows.accesses))
        for column, name in names.items()
    ]
    label = f"Size of the cache ({unit})"
    ends = ", ".join(f"{one.look.label} {one.y[-1]:.1f} %" for one in ratios)
    gain = Series(replace(looks["parts"], label="best parts"), 100 * np.asarray(rows.size_gain))
    charts = [
        Chart(
            "Hit ratio, shared and divided", f"At the largest size: {ends}.", "lines", x, ratios,
            label, "Hit ratio (%)", **shared,
        ),
        Chart(
            "Effective size gained by the best parts", "Against the shared cache.", "lines", x,
            [gain], label, "Effective size gained (%)", levels=[(0.0, "")], **shared,
        ),
    ]  # fmt: skip
    note = (
        "Effective size: how much larger the shared cache would have to be to hit as often as "
        "the best parts."
    )
    return Sheet(charts, share_x=True, notes=[note], height=2.0)
