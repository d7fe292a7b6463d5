#!/usr/bin/env bash
# PyArrow, version 26.0.1: read_json() makes different 64-bit hashes equal.
#
# Traces of prefix caches name blocks by unsigned hashes of 64 bits, half of which are 2^63 or more.
# Without a schema, a column with one of them becomes double without a message, and all of its ids,
# also small ones, keep 53 bits. An explicit type uint64 keeps them.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import io
import sys

import pyarrow as pa
from pyarrow import json

print("pyarrow, version", importlib.metadata.version("pyarrow"))
ids = [2**53, 2**53 + 1, 2**63 + 1, 2**63 + 2]
line = f'{{"hash_ids": {ids}}}\n'.encode()
inferred = json.read_json(io.BytesIO(line))["hash_ids"]
stated = pa.schema([("hash_ids", pa.list_(pa.uint64()))])
options = json.ParseOptions(explicit_schema=stated)
explicit = json.read_json(io.BytesIO(line), parse_options=options)["hash_ids"]
distinct = len(set(inferred[0].as_py()))
print(f"{len(ids)} ids; inferred {inferred.type}: {distinct} distinct; "
      f"stated {explicit.type}: {len(set(explicit[0].as_py()))} distinct")
is_double = inferred.type == pa.list_(pa.float64())
if not is_double or distinct != 2 or explicit[0].as_py() != ids:
    sys.exit("the behaviour has changed")
PYTHON
