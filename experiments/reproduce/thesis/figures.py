"""Thin provisioning of a hypervisor's cache: a thesis by Karthik Mylar Balasubramanya (2012).

It measured response times on a testbed. Here they are made of what the storage takes; to these a
server adds a free constant, which determines the percentages. So signs are the
evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.base.package import experiments_folder
from mcsim.config.profile import PhaseSpec, SyntheticVmSpec, read_profile
from mcsim.figures.declared import Plot
from mcsim.reproduce.catalogue import Check, Figure, Found
from mcsim.reproduce.context import Context
from mcsim.results.models import requests
from mcsim.results.results import Results
from mcsim.results.schemas import counts_of, of_system
from mcsim.results.series import vms_of

from .array import find_hits, find_latency
from .sharing import find_guests, find_interference

__all__ = ["FIGURES", "full_from", "turns_of"]

_MINUTE = 60 * 10**9

_FULL = 0.95


def turns_of(vm: SyntheticVmSpec, after: int = 0) -> list[tuple[int, int]]:
    """Return the minutes of a VM's heavy turns: the phases with the highest load.

    These are the ones with most requests a second, or in which its client thinks least.

    Parameters
    ----------
    after : int
        Minutes that are a warm-up; what is returned counts from then on.

    Returns
    -------
    list of tuple of int
        The first minute of each turn, and the first after it.
    """
    most = max(map(_asked, vm.phases))
    turns, begin = [], 0
    for phase in vm.phases:
        end = begin + phase.duration // _MINUTE
        if begin >= after and _asked(phase) == most:
            turns.append((begin - after, end - after))
        begin = end
    return turns


def _asked(phase: PhaseSpec) -> float:
    """Return the sort key of phases by load; either all phases have a client, or none has."""
    return -phase.think if phase.think is not None else phase.request_count / phase.duration


def full_from(used: NDArray[np.float64], turn: tuple[int, int]) -> int | None:
    """Return after how many minutes of a turn a part is full and stays so until it ends.

    Examples
    --------
    >>> from mcsim.reproduce.documents.thesis.figures import full_from
    >>> full_from(np.array([0.5, 1.0, 0.6, 0.96, 1.0]), (1, 5))
    3
    """
    spare = np.flatnonzero(used[slice(*turn)] < _FULL)
    begin, end = turn
    minutes = int(spare[-1]) + 1 if len(spare) else 0
    return None if minutes == end - begin else minutes + 1


def _used(results: Results, system: str) -> NDArray[np.float64]:
    """Return the share of its part that each VM holds at the end of each interval: (i, vms)."""
    table = of_system(results.measured("metrics"), system)
    held, given = (counts_of(table, name)[..., 0] for name in ("occupancy", "target"))
    return np.asarray(held / given)


def _profile(name: str) -> dict[str, SyntheticVmSpec]:
    return read_profile(experiments_folder() / "workloads" / name).vms


def _by_file(results: Results, system: str) -> dict[str, dict[int, float]]:
    """Return how full each VM's part is at the end of its turn with each file, by MiB."""
    used, vms = _used(results, system), vms_of(results)
    found: dict[str, dict[int, float]] = {}
    for name, vm in _profile("files8.yaml").items():
        busiest = max(phase.request_count for phase in vm.phases)
        files = [p.reads[0][0] for p in vm.phases if p.request_count == busiest]
        ends = [end for _, end in turns_of(vm)]
        sizes = (int(file.removeprefix("of")) for file in files)
        shares = used[np.array(ends) - 1, vms.index(name)].tolist()
        found[name] = dict(zip(sizes, shares, strict=True))
    return found


def _find_files(system: str, context: Context) -> Found:
    """Figures 9 and 10: how full parts are over the size of files."""
    results = context.run("thesis/files.yaml")
    by_file = _by_file(results, system)
    last = {vm: list(shares.values())[-1] for vm, shares in by_file.items()}
    detail = "with 1 GiB: " + ", ".join(f"{vm} {share:.0%}" for vm, share in last.items())
    if system == "static":
        check = Check(
            "all three reach the maximum",
            min(last.values()) > 0.995,
            detail,
            construction="files of 1 GiB are 1.6 times as large as a part",
        )
    else:
        check = Check("none has reached the maximum", max(last.values()) < _FULL, detail)
    table = pa.Table.from_pylist(
        [
            {"system": system, "vm": vm, "file_mib": size, "used_percent": 100 * share}
            for vm, shares in by_file.items()
            for size, share in shares.items()
        ]
    )
    axes = ("file_mib", "Size of the file (MiB)"), ("used_percent", "Share of its part held (%)")
    says = "At the end of a VM's turn with each file."
    columns, labels = zip(*axes, strict=True)
    plot = Plot("Share of its part held", says, "used", *columns, *labels, by=["vm"])
    return Found(checks=[check], tables={"used": table}, plots=[plot], runs=[results])


