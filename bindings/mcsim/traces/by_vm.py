"""Requests of a trace of many VMs, VM by VM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from mcsim.traces.batches import Batch, batch_with

_COPIED_REQUESTS = 1 << 18
_COPIED_OF_A_BATCH = 1 << 12
_NEXT_VMS = 8


class ByVm:
    """Each VM's requests, by an index that takes 4 bytes for each of the trace.

    A VM's few requests lie far from each other, in six columns. To copy those of some thousand VMs
    column by column is several times as quick, so those of the VMs that come next are copied with
    them as long as VMs are asked for about in their order.

    Parameters
    ----------
    batches : iterable of Batch
        The trace.
    vm_count : int
        How many VMs it has.
    """

    def __init__(self, batches: Iterable[Batch], vm_count: int) -> None:
        self._of = [_BatchByVm(batch, vm_count) for batch in batches]
        self._ahead = max(_COPIED_OF_A_BATCH, _COPIED_REQUESTS // max(1, len(self._of)))
        self._asked = -1

    def batches_of(self, vm: int) -> Iterator[Batch]:
        """Yield the requests of one VM, as views."""
        ahead = self._ahead if 0 <= vm - self._asked <= _NEXT_VMS else 0
        self._asked = vm
        for of_batch in self._of:
            if of_batch.count_of(vm):
                yield of_batch.requests_of(vm, ahead)


class _BatchByVm:
    def __init__(self, batch: Batch, vm_count: int) -> None:
        self._batch = batch
        self._order: npt.NDArray[np.uint32] = np.argsort(batch.vm, kind="stable").astype(np.uint32)
        # Where in that order each VM's begin, and behind them where the last one's end.
        self._begins = np.zeros(vm_count + 1, np.int64)
        np.cumsum(np.bincount(batch.vm, minlength=vm_count), out=self._begins[1:])
        self._copied = 0, 0, batch.where(self._order[:0])

    def count_of(self, vm: int) -> int:
        return int(self._begins[vm + 1] - self._begins[vm])

    def requests_of(self, vm: int, ahead: int) -> Batch:
        """Return a VM's requests; where they are copied, so many with those of the next VMs."""
        begin, end = int(self._begins[vm]), int(self._begins[vm + 1])
        first, last, copied = self._copied
        if begin < first or end > last:
            first, last = begin, max(end, min(begin + ahead, len(self._order)))
            copied = self._batch.where(self._order[first:last])
            self._copied = first, last, copied
        return batch_with(column[begin - first : end - first] for column in copied)
