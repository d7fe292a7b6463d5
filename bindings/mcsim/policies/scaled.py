"""Counts of samples, scaled to the whole trace: the rows of a tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsim.base.units import format_bytes, format_latency
from mcsim.config.devices import Device
from mcsim.config.latency import ServiceTimes
from mcsim.policies.bands import least_deviations, margin_of, no_band_notes, no_band_reasons
from mcsim.policies.grid import Grid, Point
from mcsim.tables.result_table import ResultTable

Objective = Literal["hit-ratio", "latency", "device-writes", "backend-writes"]

OBJECTIVES = {
    "hit-ratio": "hit_ratio",
    "latency": "latency_ns",
    "device-writes": "device_writes",
    "backend-writes": "backend_writes",
}
"""The columns that there are to choose by."""

ESTIMATES = ("hit_ratio", "latency_ns", "device_writes", "backend_reads", "backend_writes")

Correction = Literal["none", "adj"]

_CORRECTIONS: tuple[Correction, ...] = ("none", "adj")

_What = Literal["requests", "accesses"]


class _Term(NamedTuple):
    """Estimated part of a column: a count of the sample, scaled to the whole."""

    what: _What
    op: int
    """Whether it is of reads, 0, or of writes, 1."""
    counted: int
    unit: float
    """Weight of one count in the column."""


@dataclass(frozen=True)
class Counted:
    """Counts of a replayed sample over all VMs, and estimates for the whole."""

    point: Point
    devices: tuple[Device, Device]
    rate: float
    tier: dict[str, int]
    vms: dict[str, int]
    given: dict[str, list[int]]
    """How much there is in the whole, by operation."""
    bytes: int
    """Blocks that the cache held."""
    blocks: int
    """How many there are in the sample."""

    def estimates(self, correction: Correction) -> dict[str, float]:
        """Return estimates of all columns, those of bytes in bytes."""
        back, around = self.point.writes == "back", self.point.writes == "around"
        read, write = self._scales("requests", correction)
        of_reads, of_writes = self._scales("accesses", correction)
        all_reads, all_writes = self.given["requests"]
        all_written = self.given["accesses"][1]
        missed = read * self.vms["read_requests"]
        lost = write * self.vms["write_requests"] if back else all_writes
        times = ServiceTimes.of((of.read_ns.middle, of.write_ns.middle) for of in self.devices)
        ns = times.waited_ns([all_reads - missed, missed], [all_writes - lost, lost])
        # Every block that is written goes to the device, or to the backend, or to both.
        columns = {
            "hit_ratio": 1 - missed / all_reads if all_reads else 0.0,
            "latency_ns": ns / (all_reads + all_writes),
            "device_writes": of_reads * self._loaded + (0 if around else all_written),
            "backend_reads": of_reads * self.vms["backend_reads"],
            "backend_writes": of_writes * self.vms["backend_writes"] if back else all_written,
            "dirty": of_writes * self.vms["dirty"],
        }
        of_bytes = set(columns) - {"hit_ratio", "latency_ns"}
        scaled = {name: columns[name] * self.point.sub_block for name in of_bytes}
        return {name: max(0.0, value) for name, value in (columns | scaled).items()}

    def terms(self) -> dict[str, list[_Term]]:
        """Return of what the estimates are made, by column; of known ones nothing."""
        tier, backend = self.devices
        block, back = self.point.sub_block, self.point.writes == "back"
        reads, writes = self.given["requests"]
        missed = (backend.read_ns.middle - tier.read_ns.middle) / (reads + writes)
        lost = (backend.write_ns.middle - tier.write_ns.middle) / (reads + writes)
        of_reads = _Term("requests", 0, self.vms["read_requests"], missed)
        of_writes = _Term("requests", 1, self.vms["write_requests"], lost)
        return {
            "hit_ratio": [of_reads._replace(unit=1 / max(reads, 1))],
            "latency_ns": [of_reads, of_writes] if back else [of_reads],
            "device_writes": [_Term("accesses", 0, self._loaded, block)],
            "backend_reads": [_Term("accesses", 0, self.vms["backend_reads"], block)],
            "backend_writes": [_Term("accesses", 1, self.vms["backend_writes"], block)] * back,
        }

    @property
    def _loaded(self) -> int:
        """Return how many accesses brought their block into the tier, writes not among them."""
        written = sum(self.tier[name] for name in ("fills", "promotions", "demotions", "updates"))
        return written - (0 if self.point.writes == "around" else self.sampled("accesses")[1])

    def sampled(self, what: _What) -> list[int]:
        """Return how much there is in the sample, by operation."""
        requests = ("read_requests", "write_requests")
        served = requests if what == "requests" else ("reads_served", "writes_served")
        return [self.tier[name] + self.vms[name] for name in served]

    def _scales(self, what: _What, correction: Correction) -> tuple[float, float]:
        """Return by what counts of reads and of writes are to be multiplied."""
        if correction == "adj":
            return 1 / self.rate, 1 / self.rate
        given, sampled = self.given[what], self.sampled(what)
        read, write = (whole / max(part, 1) for whole, part in zip(given, sampled, strict=True))
        return read, write


def rows_of(
    grid: Grid,
    samples: Sequence[Sequence[Counted]],
    rate: float,
    objective: Objective,
    squares: NDArray[np.float64],
) -> ResultTable:
    """Return a row a point of the grid, the best by the objective first.

    `squares` is the result of `squares_of_places` for the largest blocks.
    """
    points = grid.points
    estimates, margins, correction = _narrower(samples, rate, squares)
    columns: dict[str, NDArray[Any]] = {
        "policy": np.array([str(point.policy) for point in points]),
        "writes": np.array([point.writes for point in points]),
        "block": np.array([point.block for point in points], dtype=np.int64),
        "sub_block": np.array([point.sub_block for point in points], dtype=np.int64),
    }
    specs = [point.policy for point in points]
    no_band = no_band_reasons(specs, len(samples), np.full(len(points), float(rate)))
    for name in ESTIMATES:
        columns[name] = estimates[name].mean(axis=0)
        margin = margins[name] if rate < 1 else np.zeros(len(points))
        columns[f"{name}_margin"] = np.where(no_band == "", margin, np.nan)
    columns["no_band"] = no_band
    columns["dirty"] = estimates["dirty"].mean(axis=0)
    columns["rate"] = np.full(len(points), float(rate))
    columns["correction"] = np.full(len(points), "exact" if rate == 1 else correction)
    columns["bytes"] = np.array([[one.bytes for one in sample] for sample in samples]).max(axis=0)
    return ranked(columns, objective)


def ranked(columns: dict[str, NDArray[Any]], objective: Objective) -> ResultTable:
    """Return the rows of a tuning, the best by the objective first, with the mark `pareto`."""
    names = list(columns)
    columns["pareto"] = _pareto(columns)
    names.insert(names.index("dirty") + 1, "pareto")
    columns = {name: columns[name] for name in names}
    costs = dict(zip(OBJECTIVES, _costs(columns), strict=True))
    first = costs.pop(objective)
    # With equal objectives, the better in other columns is first: so the first is beaten
    # by none.
    order = np.lexsort([*reversed(costs.values()), first])
    rows = ResultTable({name: column[order] for name, column in columns.items()}, "tuning")
    return ResultTable(
        rows.columns(),
        "tuning",
        title=f"Caches of one size, the best first by {objective.replace('-', ' ')}",
        answer=_answer(rows[0], objective),
        notes=[_remark(rows, OBJECTIVES[objective]), *no_band_notes(rows)],
        styles=["best" if i == 0 else "" for i in range(len(rows))],
    )


def _answer(best: Any, objective: Objective) -> str:
    loaded = "" if best.sub_block == best.block else f" loaded by {format_bytes(best.sub_block)}"
    return (
        f"Best by {objective.replace('-', ' ')}: `{best.policy}`, writes {best.writes}, blocks of "
        f"{format_bytes(best.block)}{loaded}: hit ratio {100 * best.hit_ratio:.1f} %, mean "
        f"latency {format_latency(best.latency_ns)}."
    )


def _remark(rows: ResultTable, name: str) -> str:
    """Return a note on the Pareto-optimal rows and on the certainty of the best one."""
    value, margin = rows[name], rows[f"{name}_margin"]
    near = int((abs(value[1:] - value[0]) <= margin[1:] + margin[0]).sum())
    unsure = f"; the best is within the error bands of {near} others" if margin[0] > 0 else ""
    return (
        f"* {int(rows.pareto.sum())} of {len(rows)}: no other is as good in hit ratio, latency, "
        f"device and backend writes, and better in one{unsure}"
    )


_Columns = dict[str, NDArray[np.float64]]


def _narrower(
    samples: Sequence[Sequence[Counted]], rate: float, squares: NDArray[np.float64]
) -> tuple[_Columns, _Columns, Correction]:
    """Return all estimates by seed and point, and their margins, of narrower bands of hit ratios.

    A single seed has no bands: then the adjusted estimates, which have smaller worst errors.
    """
    least = [
        _least_deviations([sample[i] for sample in samples], rate, squares)
        for i in range(len(samples[0]))
    ]
    found: dict[Correction, tuple[_Columns, _Columns]] = {}
    for side, correction in enumerate(_CORRECTIONS):
        each = [[one.estimates(correction) for one in sample] for sample in samples]
        estimates = {
            name: np.array([[one[name] for one in sample] for sample in each])
            for name in (*ESTIMATES, "dirty")
        }
        margins = {
            name: margin_of(estimates[name], np.array([of[name][side] for of in least]))
            for name in ESTIMATES
        }
        found[correction] = estimates, margins
    plain, adjusted = ((found[c][1]["hit_ratio"] ** 2).sum() for c in _CORRECTIONS)
    correction = "none" if plain < adjusted else "adj"
    return *found[correction], correction


def _least_deviations(
    seeds: Sequence[Counted], rate: float, squares: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return, by column, what both estimates of a point vary at least, in order of corrections."""
    given = seeds[0].given
    blocks = float(np.mean([one.blocks for one in seeds])) / rate
    found = {}
    for name in ESTIMATES:
        variances = np.zeros(2)
        for terms in zip(*(one.terms()[name] for one in seeds), strict=True):
            what, op, _, unit = terms[0]
            counts = np.array([term.counted for term in terms], dtype=np.float64)[:, None]
            sampled = np.array([one.sampled(what)[op] for one in seeds])[:, None]
            each = given[what][op] / max(given["requests"][op], 1)  # of what, in a piece
            of_mean = (1 - rate) / rate / len(seeds)
            adjusted, plain = least_deviations(
                counts.mean(axis=0) / rate,
                counts.std(axis=0, ddof=1) / rate / np.sqrt(len(seeds)) if len(seeds) > 1 else 0,
                (counts / np.maximum(sampled, 1)).mean(axis=0),
                float(squares[op]) * each**2,
                blocks,
                of_mean,
            )
            if seeds[0].point.writes == "around":
                # A write takes its block out: places may miss as often as they are read after one.
                adjusted = np.hypot(adjusted, each * np.sqrt(of_mean * squares.min()))
            variances += (unit * np.concatenate([plain, adjusted])) ** 2
        found[name] = np.sqrt(variances)
    return found


def _costs(columns: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Return the objectives, a row each, such that less is better."""
    signs = {"hit_ratio": -1}
    return np.array([signs.get(name, 1) * columns[name] for name in OBJECTIVES.values()])


def _pareto(columns: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    costs = _costs(columns)
    beaten = [
        bool(((costs <= own[:, None]).all(axis=0) & (costs < own[:, None]).any(axis=0)).any())
        for own in costs.T
    ]
    return ~np.array(beaten)
