"""Replays keys through caches of Python.

Each line of standard input has a library, a capacity and a file of keys (64 bits each,
little-endian); the answer is a line with the hits.
"""

from __future__ import annotations

import os
import random
import sys
from array import array
from pathlib import Path

import cachetools
import theine

os.cpu_count = lambda: 2  # theine has four buffers a core


class Theine:
    """The methods of cachetools that the replay calls."""

    def __init__(self, size: int) -> None:
        self._cache = theine.Cache(size)

    def get(self, key: int) -> object:
        return self._cache.get(key)[0]

    def __setitem__(self, key: int, value: object) -> None:
        self._cache.set(key, value)


MAKERS = {
    "theine": Theine,
    "cachetools-lru": cachetools.LRUCache,
    "cachetools-fifo": cachetools.FIFOCache,
    "cachetools-lfu": cachetools.LFUCache,
    "cachetools-rr": cachetools.RRCache,
}

for line in sys.stdin:
    library, size, file = line.split()
    random.seed(1)
    cache = MAKERS[library](int(size))
    keys = array("q", Path(file).read_bytes())
    hits = 0
    for key in keys:
        if cache.get(key) is not None:
            hits += 1
        else:
            cache[key] = True
    print(hits)
