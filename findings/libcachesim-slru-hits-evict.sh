#!/usr/bin/env bash
# libCacheSim, version 0.3.5 (libcachesim from PyPI): a hit in SLRU may evict objects.
#
# SLRU has four segments of a quarter of the capacity each, rounded down. In a cache of 7 objects of
# size 1, segments have 1 object, and 3 more extend the lowest segment. A hit in the lowest segment
# moves the object up; the object that it displaces moves down, and the lowest segment is then cut to
# its own quarter. So the cache of 7 objects is full after 7 misses and has 4 objects after one hit.
# A cache of 8 objects still has 8 after a hit.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check libcachesim==0.3.5
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import libcachesim

print("libcachesim, version", libcachesim.__version__)


def held(capacity: int) -> tuple[int, int]:
    """Return the numbers of objects in the cache before and after a hit."""
    cache = libcachesim.SLRU(capacity)
    request = libcachesim.Request()
    request.obj_size = 1
    for request.obj_id in range(1, capacity + 1):
        if cache.get(request):
            sys.exit("a first access is a hit")
    before = cache.get_n_obj()
    request.obj_id = capacity
    if not cache.get(request):
        sys.exit("the last object is not cached")
    return before, cache.get_n_obj()


found = {capacity: held(capacity) for capacity in (7, 8)}
for capacity, (before, after) in found.items():
    print(f"capacity {capacity}: {before} objects, after a hit {after}")
if found != {7: (7, 4), 8: (8, 8)}:
    sys.exit("the behaviour has changed")
PYTHON
