"""System `open-cas` against outcomes of OCF, and against its rules in plain Python.

Trusts: outcomes of the library of OCF b8b4b704 (opencas_runs.py); NaiveOpenCas.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hosts import add_vm, ran, tiered
from kernel_hits import lines_of
from naive_opencas import CREATED, NaiveOpenCas
from opencas_runs import (
    MS,
    RUNS,
    SECOND,
    Request,
    Run,
    drawn,
    found,
    recorded,
    system_params,
    twin_params,
)

from mcsim import ConfigError
from mcsim._core import engine, locality


def replayed(requests: Sequence[Request], blocks: int, **params: Any) -> engine.RunResult:
    """Count every request separately, for a device with this number of blocks."""
    view = {"ops": "all", "addresses": True, "bytes": True}
    line_blocks = params.get("line_kib", 4) // 4
    builder = engine.AccessBuilder(line_blocks=line_blocks, **view)
    times, numbers, writes, lengths, vms = (np.array(each) for each in zip(*requests, strict=True))
    for vm in range(max(vms) + 1):
        own = vms == vm
        add_vm(builder, f"vm {vm}", times[own], writes[own], numbers[own], lengths[own])
    accesses = builder.finish()
    system = engine.System("open-cas", params, tiered(blocks, read_ns=1e5))
    measured = locality.characterise(accesses, system.meters)
    return engine.run(accesses, system, measured, np.arange(len(times) + 1))


def check(requests: Sequence[Request], twin: NaiveOpenCas, result: engine.RunResult) -> None:
    """Check hits, occupancy and dirty blocks after each request, and write-backs."""
    expected = []
    for time, *of in requests:
        outcome = twin.request(CREATED + time, *of)
        state = twin.valid_blocks, twin.dirty_blocks
        expected.append((twin.block_hits, outcome == "hit", *state))
    tiers, vms = result.tiers, result.vms
    assert list(
        zip(
            tiers["hits"].sum(axis=(1, 2)).tolist(),
            (vms["request_hits"].sum(axis=1) > 0).tolist(),
            tiers["occupancy"].sum(axis=(1, 2)).tolist(),
            vms["dirty"].sum(axis=1).tolist(),
            strict=True,
        )
    ) == expected  # fmt: skip
    assert vms["write_backs"].sum() == twin.counts["blocks cleaned"]


def requests_of(run: Run, trace_dir: Path) -> list[Request]:
    if not run.keys:
        return run.requests()
    words = lines_of(trace_dir, f"{run.keys}.keys")
    if run.keys.startswith("hplajw"):
        words = [word for place, word in enumerate(words) if place % 3 < 2]
    return recorded(words)[: run.count]


@pytest.mark.parametrize("run", RUNS, ids=[run.name for run in RUNS])
def test_all_outcomes_are_those_of_ocf(trace_dir: Path, run: Run) -> None:
    """Those of the twin; the same requests hit in the system."""
    requests = requests_of(run, trace_dir)
    of_twin, hits = found(run.twin(run.expected.lines), requests)
    assert of_twin == run.expected
    result = replayed(requests, run.mib << 8, **run.system())
    assert (result.vms["request_hits"].sum(axis=1) > 0).tolist() == hits
    assert result.vms["write_backs"].sum() >= run.expected.cleaned


@pytest.mark.parametrize("seed", range(24))
def test_drawn_requests_hit_as_in_the_twin(seed: int) -> None:
    draw = np.random.default_rng(seed)

    def one_of(*values: Any) -> Any:
        return values[int(draw.integers(len(values)))]

    params = {
        "writes": ("through", "back", "around", "only", "back", "pass")[seed % 6],
        "line_kib": one_of(4, 4, 8, 16, 32, 64),
        "promotion": one_of("always", "nhit"),
        "nhit_threshold": one_of(2, 3, 5),
        "nhit_trigger": one_of(0, 40, 80),
        "cutoff": one_of("full", "always", "never"),
        "cutoff_kib": one_of(16, 128, 1024),
        "cleaning": one_of("alru", "alru", "nop"),
        "wake_up": one_of(1, 3, 20),
        "staleness": one_of(1, 10, 120),
        "flush_lines": one_of(1, 10, 100),
        "idle": one_of(0, 500, 10_000),
        "dirty_ratio": one_of(100, 50, 20),
        "dirty_inertia_mib": one_of(0, 1, 128),
    }
    lines = one_of(40, 300, 700)
    line_blocks = params["line_kib"] // 4
    lengths = one_of((1,), (1, 1, 1, 2, 5, 30), (1, 3, 9, 64))
    vms = one_of(1, 3)
    span = 3 * lines * line_blocks // vms
    requests = drawn(seed, span, 1_500, one_of(0.1, 0.5, 0.9), lengths, 0.4, vms)
    result = replayed(requests, lines * line_blocks, metadata=False, **system_params(params))
    twin = NaiveOpenCas(lines, **twin_params(params))
    check(requests, twin, result)
    assert twin.counts["pass"] > 0 or params["writes"] != "pass"


def test_discards_and_departures_remove_blocks() -> None:
    builder = engine.AccessBuilder(ops="all", addresses=True, bytes=True)
    add_vm(builder, "a", np.arange(6) * MS, [1, 1, 2, 0, 0, 0], [0, 8, 8, 0, 8, 9])
    builder.depart(20 * MS)
    add_vm(builder, "b", [8 * MS, 30 * MS], True, [0, 0])
    params = {"metadata": False, "writes": "back"}
    system = engine.System("open-cas", params, tiered(64, read_ns=1e5), interval=10 * MS)
    result = ran(builder.finish(), system, 10 * MS)
    of, occupancy = result.vms, result.tiers["occupancy"][:, :, 0]
    assert of["request_hits"].sum(axis=0).tolist() == [1, 1]
    assert of["discarded_dirty"].sum(axis=0).tolist() == [1, 0]
    assert of["write_backs"].sum(axis=0).tolist() == [1, 0]
    assert occupancy[0].tolist() == [3, 1]
    assert occupancy[-1].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("mib", "line_kib", "lines"),
    [
        (40, 4, 1_120),
        (64, 4, 7_264),
        (1_024, 4, 250_656),
        (1_024, 64, 15_802),
        (4_096, 16, 259_168),
    ],
)
def test_metadata_take_space(mib: int, line_kib: int, lines: int) -> None:
    """Lines of OCF on devices of these sizes."""
    requests = [(0, 0, False, 1, 0)]
    result = replayed(requests, mib << 8, line_kib=line_kib)
    assert result.tiers["target"].max() == lines * line_kib // 4


def test_what_open_cas_refuses() -> None:
    def refused(
        message: str, blocks: int = 10_240, time_base: Any = "clock", **params: Any
    ) -> None:
        builder = engine.AccessBuilder(ops="all", addresses=True, bytes=True, time_base=time_base)
        add_vm(builder, "vm", np.arange(3) * MS, True, [0, 1, 2])
        accesses, on = builder.finish(), tiered(blocks, read_ns=1e5)
        with pytest.raises((ConfigError, ValueError), match=message):
            ran(accesses, engine.System("open-cas", params, on), SECOND)

    refused("tiers: 10239 blocks of 4096 B are less than 40 MiB, which Open CAS refuses", 10_239)
    refused("tiers: 0 blocks of 4096 B are less than a line", 0, metadata=False)
    refused("line_kib: must be 4, 8, 16, 32 or 64, got 12", line_kib=12)
    refused("line_kib: 128 is outside", line_kib=128)
    refused("nhit_threshold: 1 is outside", nhit_threshold=1)
    refused("wake_up: must be whole seconds, got 1500000000 ns", wake_up=1_500 * MS)
    refused("rate: the trace has no times, which alru needs", time_base="index", writes="back")
