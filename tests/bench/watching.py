"""Measure `mcsim watch`: requests a second through a pipe, and the peak memory.

A process writes binary records or text into a pipe, which SHARDS of fixed size counts. The same
text is also read without an estimator. Run as

    python tests/bench/watching.py [--requests N]
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np

from mcsim._core import trace
from mcsim.locality.measure import parse_estimator
from mcsim.locality.watch import Feed, Watched, watch
from mcsim.traces.open import Reading

_PIECE = 100_000


def written(requests: int, *, text: bool) -> int:
    """Return the descriptor of a pipe into which another process writes requests."""
    random = np.random.default_rng(1)
    keys = (random.random(_PIECE) ** 3 * 2**30).astype("<u8")
    piece = keys.tobytes()
    if text:
        piece = "".join(f"{i},{key * 4096},4096\n" for i, key in enumerate(keys)).encode()
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            if text:
                pipe.write(b"time_s,offset,length\n")
            for _ in range(requests // _PIECE):
                left = memoryview(piece)
                while left:
                    left = left[pipe.write(left) :]
        os._exit(0)
    os.close(writing)
    return reading


def main() -> None:
    """Print a row for each way."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=float, default=1e7)
    requests = int(parser.parse_args().requests)
    for format in ("keys-u64-le", "csv"):
        descriptor = written(requests, text=format == "csv")
        watched = Watched(parse_estimator("shards"), 1, "all", 4096)
        begun = time.perf_counter()
        watch(Feed(Path(f"/dev/fd/{descriptor}"), Reading(format).checked()), watched)
        seconds = time.perf_counter() - begun
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"watch {format:<12} {watched.came / seconds / 1e6:6.1f} M/s  {peak:.0f} MiB")
        os.close(descriptor)
    reader = trace.Pipe(written(requests, text=True), "pipe").read("csv", {}, False)
    begun = time.perf_counter()
    while reader.next() is not None:
        pass
    seconds = time.perf_counter() - begun
    print(f"read  csv          {requests / seconds / 1e6:6.1f} M/s")


if __name__ == "__main__":
    main()
