"""Some of a trace's requests, cut out anew at every reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim.traces.batches import Batch, batch_of, record_batch_of


@dataclass(frozen=True)
class Selection:
    """The record batches of a slice, cut out anew at every iteration."""

    batches: Iterable[pa.RecordBatch]
    begin: int | None
    end: int | None
    vm_numbers: tuple[int, ...]
    """The new number of each VM, -1 for those left out."""
    op: int | None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        keeps_all = self.op is None and self.vm_numbers == tuple(range(len(self.vm_numbers)))
        numbers = np.array(self.vm_numbers, np.int32)
        for record_batch in self.batches:
            time = batch_of(record_batch).time
            low = 0 if self.begin is None else int(np.searchsorted(time, self.begin))
            high = len(time) if self.end is None else int(np.searchsorted(time, self.end))
            if low < high:
                span = record_batch.slice(low, high - low)
                yield span if keeps_all else self._filtered(batch_of(span), numbers)
            if high < len(time):
                return

    def _filtered(self, batch: Batch, numbers: npt.NDArray[np.int32]) -> pa.RecordBatch:
        vm = numbers[batch.vm]
        kept = vm >= 0
        if self.op is not None:
            kept &= batch.op == self.op
        renumbered = batch._replace(vm=vm.astype(np.uint16))
        return record_batch_of(renumbered.where(kept))


def clamped(time: int) -> int:
    """Return the nearest time that the column can hold."""
    limits = np.iinfo(np.int64)
    return max(limits.min, min(time, limits.max))
