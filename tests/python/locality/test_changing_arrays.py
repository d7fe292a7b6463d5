"""Trusts: the process, which a read of memory that changed would end."""

from __future__ import annotations

import numpy as np
import pytest
from commands import python

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
    for array in (own, own[::2], frozen):
        copied = unchanging(array)
        assert not np.shares_memory(copied, array)
        assert copied.tolist() == array.tolist()
    constant = np.frombuffer(bytes(80), np.int64)
    assert unchanging(constant) is constant
