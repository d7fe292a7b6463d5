"""Trusts: a mask over the whole trace for each VM; counts of what is copied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mcsim.traces.batches import Batch, ByVm

VMS = 300


def batches(sizes: Sequence[int]) -> list[Batch]:
    """VMs of which most have few requests, some many and some none, in batches of these sizes."""
    random = np.random.default_rng(2)
    made = []
    for size in sizes:
        vm = (VMS * random.random(size) ** 3).astype(np.uint16)
        vm[vm % 10 == 7] = 0
        columns = (random.integers(0, 1 << 30, size) for _ in range(5))
        time, op, offset, length, response = columns
        made.append(
            Batch(
                np.sort(time),
                vm,
                (op % 2).astype(np.uint8),
                offset.astype(np.uint64),
                length.astype(np.uint32),
                response,
            )
        )
    return made


ORDERS = {
    "ascending": range(VMS),
    "descending": range(VMS - 1, -1, -1),
    "each twice": np.repeat(np.arange(VMS), 2).tolist(),
    "some": range(0, VMS, 3),
    "any": np.random.default_rng(1).integers(0, VMS, 2 * VMS).tolist(),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ahead", [1, 50, 1 << 18])
def test_each_vm_has_its_requests(order: str, ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcsim.traces.batches._COPIED_REQUESTS", ahead)
    monkeypatch.setattr("mcsim.traces.batches._COPIED_OF_A_BATCH", 1)
    trace = batches([2000, 0, 1, 700])
    of_vms = ByVm(trace, VMS)
    for vm in ORDERS[order]:
        expected = [batch.where(batch.vm == vm) for batch in trace if np.any(batch.vm == vm)]
        found = list(of_vms.batches_of(vm))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(one, other, strict=True)
            for values, of_mask in pairs:
                assert values.dtype == of_mask.dtype
                assert values.tolist() == of_mask.tolist()


def test_requests_of_next_vms_are_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []
    where = Batch.where

    def counted(batch: Batch, rows: NDArray[Any]) -> Batch:
        copied.append(len(rows))
        return where(batch, rows)

    monkeypatch.setattr(Batch, "where", counted)
    trace = batches([3000])
    for order, most in (("ascending", 3000), ("descending", 3000), ("any", 2 * 3000 + 40_000)):
        of_vms = ByVm(trace, VMS)
        copied.clear()
        for vm in ORDERS[order]:
            list(of_vms.batches_of(vm))
        assert sum(copied) <= most
        assert (order == "ascending") == (len([rows for rows in copied if rows]) <= 3)
