"""Messages of a process with too little memory.

Trusts: the limit that the operating system sets, which no allocation passes.
"""

from __future__ import annotations

import pytest
from commands import python

PRELUDE = """
import resource
import numpy as np
import mcsim as mc
from mcsim._core import engine, policies

def limit(bytes):
    # Beyond what the process holds so far.
    held = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (held + bytes, held + bytes))

def expect_out_of_memory(work):
    try:
        work()
    except MemoryError as error:
        print(type(error).__name__, error)
"""

SIMULATE = """
blocks = np.arange(1 << 20, dtype=np.uint32)
configs = [("lru", {}, 1 << 20), ("fifo", {}, 1 << 20)] * 3
need = int(policies.memory_needed(blocks, 1 << 20, configs[:1], one_pass=False)[0])
# Threads and their stacks are there before the limit is.
policies.simulate(blocks[:9], 9, [("lru", {}, 1)] * 4, threads=2)
limit(int(need * SHARE))
expect_out_of_memory(lambda: policies.simulate(
    blocks, 1 << 20, configs, threads=THREADS, one_pass=False))
"""

INTERN = """
builder = engine.AccessBuilder(block_bytes=1)
builder.begin_vm("a")
column = lambda value, kind: np.full(100, value, kind)
rows = (column(0, np.int64), column(0, np.uint16), column(0, np.uint8),
        np.arange(100, dtype=np.uint64) << 32, column(1 << 24, np.uint32))
limit(1 << 28)
expect_out_of_memory(lambda: builder.add(*rows))
expect_out_of_memory(builder.finish)
"""


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (SIMULATE.replace("THREADS", "1").replace("SHARE", ".5"), "OutOfMemoryError"),
        # The threads leave space for one cache, not for two.
        (SIMULATE.replace("THREADS", "2").replace("SHARE", "2.2"), "OutOfMemoryError"),
        (INTERN, "OutOfMemoryError interning: there is not enough memory\n" * 2),
    ],
    ids=["one thread", "two threads", "interning"],
)
def test_memory_that_runs_out_is_an_error(work: str, said: str) -> None:
    done = python("-c", PRELUDE + work, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(said), done.stdout + done.stderr
