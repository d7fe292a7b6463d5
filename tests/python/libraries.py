"""Caches of other libraries; a test that needs one that is absent is skipped."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def libcachesim_hits(blocks: Iterable[int], capacity: int, policy: str = "LRU") -> int:
    """Hits of a libCacheSim cache of objects of one block."""
    library = pytest.importorskip("libcachesim", reason="the libcachesim wheel is absent")
    cache = getattr(library, policy)(capacity, hashpower=14)
    request = library.Request()
    request.obj_size = 1
    hits = 0
    for block in blocks:
        request.obj_id = block
        hits += cache.get(request)
    return hits
