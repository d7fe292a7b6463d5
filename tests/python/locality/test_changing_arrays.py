"""Trusts: the process, which a read of memory that changed would end."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from commands import python

import mcsim as mc
from mcsim.base.columns import unchanging

WRITER = """
import threading
import numpy as np
import mcsim as mc

ids = np.arange(20_000) % 3_000
stop = threading.Event()

def write():
    random = np.random.default_rng(1)
    while not stop.is_set():
        ids[:] = random.integers(0, 2**62, len(ids))
        ids[:] = 7

thread = threading.Thread(target=write)
thread.start()
try:
    for _ in range(40):
        {call}
finally:
    stop.set()
    thread.join()
print("done")
"""


@pytest.mark.parametrize(
    "call",
    [
        "mc.hit_ratio_curve(ids)",
        "mc.reuse_distances(ids)",
        "mc.estimate(ids, 'shards')",
        "mc.simulate(ids, ['lru', 'arc'], [100])",
        "mc.miniature(ids, ['lru'], [1000], rate=0.5, seeds=1)",
    ],
)
def test_arrays_that_others_write_to_end_no_process(call: str) -> None:
    ended = python("-c", WRITER.format(call=call))
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


def test_only_memory_that_changes_is_copied() -> None:
    own = np.arange(10)
    frozen = own[2:]
    frozen.flags.writeable = False
    # Read-only views of memory that others write to.
    of_bytearray = np.frombuffer(memoryview(bytearray(80)).toreadonly(), np.int64)
    of_arrow = np.asarray(pa.array(own))
    assert not of_bytearray.flags.writeable
    assert not of_arrow.flags.writeable
    for array in (own, own[::2], frozen, of_bytearray, of_arrow):
        copied = unchanging(array)
        assert not np.shares_memory(copied, array)
        assert copied.tolist() == array.tolist()
    constant = np.frombuffer(bytes(80), np.int64)
    of_the_core = mc.reuse_distances([1, 2, 1])
    for array in (constant, of_the_core, of_the_core[1:]):
        assert unchanging(array) is array
