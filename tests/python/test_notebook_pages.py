# Trusts: Jupyter's kernel.
"""Notebooks of tutorials and how-to pages, as the documentation site generates them, executed."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest
from documents import blocks_of, write_stand_ins
from small import ROOT

pytestmark = pytest.mark.slow

PAGES = [
    page
    for folder in ("tutorials", "how-to")
    for page in sorted((ROOT / "docs" / folder).glob("*.md"))
    if blocks_of(page, "python")
]
COMPILES = re.compile(r"^!(cmake |mcsim .*--plugin build/)")
"""Lines that need a compiler; `test_out_of_tree_policy.py` runs them."""


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stand_ins")
    write_stand_ins(folder)
    return folder


def checked(source: str) -> str:
    """Return the code of a cell with a check after each shell command."""
    lines = [line for line in source.splitlines() if not COMPILES.match(line)]
    return "\n".join(
        f"{line}\nassert _exit_code == 0, {line!r}" if line.startswith("!") else line
        for line in lines
    )


def test_pages_are_found() -> None:
    assert {"first-curve", "own-trace", "write-a-policy"} <= {page.stem for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_notebook_of_page(
    page: Path, stand_ins: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from _site import notebooks

    shutil.copytree(stand_ins, folder, symlinks=True, dirs_exist_ok=True)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MCSIM_CACHE_DIR", str(folder / "cache"))
    notebook = notebooks.from_page(page.read_text(encoding="utf-8"))
    assert notebook is not None
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = checked(cell.source)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}).execute()
