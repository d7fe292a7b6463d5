"""C++ files include only what the tables of rooms allow.

Trusts: the tables in core/README.md and policies/README.md, which say who may include whom.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def rows(table: str) -> list[list[str]]:
    """The cells of the rooms in a README, row by row."""
    text = (ROOT / table).read_text().split("\n## Rooms\n")[1].split("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]


def folders(cell: str, tree: str) -> list[str]:
    """What a cell names: `core`, or folders below `tree`."""
    named = re.findall(r"`([\w/]+)`", cell)
    return [f"{tree}/{name.rstrip('/')}" if name.endswith("/") else name for name in named]


def rooms() -> dict[str, set[str]]:
    """Which rooms the files of each may include, besides those of their own."""
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
        r'^#include "policies/(allocation/\w+)\.hpp"', (folder / "all.hpp").read_text(), re.M
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


def test_a_number_names_one_decision() -> None:
    numbers = [
        path.name[:4]
        for folder in ("core", "bindings")
        for path in (ROOT / folder / "decisions").glob("*.md")
    ]
    assert len(numbers) > 80
    assert sorted(set(numbers)) == sorted(numbers)
