"""Rules of systems, cell by cell of their tables, in plain Python, or by another's solver.

Trusts: the tables as they are printed, with windows whose counts are made; HiGHS on the program of
bottleneck-aware allocation with a variable for every client and a constraint for every pair.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
import pytest
from hosts import add_vm, ran
from numpy.typing import NDArray

from mcsim._core import engine

WINDOW = 1_000
PART = 100  # what each of two VMs has at first
QUANTUM = 20
MISSES = 5.0  # the threshold of the donor
EXTENT = 4


def trace_of(*vms: list[tuple[int, int]], extent: int = 1) -> engine.Accesses:
    """Reads of one block each: a time and a block, by VM."""
    builder = engine.AccessBuilder(line_blocks=extent)
    for v, rows in enumerate(vms):
        time, blocks = zip(*rows, strict=True)
        add_vm(builder, f"vm{v}", time, False, blocks)
    return builder.finish()


def decided(
    trace: engine.Accesses, system: engine.System, interval: int = WINDOW
) -> engine.RunResult:
    return ran(trace, system, interval)


def window(index: int, requests: int, misses: int, used: int) -> list[tuple[int, int]]:
    """So many requests of a window, of which the first are to blocks never seen before.

    The others are of the blocks that there are since the first window, so that in all so many
    blocks are touched that are held.
    """
    assert misses <= used <= requests
    blocks = [10_000 * (index + 1) + i for i in range(misses)]
    blocks += [i % (used - misses) for i in range(requests - misses)]
    return [(index * WINDOW + i, block) for i, block in enumerate(blocks)]


@pytest.mark.parametrize("unused", [2 * QUANTUM, 2 * QUANTUM + 1])
@pytest.mark.parametrize("misses", [MISSES - 1, MISSES, MISSES + 1])
@pytest.mark.parametrize("requests", [-1, 0, 1])
def test_who_gives_in_thin_provisioning(requests: int, misses: float, unused: int) -> None:
    """R < R_th and miss < Miss_th and C_remain > 2 C_threshold, each at its edge."""
    used = PART - unused
    threshold = float(used + 20)  # of requests: enough for what is used
    donor = [(i, i) for i in range(used)]
    for index in (1, 2, 3):
        donor += window(index, int(threshold) + requests, int(misses), used)
    borrower = [(t, 50_000 + t) for t in range(4 * WINDOW + 1)]
    params: dict[str, Any] = {
        "period": WINDOW,
        "quantum": QUANTUM / PART,
        "misses": "count",
        "donor_windows": 1,
        "request_thresholds": {"vm0": threshold, "vm1": 100.0},
        "miss_thresholds": {"vm0": MISSES, "vm1": 10.0},
        "resize_mode": "eager",
    }
    on = engine.Machine(
        [(engine.Device("flash", 1e4, 1e4, 1.0), 2 * PART)], engine.Device("disk", 1e7, 1e7, 0.1)
    )
    result = decided(trace_of(donor, borrower), engine.System("thin", params, on))
    # The first window, in which all of the donor's blocks are new, is none of idleness.
    sizes = [decision["targets"][0].tolist() for decision in result.decisions]
    wrong = requests < 0 and misses > MISSES
    assert result.decisions[1]["note"] == ("replacement policy problem: vm0" if wrong else "")
    gives = requests < 0 and misses < MISSES and unused > 2 * QUANTUM
    assert sizes[0] == [PART, PART]
    assert sizes[1] == ([PART - QUANTUM, PART + QUANTUM] if gives else [PART, PART])
    for before, after in itertools.pairwise(sizes):
        # A donor keeps more than the quantum that it could give again.
        assert before == after or after[0] - used > QUANTUM
        assert sum(after) == 2 * PART


def most_throughput(ratios: list[float], fast: float, slow: float) -> float:
    """Bottleneck-aware allocation with a throughput for every client, and envy by pairs."""
    clients = len(ratios)
    needs = [(hit / fast, (1 - hit) / slow) for hit in ratios]
    fair = [1 / (clients * max(of)) for of in needs]
    on_disk = [of[1] > of[0] for of in needs]
    program: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    program.setOptionValue("output_flag", False)
    for share in fair:
        program.addVar(share, highspy.kHighsInf)  # no less than the fair share
    for device in (0, 1):
        row = np.array([of[device] for of in needs])
        program.addRow(-highspy.kHighsInf, 1.0, clients, np.arange(clients, dtype=np.int32), row)
    for i, j in itertools.permutations(range(clients), 2):
        pair = np.array([i, j], dtype=np.int32)
        bottleneck = 1 if on_disk[i] else 0
        if on_disk[i] == on_disk[j]:
            # Clients of one bottleneck get the same multiple of their fair shares.
            program.addRow(0.0, 0.0, 2, pair, np.array([1 / fair[i], -1 / fair[j]]))
        else:
            # With the time of the other its own bottleneck would give it no more.
            of_other = needs[j][bottleneck] / needs[i][bottleneck]
            program.addRow(0.0, highspy.kHighsInf, 2, pair, np.array([1.0, -of_other]))
    for i in range(clients):
        program.changeColCost(i, 1.0)
    program.changeObjectiveSense(highspy.ObjSense.kMaximize)
    program.run()
    assert program.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(program.getInfo().objective_function_value)


def check_throughputs(
    ratios: NDArray[np.float64], given: NDArray[np.float64], fast: float, slow: float
) -> None:
    """No device exceeds its capacity, and no VM envies another."""
    needs = np.column_stack([ratios / fast, (1 - ratios) / slow])
    assert (given @ needs <= 1 + 1e-9).all()
    assert (given * needs.max(axis=1) >= 1 / len(given) - 1e-9).all()  # the sharing incentive
    taken = given[:, None] * needs  # of each device, by client
    for own, need in zip(given, needs, strict=True):
        # With what another has of both devices a client does as much as the scarcer lets it.
        instead = (taken[:, need > 0] / need[need > 0]).min(axis=1)
        assert (instead <= own * (1 + 1e-9)).all()


@pytest.mark.parametrize("seed", range(12))
def test_bottleneck_aware_allocation_is_the_program_of_all_clients(seed: int) -> None:
    draw = np.random.default_rng(seed)
    vms = []
    for v in range(int(draw.integers(1, 7))):
        count = int(draw.integers(200, 900))
        footprint = int(draw.choice([5, 20, 80, 400]))
        blocks = (footprint * draw.random(count) ** draw.choice([1, 3])).astype(int)
        time = np.sort(draw.integers(0, 8 * WINDOW, count))
        if v == 1:
            keep = (time < 2 * WINDOW) | (time >= 4 * WINDOW)
            time, blocks = time[keep], blocks[keep]
        vms.append(list(zip(time.tolist(), (1_000 * v + blocks).tolist(), strict=True)))
    fast, slow = float(draw.choice([500, 5_000, 50_000])), float(draw.choice([80, 400, 2_000]))
    on = engine.Machine(
        [(engine.Device("flash", 1e4, 1e4, 1.0), int(draw.integers(20, 200)))],
        engine.Device("disk", 1e7, 1e7, 0.1),
    )
    params = {"period": WINDOW, "fast_iops": fast, "slow_iops": slow}
    result = decided(trace_of(*vms), engine.System("baa", params, on))
    assert len(result.decisions) >= 7
    seen = result.vms["accesses"]
    for k, decision in enumerate(result.decisions):
        there = np.flatnonzero(seen[k])
        ratios = 1 - result.vms["misses"][k, there] / seen[k, there]
        wanted = most_throughput(ratios.tolist(), fast, slow)
        assert decision["objective"] == pytest.approx(wanted, rel=1e-6)
        assert np.flatnonzero(decision["throughputs"]).tolist() == there.tolist()
        assert sum(decision["throughputs"]) == pytest.approx(wanted, rel=1e-6)
        check_throughputs(ratios, np.array(decision["throughputs"])[there], fast, slow)


def test_what_exactly_fits_a_tier_is_placed_there() -> None:
    """An extent at the limit of the tier's operations, and one above it."""
    for busy, service, operations in itertools.product(
        (Fraction(1), *(Fraction(tenth, 10) for tenth in (1, 2, 3, 6, 7, 9))),
        (3, 7, 35, 49),
        (20, 60),
    ):
        epoch = operations * service / busy
        if epoch.denominator > 1 or epoch <= operations + 1:
            continue
        flash = engine.Device("flash", float(service), float(service), 1.0)
        disk = engine.Device("disk", 1e9, 1e9, 10.0)
        for count in (operations, operations + 1):
            rows = [(t, 0) for t in range(count)] + [(int(epoch), 0)]
            params = {
                "epoch": int(epoch), "extent": EXTENT, "memory": 0.0, "busy": float(busy),
            }  # fmt: skip
            system = engine.System("edt", params, engine.Machine([(flash, 8)], disk))
            result = decided(trace_of(rows, extent=EXTENT), system)
            placed = result.decisions[0]["moved"] == EXTENT
            assert placed == (count == operations), (busy, service, operations, count)


@pytest.mark.parametrize("rate", [0.29, 0.58, 1.16])
def test_as_many_extents_move_as_the_rate_lets(rate: float) -> None:
    extent, epoch = 29, 100 * 10**9
    rows = [(t, extent * t) for t in range(20)] + [(epoch, 0)]  # one extent each
    params = {"epoch": epoch, "extent": extent, "rate": rate}
    on = engine.Machine(
        [(engine.Device("flash", 1e4, 1e4, 1.0), 20 * extent)],
        engine.Device("disk", 1e7, 1e7, 0.1),
    )
    result = decided(trace_of(rows, extent=extent), engine.System("vfrm", params, on), epoch)
    assert result.decisions[0]["moved"] == round(rate * 100)
