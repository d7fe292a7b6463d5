#!/usr/bin/env bash
# PyArrow, version 26.0.1, with pandas 3.1.1: the first array made of a list imports pandas.
#
# `import pyarrow` does not import pandas, nor does an array made of a buffer. The first call of
# pyarrow.array() does, if pandas is installed, even for a list of integers. Where only the array is
# needed, that is most of the time of a small program.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  pyarrow==26.0.1 pandas==3.1.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import sys
import time

import pyarrow as pa

print("pyarrow, version", importlib.metadata.version("pyarrow"))
after_import = "pandas" in sys.modules
pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(bytes(8))])
after_buffer = "pandas" in sys.modules
began = time.perf_counter()
pa.array([0])
seconds = time.perf_counter() - began
after_list = "pandas" in sys.modules
print("pandas is imported after the import, an array of a buffer, and one of a list:",
      after_import, after_buffer, after_list)
print(f"the first array of a list took {seconds:.2f} s")
if (after_import, after_buffer, after_list) != (False, False, True):
    sys.exit("the behaviour has changed")
PYTHON
