"""C++ files include only what the tables of rooms allow; what lies in rooms is short.

Trusts: the tables of allowed includes in core/README.md and policies/README.md.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small import ROOT


def rows(table: str) -> list[list[str]]:
    """The cells of the rooms in a README, row by row."""
    text = (ROOT / table).read_text().split("\n## Rooms\n")[1].split("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]


def folders(cell: str, tree: str) -> list[str]:
    """Folders that a cell names: `core`, or folders below `tree`."""
    named = re.findall(r"`([\w/]+)`", cell)
    return [f"{tree}/{name.rstrip('/')}" if name.endswith("/") else name for name in named]


def rooms() -> dict[str, set[str]]:
    """Folders that the files of each folder may include, other than their own."""
    allowed: dict[str, set[str]] = {}
    for room, *_ in rows("core/README.md"):
        allowed[folders(room, "core")[0]] = set(allowed)
    core = set(allowed)
    allowed["optimizers"] = core
    for room, _, may_include in rows("policies/README.md"):
        named = set(folders(may_include, "policies"))
        allowed[folders(room, "policies")[0]] = (named - {"core"}) | core
    return allowed


ROOMS = rooms()


def room_of(path: str) -> str:
    """The innermost room that a path lies in; fails if it lies in none."""
    inside = [room for room in ROOMS if path.startswith(f"{room}/")]
    assert inside, f"{path}: no row in the table of rooms has this folder"
    return max(inside, key=len)


def sources(tree: str) -> list[Path]:
    return [p for p in (ROOT / tree).rglob("*") if p.suffix in {".hpp", ".cpp", ".inl", ".h"}]


@pytest.mark.parametrize("tree", ["core", "policies", "optimizers"])
def test_includes_keep_to_the_rooms(tree: str) -> None:
    wrong = []
    for path in sources(tree):
        own = path.relative_to(ROOT).as_posix()
        room = room_of(own)
        for included in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            other = room_of(included)
            if other != room and other not in ROOMS[room]:
                wrong.append(f"{own} includes {included}, but {room}/ may not include {other}/")
    assert not wrong, "\n".join(wrong)


def test_every_room_of_the_tables_is_there() -> None:
    for room in ROOMS:
        assert (ROOT / room).is_dir(), f"{room}/ is in a table of rooms, but not in the tree"


def test_a_system_is_short() -> None:
    folder = ROOT / "policies" / "allocation"
    headers = re.findall(
        r'^#include "policies/(allocation/[\w/]+)\.hpp"', (folder / "all.hpp").read_text(), re.M
    )
    assert len(headers) > 20
    lines = {
        header: sum(
            len(path.read_text().splitlines()) for path in (ROOT / "policies").glob(f"{header}.?pp")
        )
        for header in headers
    }
    long = {header: count for header, count in lines.items() if count > 250}
    assert not long, f"over 250 lines, header and source: {long}"


def test_tests_mirror_the_tree() -> None:
    """A folder of tests is one of sources; what bears the name of a source lies with it."""
    folders_of: dict[str, set[str]] = {}
    for tree in ("core", "policies", "optimizers", "capi"):
        for source in sources(tree):
            folder = source.parent.relative_to(ROOT).as_posix()
            folders_of.setdefault(source.stem, set()).add(folder)
    wrong = []
    for test in (ROOT / "tests").rglob("*_test.cpp"):
        folder = test.parent.relative_to(ROOT / "tests").as_posix()
        named = folders_of.get(test.stem.removesuffix("_test"), {folder})
        if not (ROOT / folder).is_dir() or folder not in named:
            wrong.append(f"{test.relative_to(ROOT)}: what it tests is in {sorted(named)}")
    for test in (ROOT / "tests" / "python").rglob("test_*.py"):
        room = test.parent.relative_to(ROOT / "tests" / "python")
        if not (ROOT / "bindings" / "mcsim" / room).is_dir():
            wrong.append(f"{test.relative_to(ROOT)}: there is no room {room} in bindings/mcsim")
    assert not wrong, "\n".join(wrong)


NOTES = sorted(
    path for area in ("core", "bindings") for path in (ROOT / area / "decisions").glob("*.md")
)


def test_a_number_names_one_decision() -> None:
    numbers = [note.name[:4] for note in NOTES]
    assert len(numbers) > 80
    assert sorted(set(numbers)) == sorted(numbers)


def test_a_decision_note_is_half_a_page() -> None:
    wrong = []
    for note in NOTES:
        text = note.read_text(encoding="utf-8")
        if len(text.split()) > 350 or len(text.splitlines()) > 32:
            wrong.append(f"{note.name}: over 350 words or 32 lines")
        if re.search(r"^\|", text, re.MULTILINE):
            wrong.append(f"{note.name}: a table belongs to its log, in measurements/")
    assert not wrong, "\n".join(wrong)


def test_a_log_of_measurements_and_its_note_name_each_other() -> None:
    logs = [log for note in NOTES for log in note.parent.glob(f"measurements/{note.name}")]
    there = {log for folder in {n.parent for n in NOTES} for log in folder.glob("measurements/*")}
    assert there == set(logs), f"no note has the name of {there - set(logs)}"
    for log in logs:
        note = log.parents[1] / log.name
        assert f"](measurements/{log.name})" in note.read_text(encoding="utf-8"), note
        assert f"](../{log.name})" in log.read_text(encoding="utf-8"), log


def test_links_between_notes_and_logs_lead_somewhere() -> None:
    dead = [
        f"{path.relative_to(ROOT)}: {target}"
        for area in ("core", "bindings")
        for path in (ROOT / area).rglob("*.md")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]
    assert not dead, "\n".join(dead)
