"""The walkthrough of one access in core/README.md names files and functions that exist.

Trusts: the source files.
"""

from __future__ import annotations

import re
from pathlib import Path

from small import ROOT

FILES_AT_MOST = 10
LINES_AT_MOST = 2_000


def steps() -> list[tuple[list[Path], list[str]]]:
    """Return the files of each step, a header and its sources, with the functions named there."""
    section = (ROOT / "core/README.md").read_text().split("\n## One access, followed\n")[1]
    found = []
    for step in re.findall(r"^\| \d+ \| `([\w/.]+)` \| (.*) \|$", section, re.MULTILINE):
        stem = (ROOT / "core" / step[0]).with_suffix("")
        files = [stem.with_suffix(suffix) for suffix in (".hpp", ".cpp", ".inl")]
        names = re.findall(r"`(?:\w+::)?(\w+)(?:\([\w, ]*\))?`", step[1])
        found.append(([file for file in files if file.exists()], names))
    return found


def test_functions_are_in_their_files() -> None:
    for files, names in steps():
        text = "".join(file.read_text() for file in files)
        missing = [name for name in names if not re.search(rf"\b{name}\b", text)]
        assert names
        assert not missing, f"{files}: {missing}"


def test_the_path_is_short() -> None:
    files = {file for of_step, _ in steps() for file in of_step}
    lines = sum(len(file.read_text().splitlines()) for file in files)
    assert len({file.with_suffix("") for file in files}) <= FILES_AT_MOST
    assert lines <= LINES_AT_MOST, lines
