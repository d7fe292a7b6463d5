"""Write a notebook for each page with Python, as a download of the page."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat

FOLDERS = ("tutorials", "how-to")
_CODE = re.compile(r"^```(\w+)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def write(source: Path) -> None:
    """Write notebooks beside the pages, and link them at the end of each page."""
    for folder in FOLDERS:
        for page in sorted((source / folder).glob("*.md")):
            text = page.read_text(encoding="utf-8")
            if (notebook := from_page(text)) is None:
                continue
            file = page.with_suffix(".ipynb")
            nbformat.write(notebook, file)
            page.write_text(
                f"{text}\n{{download}}`This page as a notebook <{file.name}>`\n", encoding="utf-8"
            )


def from_page(text: str) -> nbformat.NotebookNode | None:
    """Return a page as a notebook; None if it has no Python.

    Shell commands become cells with ``!``. Output and other languages stay text.
    """
    cells = []
    at = 0
    has_python = False
    for match in _CODE.finditer(text):
        language, code = match.groups()
        if language not in ("python", "sh"):
            continue
        if prose := text[at : match.start()].strip():
            cells.append(nbformat.v4.new_markdown_cell(prose))
        has_python |= language == "python"
        shell = "\n".join(f"!{line}" for line in code.splitlines() if line.strip())
        cells.append(nbformat.v4.new_code_cell(code.strip() if language == "python" else shell))
        at = match.end()
    if not has_python:
        return None
    if prose := text[at:].strip():
        cells.append(nbformat.v4.new_markdown_cell(prose))
    for number, one in enumerate(cells):
        one["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
