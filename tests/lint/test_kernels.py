"""Object files hold few replay loops: each one is compiled for all that it inlines."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[2] / "build" / "py"
MOST_LOOPS = 16


def test_no_object_file_has_more_replay_loops_than_the_build_budget_allows() -> None:
    objects = sorted(BUILD.glob("core/CMakeFiles/mcsim_core.dir/engine/hosts/kernels/*.o"))
    if not objects or shutil.which("nm") is None:
        pytest.skip("no object files of the engine, or no nm")
    loops: Counter[str] = Counter()
    for path in objects:
        command = ["nm", "--demangle", "--defined-only", str(path)]
        symbols = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        loops[path.name] = symbols.count("::replay_range")
    assert loops["copy_chain.cpp.o"] > 0 < loops["exclusive_lru_2.cpp.o"], "renamed?"
    assert max(loops.values()) <= MOST_LOOPS, loops
