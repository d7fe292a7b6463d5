"""Read comments, tests and measurements of components from the source code."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDERS = ("core/engine", "core/locality", "policies", "optimizers")
_NAME = re.compile(r'kInfo\{\s*\.name = "([^"]+)"')
_CLASS = re.compile(
    r"((?:^//.*\n)*)(?:^template.*\n)*^(?:class|struct) (?:MCSIM\w+ )?(\w+)", re.MULTILINE
)


@dataclass(frozen=True)
class Component:
    """Where a component is defined.

    Attributes
    ----------
    header : str
        Path of its header in the repository.
    class_name : str
    comment : str
        Comment above the class, as Markdown.
    """

    header: str
    class_name: str
    comment: str


@cache
def components(root: Path) -> dict[tuple[str, str], Component]:
    """Return all components by the folder of the header and by name."""
    found = {}
    for folder in FOLDERS:
        for header in sorted((root / folder).rglob("*.hpp")):
            text = header.read_text(encoding="utf-8")
            for match in _NAME.finditer(text):
                *_, last = _CLASS.finditer(text, 0, match.start())
                where = str(header.relative_to(root))
                found[(folder_of(where), match[1])] = Component(where, last[2], prose(last[1]))
    return found


def folder_of(path: str) -> str:
    """Return the folder that tells components of the same name apart."""
    return str(Path(path).parent).removesuffix("/multicache")


def prose(comment: str) -> str:
    """Return a comment of C++ as Markdown; indented lines become code."""
    lines = [line.removeprefix("//").removeprefix(" ").rstrip() for line in comment.splitlines()]
    out: list[str] = []
    in_code = False
    for line in lines:
        is_code = line.startswith("  ") and not re.match(r" +[-*] ", line)
        if is_code != in_code:
            out += ["```text"] if is_code else ["```"]
            if out[-1] == "```text":
                out.insert(-1, "")
            in_code = is_code
        out.append(line)
    return "\n".join(out + ["```"] * in_code).strip().replace("<", "\\<").replace("$", "\\$")


@cache
def tests(root: Path) -> dict[str, str]:
    """Return the text of all test programs by path."""
    files = [*(root / "tests").rglob("*.cpp"), *(root / "tests").rglob("*.hpp")]
    files += (root / "tests").rglob("*.py")
    return {str(f.relative_to(root)): f.read_text(encoding="utf-8") for f in sorted(files)}


def tests_of(root: Path, name: str, class_name: str, folders: tuple[str, ...]) -> list[str]:
    """Return the tests in some folders that use a component by its quoted name or its class."""
    used = re.compile(rf'"{re.escape(name)}"|\b{class_name}\b')
    return [
        path for path, text in tests(root).items() if path.startswith(folders) and used.search(text)
    ]


@cache
def measured(root: Path) -> dict[str, dict[str, float]]:
    """Return measured speed and memory of eviction policies."""
    found = json.loads((root / "policies" / "measured.json").read_text(encoding="utf-8"))
    return dict(found["policies"])
