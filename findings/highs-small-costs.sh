#!/usr/bin/env bash
# HiGHS, version 1.15.1 (highspy from PyPI): costs far below 1 make it prove a wrong optimum.
#
# The program divides 6 blocks among three caches. Its optimum is 27 units. In units of 1 and of
# 1e-5, HiGHS finds it. In units of 1e-7 and 1e-8 the model status is still "Optimal", with gaps of 0
# requested, but the solutions have 26 and 8 units, and the dual bounds, which should be at least 27
# units, are 26 and 8, too. The tolerances of HiGHS are absolute, and it does not scale costs. Scale
# costs before the call, so that the largest is far above 1.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check highspy==1.15.1
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import sys

import highspy

print("highspy, version", importlib.metadata.version("highspy"))
WORTH = [[0, 2, 5, 11, 18, 19, 26], [0, 5, 6, 7, 8, 9, 16], [0, 3, 9, 13, 17, 21, 25]]


def solved(unit: float) -> tuple[str, int, int]:
    """Return the status, and the objective and the dual bound in units."""
    model = highspy.Highs()
    for option, value in (("output_flag", False), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0)):
        model.setOptionValue(option, value)
    takes = [[model.addBinary(obj=worth * unit) for worth in curve] for curve in WORTH]
    for sizes in takes:
        model.addConstr(sum(sizes[1:], sizes[0]) == 1)
    blocks = [size * taken for sizes in takes for size, taken in enumerate(sizes)]
    model.addConstr(sum(blocks[1:], blocks[0]) <= 6)
    model.maximize()
    info = model.getInfo()
    status = model.modelStatusToString(model.getModelStatus())
    return status, round(info.objective_function_value / unit), round(info.mip_dual_bound / unit)


expected = {1.0: 27, 1e-5: 27, 1e-7: 26, 1e-8: 8}
found = {unit: solved(unit) for unit in expected}
for unit, (status, objective, bound) in found.items():
    print(f"costs in units of {unit:g}: {status}, objective {objective}, dual bound {bound}")
if found != {unit: ("Optimal", value, value) for unit, value in expected.items()}:
    sys.exit("the behaviour has changed")
PYTHON
