"""What samples counted, scaled to the whole: the rows of a tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mcsim.base.rows import Rows
from mcsim.config.devices import Device
from mcsim.policies.grid import Grid, Point
from mcsim.policies.miniatures import margin_of, varies_less

__all__ = ["ESTIMATES", "OBJECTIVES", "Correction", "Counted", "Objective", "rows_of"]

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


@dataclass(frozen=True)
class Counted:
    """What a replay of a sample counted, of all VMs together, and what follows for the whole."""

    point: Point
    devices: tuple[Device, Device]
    rate: float
    tier: dict[str, int]
    vms: dict[str, int]
    given: dict[str, list[int]]
    """How much there is in the whole, by operation."""
    bytes: int
    """What the cache held."""

    def estimates(self, correction: Correction) -> dict[str, float]:
        """Return estimates of all columns, those of bytes in bytes."""
        tier, backend = self.devices
        back, around = self.point.writes == "back", self.point.writes == "around"
        read, write = self._scales("requests", correction)
        of_reads, of_writes = self._scales("accesses", correction)
        all_reads, all_writes = self.given["requests"]
        all_written = self.given["accesses"][1]
        waiting = (tier if back else backend).write_ns.middle  # for a write that hits
        missed = read * self.vms["read_requests"]
        lost = write * self.vms["write_requests"] if back else 0.0
        ns = (
            missed * backend.read_ns.middle
            + (all_reads - missed) * tier.read_ns.middle
            + lost * backend.write_ns.middle
            + (all_writes - lost) * waiting
        )
        # Every block that is written goes to the device, or to the backend, or to both.
        into_tier = 0 if around else self._sampled("accesses")[1]
        loaded = self._device_writes - into_tier
        columns = {
            "hit_ratio": 1 - missed / all_reads if all_reads else 0.0,
            "latency_ns": ns / (all_reads + all_writes),
            "device_writes": of_reads * loaded + (0 if around else all_written),
            "backend_reads": of_reads * self.vms["backend_reads"],
            "backend_writes": of_writes * self.vms["backend_writes"] if back else all_written,
            "dirty": of_writes * self.vms["dirty"],
        }
        of_bytes = set(columns) - {"hit_ratio", "latency_ns"}
        scaled = {name: columns[name] * self.point.sub_block for name in of_bytes}
        return {name: max(0.0, value) for name, value in (columns | scaled).items()}

    @property
    def _device_writes(self) -> int:
        return sum(self.tier[name] for name in ("fills", "promotions", "demotions", "updates"))

    def _sampled(self, what: Literal["requests", "accesses"]) -> list[int]:
        """Return how much there is in the sample, by operation."""
        requests = ("read_requests", "write_requests")
        served = requests if what == "requests" else ("reads_served", "writes_served")
        return [self.tier[name] + self.vms[name] for name in served]

    def _scales(
        self, what: Literal["requests", "accesses"], correction: Correction
    ) -> tuple[float, float]:
        """Return by what counts of reads and of writes are to be multiplied."""
        if correction == "adj":
            return 1 / self.rate, 1 / self.rate
        given, sampled = self.given[what], self._sampled(what)
        read, write = (whole / max(part, 1) for whole, part in zip(given, sampled, strict=True))
        return read, write


def rows_of(
    grid: Grid, samples: Sequence[Sequence[Counted]], rate: float, objective: Objective
) -> Rows:
    """Return a row a point of the grid, the best by the objective first."""
    points = grid.points
    plain, adjusted = (
        {
            name: np.array([[one[name] for one in sample] for sample in found])
            for name in (*ESTIMATES, "dirty")
        }
        for found in (
            [[one.estimates(correction) for one in sample] for sample in samples]
            for correction in _CORRECTIONS
        )
    )
    use_plain = varies_less(plain["hit_ratio"], adjusted["hit_ratio"])
    estimates = plain if use_plain else adjusted
    columns: dict[str, NDArray[Any]] = {
        "policy": np.array([str(point.policy) for point in points]),
        "writes": np.array([point.writes for point in points]),
        "block": np.array([point.block for point in points], dtype=np.int64),
        "sub_block": np.array([point.sub_block for point in points], dtype=np.int64),
    }
    for name in ESTIMATES:
        columns[name] = estimates[name].mean(axis=0)
        exact = np.zeros(len(points))
        columns[f"{name}_margin"] = margin_of(estimates[name]) if rate < 1 else exact
    columns["dirty"] = estimates["dirty"].mean(axis=0)
    columns["pareto"] = _pareto(columns)
    columns["rate"] = np.full(len(points), float(rate))
    correction = "exact" if rate == 1 else "none" if use_plain else "adj"
    columns["correction"] = np.full(len(points), correction)
    columns["bytes"] = np.array([[one.bytes for one in sample] for sample in samples]).max(axis=0)
    costs = dict(zip(OBJECTIVES, _costs(columns), strict=True))
    first = costs.pop(objective)
    # Of those that are equal in the objective, the better in the others: so the first is beaten
    # by none.
    order = np.lexsort([*reversed(costs.values()), first])
    return Rows.of({name: column[order] for name, column in columns.items()})


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
