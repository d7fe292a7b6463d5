#!/usr/bin/env bash
# libCacheSim, version 0.3.5 (libcachesim from PyPI): S3-FIFO and W-TinyLFU never cache an object that
# is larger than their small queue or window.
#
# In a cache of 1,000 bytes the small queue of S3FIFO has 100 bytes, the window of WTinyLFU 10. An
# object of 150 bytes misses at every access, however often it is used, and the empty cache stays
# empty. LRU, FIFO, 2Q, SLRU and ARC keep it.
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
for name in ("LRU", "FIFO", "TwoQ", "SLRU", "ARC", "S3FIFO", "WTinyLFU"):
    cache = getattr(libcachesim, name)(1000)
    request = libcachesim.Request()
    request.obj_id = 1
    request.obj_size = 150
    hits = sum(cache.get(request) for _ in range(5))
    found[name] = (hits, cache.get_n_obj())
    print(f"{name}: {hits} hits of 5 accesses, {found[name][1]} objects in the cache")
expected = dict.fromkeys(("LRU", "FIFO", "TwoQ", "SLRU", "ARC"), (4, 1))
expected |= dict.fromkeys(("S3FIFO", "WTinyLFU"), (0, 0))
if found != expected:
    sys.exit("the behaviour has changed")
PYTHON
