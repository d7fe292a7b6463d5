"""Code of the guides compiles, its names exist, and test filters select tests.

Trusts: the compiler, and the files as they are.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

import pytest
from small import ROOT

GUIDES = ["CONTRIBUTING.md", "policies/README.md", "core/README.md", "bindings/README.md"]

# Files that a reader of the guides is to make.
EXAMPLES = r"<name>|demand|NNNN|mine\.yaml"


def blocks(guide: str, language: str) -> list[str]:
    text = (ROOT / guide).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


EXCERPTS = {
    "docs/how-to/write-a-policy.md": ("cpp", "examples/out_of_tree_policy/sampled_lru.cpp"),
    "docs/how-to/write-a-format.md": ("cpp", "core/trace/formats/text_formats.hpp"),
    "docs/how-to/online-curve.md": ("c", "examples/online_mrc.c"),
}


@pytest.mark.parametrize("guide", EXCERPTS)
def test_excerpts_are_in_their_sources(guide: str) -> None:
    language, source = EXCERPTS[guide]
    assert blocks(guide, language)
    for block in blocks(guide, language):
        assert block in (ROOT / source).read_text(encoding="utf-8")


def test_the_printed_system_compiles(tmp_path: Path) -> None:
    """With the compiler flags of the existing systems."""
    database = ROOT / "build" / "py" / "compile_commands.json"
    if not database.is_file():
        pytest.skip("the build says nowhere how it compiles")
    (header,) = (code for code in blocks("CONTRIBUTING.md", "cpp") if "#pragma once" in code)
    (tmp_path / "demand.hpp").write_text(header, encoding="utf-8")
    program = tmp_path / "demand.cpp"
    program.write_text(
        '#include "demand.hpp"\n'
        "namespace mcsim {\n"
        "static_assert(std::is_base_of_v<System, Demand> && !std::is_abstract_v<Demand>);\n"
        "const auto fields = describe<Demand::Params>();\n"
        "const Demand made({}, {});\n"
        "}  // namespace mcsim\n",
        encoding="utf-8",
    )
    entries = json.loads(database.read_text(encoding="utf-8"))
    (entry,) = (e for e in entries if e["file"].endswith("policies/allocation/hierarchy.cpp"))
    words = shlex.split(entry["command"])
    words = words[: words.index("-o")]
    if words[0].endswith("ccache"):
        del words[0]
    done = subprocess.run(
        [*words, "-fsyntax-only", "-Wno-pragma-once-outside-header", str(program)],
        cwd=entry["directory"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("guide", GUIDES)
def test_files_that_guides_name_are_there(guide: str) -> None:
    text = (ROOT / guide).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`([\w./-]+/[\w.-]+\.(?:hpp|cpp|py|md|yaml|txt|inl))`", text))
    near = [ROOT, ROOT / Path(guide).parent, ROOT / "core", ROOT / "bindings"]
    wrong = {
        name
        for name in named
        if not re.search(EXAMPLES, name) and not any((folder / name).exists() for folder in near)
    }
    assert wrong == set()
    assert named


@cache
def names_of_tests() -> list[str]:
    macro = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
    found = (
        pair
        for path in (ROOT / "tests").rglob("*.cpp")
        for pair in macro.findall(path.read_text(encoding="utf-8"))
    )
    return [name for suite, test in found for name in (f"{suite}.{test}", f"X/{suite}.{test}/0")]


def filters() -> list[str]:
    places = [
        *ROOT.glob(".ci/*"),
        *ROOT.glob(".github/workflows/*"),
        *(ROOT / "tests").rglob("CMakeLists.txt"),
        *(ROOT / "tests").rglob("*.cmake"),
    ]
    texts = (path.read_text(encoding="utf-8") for path in places if path.is_file())
    found = (re.findall(r"gtest_filter=['\"]?([^\s'\")]+)", text) for text in texts)
    return sorted({pattern for each in found for filter in each for pattern in filter.split(":")})


@pytest.mark.parametrize("pattern", filters())
def test_a_filter_selects_tests(pattern: str) -> None:
    assert fnmatch.filter(names_of_tests(), pattern.lstrip("-"))


def test_a_filter_that_selects_nothing_is_found() -> None:
    assert filters()
    assert not fnmatch.filter(names_of_tests(), "*NoSuchTest*")