def _find_utilization(vm: str, context: Context) -> Found:
    """Figures 12 to 14: how full a VM's part is over time."""
    results = context.run("thesis/turns.yaml")
    warm_up = results.spec.warm_up_intervals
    turn = turns_of(_profile("thin3.yaml")[vm], warm_up)[0]
    column = vms_of(results).index(vm)
    used = {name: _used(results, name)[:, column] for name in ("static", "thin")}
    static, thin = (full_from(used[name], turn) for name in ("static", "thin"))
    rows = [
        {"vm": vm, "system": name, "minute": minute, "used_percent": 100 * share}
        for name, shares in used.items()
        for minute, share in enumerate(shares.tolist())
    ]
    table = pa.Table.from_pylist(rows)
    plots = [
        Plot(
            f"Share of its part that {vm} holds",
            f"By minute; its turn is from minute {turn[0]} to {turn[1]}.",
            "used", "minute", "used_percent", "Time (min)", "Share of its part held (%)", "steps",
            by=["system"], marks=[(turn[0], "its turn"), (turn[1], "the turn ends")],
        )
    ]  # fmt: skip
    return Found(
        checks=[
            Check(
                "in its turn a fixed part is full, and stays so, much sooner: thin takes 1.5 times "
                "as long or never comes to it",
                static is not None and (thin is None or thin >= 1.5 * static),
                f"its turn begins at {turn[0]} min; static {_after(static)}, thin {_after(thin)}",
            )
        ],
        tables={"used": table},
        plots=plots,
        runs=[results],
    )


def _after(minutes: int | None) -> str:
    return "never" if minutes is None else f"in minute {minutes} of it"


_RESPONSE_PLOTS = [
    Plot(
        "Response times", "Mean over requests, of storage alone.",
        "response", "vm", {"static_ms": "static", "thin_ms": "thin"},
        "", "Mean (ms)", "bars",
    )
]  # fmt: skip


def _find_response(context: Context) -> Found:
    """Figure 11: response times, static and thin."""
    results = context.run("thesis/turns.yaml")
    mean = {(row["system"], row["vm"]): row["mean_ns"] for row in requests(results).to_pylist()}
    vms = vms_of(results)
    change = {vm: 100 * (mean["thin", vm] / mean["static", vm] - 1) for vm in vms}
    table = pa.Table.from_pylist(
        [
            {
                "vm": vm,
                "static_ms": mean["static", vm] / 1e6,
                "thin_ms": mean["thin", vm] / 1e6,
                "change_percent": change[vm],
            }
            for vm in vms
        ]
    )
    return Found(
        values=dict(change),
        checks=[
            Check(
                "all three response times fall",
                max(change.values()) < 0,
                "of storage alone; a server's own time, which is free, makes them smaller: "
                + ", ".join(f"{vm} {part:+.0f} %" for vm, part in change.items()),
                construction="the heavy load rotates, and no idle VM could lend space otherwise",
            ),
            Check(
                "the database server gains most, then the file server, then the web server",
                change["database"] < change["file"] < change["web"],
                "in order of the gain: " + ", ".join(sorted(vms, key=change.__getitem__)),
            ),
        ],
        tables={"response": table},
        plots=_RESPONSE_PLOTS,
        runs=[results],
    )


def _figure(
    number: int,
    title: str,
    find: Callable[[Context], Found],
    seconds: float,
    quick: float,
) -> Figure:
    return Figure(f"thesis/fig{number}", title, seconds, quick, "synthetic", find)


FIGURES: Sequence[Figure] = (
    _figure(5, "Hits of the array, from a host", partial(find_hits, "host"), 20, 8),
    _figure(6, "Hits of the array, from a virtual machine", partial(find_hits, "vm"), 1, 1),
    _figure(7, "Time of reads, from a host", partial(find_latency, "host"), 1, 1),
    _figure(8, "Time of reads, from a virtual machine", partial(find_latency, "vm"), 1, 1),
    _figure(9, "How full fixed parts are, by file size", partial(_find_files, "static"), 10, 5),
    _figure(10, "How full lent parts are, by file size", partial(_find_files, "thin"), 1, 1),
    _figure(11, "Response times", _find_response, 4, 2),
    *(
        _figure(
            number,
            f"How full the {vm} server's part is",
            partial(_find_utilization, vm),
            1,
            1,
        )
        for number, vm in ((12, "file"), (13, "web"), (14, "database"))
    ),
    Figure(
        "thesis/interference",
        "Related work: what servers lose by sharing a cache",
        15,
        15,
        "synthetic",
        find_interference,
    ),
    Figure(
        "thesis/guests",
        "Related work: guests' caches above the host's",
        2,
        1,
        "synthetic",
        find_guests,
    ),
)
