"""Counts of a run, added up from its Parquet files with plain loops; no code of mcsim is used."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "d": 86400e9}
BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
BYTES |= {"MB": 10**6, "GB": 10**9, "TB": 10**12}
WRITTEN = ("fills", "promotions", "demotions", "updates", "transfers")
YARDSTICKS = ("hindsight", "clairvoyant")
EQUAL = 0.0005
SAME = 0.01


def quantity(text: Any, units: Mapping[str, float]) -> float:
    """Read a number with a unit."""
    if not isinstance(text, str):
        return float(text)
    number, unit = re.fullmatch(r"([\d.]+) ?([A-Za-z]+)", text).groups()  # type: ignore[union-attr]
    return float(number) * units[unit]


@dataclass
class Count:
    """Accesses, hits and waiting time of a system over some VMs."""

    accesses: int = 0
    hits: int = 0
    waited: float = 0.0
    timed: bool = True

    def __add__(self, other: Count) -> Count:
        hits, waited = self.hits + other.hits, self.waited + other.waited
        return Count(self.accesses + other.accesses, hits, waited, self.timed)

    @property
    def ratio(self) -> float:
        return self.hits / self.accesses if self.accesses else 0.0

    @property
    def latency(self) -> float | None:
        return self.waited / self.accesses if self.accesses and self.timed else None

    @property
    def loss(self) -> float:
        return -self.ratio if self.latency is None else self.latency

    def over(self, other: Count, base: Count) -> float:
        """How much worse than another: a share of the latency of `base`, or of accesses."""
        if self.latency is None or other.latency is None or not base.latency:
            return other.ratio - self.ratio
        return (self.latency - other.latency) / base.latency


class PlainRun:
    """A run as its files have it."""

    def __init__(self, folder: Path) -> None:
        self.spec = yaml.safe_load((folder / "spec.yaml").read_text())
        self.environment = json.loads((folder / "environment.json").read_text())
        self.titles = [of.get("label") or of["name"] for of in self.spec["systems"]]
        self.foreseen = self.environment.get("foresight", {})
        self.metrics, self.vms, self.decisions = (
            pq.read_table(folder / f"{name}.parquet").to_pylist()
            for name in ("metrics", "vms", "decisions")
        )
        self.opt = {}
        if (folder / "bounds.parquet").exists():
            rows = pq.read_table(folder / "bounds.parquet").to_pylist()
            self.opt = {row["system"]: row["opt_hits"] for row in rows}
        self.first = 0
        warm_up = self.spec.get("warm_up")
        if isinstance(warm_up, str):
            units = NS | {"references": 1}
            self.first = round(quantity(warm_up, units) / quantity(self.spec["interval"], units))
        self.timed = self.environment["kind"] == "blocks"
        self.counts = self._counts()

    def _counts(self) -> dict[str, dict[str, Count]]:
        tiers, backend = self.spec["tiers"], self.spec["backend"]
        link = quantity((self.spec.get("hosts") or {}).get("link", {}).get("latency", 0), NS)
        found: dict[str, dict[str, Count]] = {title: {} for title in self.titles}

        def wait(device: dict[str, Any], row: dict[str, Any]) -> float:
            if not self.timed:
                return 0.0
            reads, writes = row["reads_served"] or 0, row["writes_served"] or 0
            waited = reads * quantity(device["read"], NS) + writes * quantity(device["write"], NS)
            return waited + (reads + writes) * quantity(device.get("over") or 0, NS)

        for row in self.vms:
            if row["interval"] < self.first:
                continue
            own = (backend.get("vms") or {}).get(row["vm"])
            device = backend if own is None else {"read": own, "write": own}
            hits = row["accesses"] - row["misses"]
            waited = wait(device, row) + (row.get("staged_ns") or 0)
            of = found[row["system"]]
            of.setdefault(row["vm"], Count(timed=self.timed))
            of[row["vm"]] += Count(row["accesses"], hits, waited)
        for row in self.metrics:
            if row["interval"] >= self.first:
                waited = wait(tiers[row["tier"]], row) + link * (row.get("remote_reads") or 0)
                found[row["system"]][row["vm"]] += Count(0, 0, waited)
        return found

    @property
    def realisable(self) -> list[str]:
        return [title for title in self.titles if title not in self.foreseen]

    def whole(self, title: str, without: frozenset[str] = frozenset()) -> Count:
        """Add the counts of a system over all VMs but some."""
        total = Count(timed=self.timed)
        for vm, count in self.counts[title].items():
            if vm not in without:
                total += count
        return total

    def apart(self) -> frozenset[str]:
        """The VMs whose hit ratios are within a point under all systems, if they make most."""
        titles = self.realisable
        if len(titles) < 2:
            return frozenset()
        accesses = {vm: of.accesses for vm, of in self.counts[titles[0]].items() if of.accesses}
        same = set()
        for vm in accesses:
            ratios = [self.counts[title][vm].ratio for title in titles]
            if max(ratios) - min(ratios) <= SAME:
                same.add(vm)
        if len(same) == len(accesses):
            return frozenset()
        is_most = sum(accesses[vm] for vm in same) > sum(accesses.values()) / 2
        return frozenset(same) if is_most else frozenset()

    @property
    def base(self) -> str:
        """Global LRU, the clean before the legacy one, else the first that is no yardstick."""
        systems = dict(zip(self.titles, self.spec["systems"], strict=True))
        lru = [title for title, of in systems.items() if of["name"] == "lru"]
        clean = [title for title in lru if not systems[title].get("legacy")]
        return [*clean, *lru, *self.realisable, *self.titles][0]

    def mode(self, title: str) -> str | None:
        """The write mode of a system; all that were in force if it decides on modes."""
        if self.spec["ops"] == "reads":
            return None
        of = self.spec["systems"][self.titles.index(title)]
        recorded = self.environment.get("data_paths", {}).get(title, {})
        fixed = "in place" if of["name"] in ("hystor", "vfrm", "edt") else "through"
        modes = {recorded.get("writes", of.get("writes", fixed))}
        for row in self.decisions:
            if row["system"] == title:
                modes |= set(row.get("write_modes") or ())
        return " or ".join(sorted(modes))

    def hits_of_tiers(self, title: str) -> int:
        """The hits of tiers, without those of staged blocks."""
        of_system = [row for row in self.metrics if row["system"] == title]
        return sum(row["hits"] for row in of_system if row["interval"] >= self.first)

    def hits_everything(self) -> bool:
        """Whether all systems have the hits of OPT, to a hundredth of a per cent."""
        return all(
            title in self.opt and self.hits_of_tiers(title) >= 0.99995 * self.opt[title]
            for title in self.realisable
        )

    def years(self, title: str, tier: int) -> float:
        """The life of the drive of a tier."""
        device = self.spec["tiers"][tier]
        blocks = sum(
            row[name] or 0
            for row in self.metrics
            if (row["system"], row["tier"]) == (title, tier) and row["interval"] >= self.first
            for name in WRITTEN
            if name in row
        )
        first, last = self.environment["counted_ns"]
        days = (last - first) / NS["d"]
        written = blocks * quantity(self.spec["block_bytes"], BYTES) / days
        drive = quantity(device["drive"], BYTES) * len(
            (self.spec.get("hosts") or {}).get("names", [0])
        )
        if not written:
            return float("inf")
        amplification = device.get("write_amplification") or 1
        return float(drive * device["pe_cycles"] / (written * amplification) / 365.25)
