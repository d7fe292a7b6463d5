# Trusts: counts by hand of traces of a few requests.
"""Warnings about times and lengths that are probably wrong."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small import ROOT

import mcsim as mc
from mcsim.traces.batches import batch_with
from mcsim.traces.checks import SignCounter, warn_of_signs
from mcsim.traces.metadata import Signs

SECOND = 10**9
CASES = ROOT / "tests" / "data" / "cases"


def signs_of(trace: mc.Trace, rows: int = 2, **kind: bool) -> Signs:
    """Count the signs in batches of some rows."""
    counter = SignCounter()
    for batch in trace.batches():
        for first in range(0, len(batch.time), rows):
            counter.add(batch_with(column[first : first + rows] for column in batch))
    return counter.signs(**{"has_clock": True, "has_block_lengths": True, **kind})


def of_times(times: list[int], lengths: Any = 4096, op: Any = 0) -> mc.Trace:
    ordered = mc.Trace.from_arrays(np.arange(len(times)), 0, lengths, op=op)
    (batch,) = ordered.batches()
    shuffled = batch._replace(time=np.array(times, np.int64))

    class Unsorted:
        def batches(self) -> Any:
            return iter([shuffled])

    return Unsorted()  # type: ignore[return-value]


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_a_jump_of_years_is_found(rows: int) -> None:
    trace = mc.Trace.open(CASES / "epoch_gap.csv")
    found = signs_of(trace, rows)
    assert found == Signs(gap=1678863569 * SECOND, gap_at=2)
    assert signs_of(trace, rows, has_clock=False) == Signs()
    year = 365 * 86400 * SECOND
    assert signs_of(of_times([0, year]), rows) == Signs()
    assert signs_of(of_times([0, 1, year + 2]), rows) == Signs(gap=year + 1, gap_at=3)
    assert signs_of(of_times([-(2**63), 2**63 - 1]), rows) == Signs(gap=2**64 - 1, gap_at=2)


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_times_that_run_backwards_are_counted(rows: int) -> None:
    assert signs_of(of_times([5, 3, 4, 4, 1, 9]), rows).backwards == 2
    assert signs_of(of_times([2**63 - 1, -(2**63)]), rows) == Signs(backwards=1)
    assert signs_of(of_times([]), rows) == Signs()


def test_small_requests_are_counted_if_they_are_most() -> None:
    lengths = [8, 63, 64, 4096]
    assert signs_of(of_times([0, 1, 2, 3], lengths)) == Signs()
    assert signs_of(of_times([0, 1, 2, 3], lengths, op=[0, 1, 2, 2])) == Signs(small=2)
    assert signs_of(of_times([0, 1, 2], [8, 0, 4096])) == Signs()
    assert signs_of(of_times([0, 1, 2], 8), has_block_lengths=False) == Signs()


def test_warnings_have_the_number_and_come_once(caplog: pytest.LogCaptureFixture) -> None:
    trace = mc.Trace.from_arrays([0, 1, 2], 0, 8, source="x.csv")
    signs = Signs(backwards=1, gap=2 * 365 * 86400 * SECOND, gap_at=1234, small=3)
    csv = replace(trace.metadata, format="csv")
    for _ in range(2):
        warn_of_signs(csv, signs)
        warn_of_signs(replace(csv, digest="other", format="msr"), replace(Signs(), small=2))
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert said == [
        "x.csv: request 1,234 comes 2.0 years after the one before it: a time may be wrong, or in "
        "another unit",
        "x.csv: 1 of 3 requests are earlier than the one before them in the file: they were sorted "
        "by time",
        "x.csv: 3 of 3 requests have fewer than 64 bytes: lengths may count sectors or blocks "
        "(length_unit: sectors, or blocks)",
        "x.csv: 2 of 3 requests have fewer than 64 bytes: lengths may count sectors or blocks, but "
        "format msr has bytes",
    ]


def test_accesses_of_programs_may_be_small(caplog: pytest.LogCaptureFixture) -> None:
    trace = mc.Trace.from_arrays([0, 1, 2], 0, 8, source="x.lackey")
    for format in ("lackey", "strace"):
        warn_of_signs(replace(trace.metadata, digest=format, format=format), Signs(small=3))
    assert not caplog.records
