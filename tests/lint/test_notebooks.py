# Trusts: the notebook format, read as JSON. `pytest --nbmake experiments/notebooks` executes them.
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from small import EXPERIMENTS

NOTEBOOKS = sorted((EXPERIMENTS / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    names = [path.name for path in NOTEBOOKS]
    assert names == [
        "cloudphysics.ipynb",
        "eci.ipynb",
        "kv.ipynb",
        "multicache.ipynb",
        "sweep.ipynb",
        "thesis.ipynb",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_output(path: Path) -> None:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_need_no_file_of_a_checkout(path: Path) -> None:
    """A notebook runs in any folder: it gives the names of experiments and profiles."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not re.findall(r"\.\./|experiments/|\.yaml", "".join(cell["source"]))
