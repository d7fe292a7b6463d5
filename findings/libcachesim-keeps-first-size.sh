#!/usr/bin/env bash
# libCacheSim, version 0.3.5 (libcachesim from PyPI): an object keeps the size that it had when it
# entered the cache.
#
# A hit that states another size changes nothing: the cache still counts the first size, in all of
# the policies below. An object that grows after it entered takes less of the cache than its bytes.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check libcachesim==0.3.5
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import libcachesim

print("libcachesim, version", libcachesim.__version__)

found = {}
for name in ("LRU", "FIFO", "Sieve", "LFU", "S3FIFO", "TwoQ"):
    cache = getattr(libcachesim, name)(1000)
    request = libcachesim.Request()
    request.obj_id = 1
    held = []
    for request.obj_size in (50, 90):
        hit = cache.get(request)
        held.append(cache.get_occupied_byte())
    if not hit:
        sys.exit(f"{name}: the second access is no hit")
    found[name] = held
    print(f"{name}: {held[0]} bytes after a miss of 50 bytes, {held[1]} after a hit of 90")
if any(held != [50, 50] for held in found.values()):
    sys.exit("the behaviour has changed")
PYTHON
