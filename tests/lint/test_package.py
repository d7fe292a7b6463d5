"""Trusts: the source itself, parsed; the floors, names and limits that are written out here."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from small import ROOT

import mcsim

PACKAGE = ROOT / "bindings" / "mcsim"

# From the top floor down: a room imports from those after it, and from the compiled core.
FLOORS = [
    "cli",
    "reproduce",
    "sweeps",
    "contests",
    "searches",
    "experiment",
    "report",
    "figures",
    "results",
    "policies",
    "locality",
    "exchange",
    "references",
    "traces",
    "tables",
    "config",
    "optimizers",
    "base",
]

# Classes with methods that return or use what rooms above make, and import it when they run.
FACADES = {"traces/trace.py": {"references", "exchange"}}

PUBLIC = [
    "Advice",
    "Allocator",
    "Blocks",
    "ChainTrace",
    "ConfigError",
    "Decision",
    "ExperimentSpec",
    "Found",
    "FoundSettings",
    "HitRatioCurve",
    "HitRatioCurves",
    "HostError",
    "InternalError",
    "McsimError",
    "Migration",
    "MissingOutputError",
    "Mix",
    "Observation",
    "OutOfMemoryError",
    "Policy",
    "PrefixCurve",
    "PriorityPolicy",
    "Ranking",
    "Reproduction",
    "ResultTable",
    "Results",
    "Solution",
    "Sweep",
    "Trace",
    "TraceError",
    "WhatIf",
    "__version__",
    "advise",
    "arena",
    "cache_counters",
    "cache_device",
    "compare",
    "describe",
    "device_names",
    "distance_histogram",
    "estimate",
    "estimator_names",
    "experiment_names",
    "format_names",
    "get_cmake_dir",
    "get_include",
    "hit_ratio_curve",
    "hit_ratio_curves",
    "in_bytes",
    "library_versions",
    "load_policies",
    "memory_needed",
    "miniature",
    "misses",
    "mix",
    "optimize",
    "policy_names",
    "prefix_curve",
    "prefix_curves",
    "prefix_partition",
    "prefix_replay",
    "prefix_sharing",
    "prefix_tiers",
    "read_chains",
    "report",
    "reproduce",
    "reuse_distances",
    "run",
    "search",
    "search_settings",
    "simulate",
    "simulate_lines",
    "sweep",
    "system_names",
    "tune",
    "what_if",
    "wrapper_names",
]

SCREEN = 50
LONGER = {
    "mcsim.cli.tune.tune": "a parameter for every option, handed on one by one",
}

FILES = sorted(PACKAGE.rglob("*.py"))

DOCUMENTS = ROOT / "experiments" / "reproduce"
"""The folder of the modules that are installed with their YAML."""

EVERY_FILE = [*FILES, *sorted(DOCUMENTS.rglob("*.py"))]


def module_of(file: Path) -> str:
    if file.is_relative_to(DOCUMENTS):
        return ".".join(("documents", *file.relative_to(DOCUMENTS).with_suffix("").parts))
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def by_name(node: ast.AST) -> str | None:
    """Return the module that a call of `import_module` or `__import__` names, or its beginning."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    called = (
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    )
    if called not in ("import_module", "__import__"):
        return None
    first = node.args[0]
    parts = first.values if isinstance(first, ast.JoinedStr) else [first]
    named = parts[0].value if parts and isinstance(parts[0], ast.Constant) else ""
    return named if isinstance(named, str) else None


def imported(file: Path) -> Iterator[tuple[int, str]]:
    """Every import of the package's own, wherever it stands: of functions, for types, by name."""
    modules = {module_of(each) for each in FILES}
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports begin at the package"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield (
                    node.lineno,
                    name if name in modules or node.module == "mcsim" else str(node.module),
                )
        elif (named := by_name(node)) is not None:
            yield node.lineno, named


def ours(file: Path) -> Iterator[tuple[int, str]]:
    return (
        (line, module.split(".")[1])
        for line, module in imported(file)
        if module.startswith("mcsim.")
    )


@pytest.mark.parametrize("room", FLOORS)
def test_no_import_runs_back_up(room: str) -> None:
    below = {"_core", *FLOORS[FLOORS.index(room) :]}
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {room} stands below {other}"
        for file in FILES
        if file.parent.name == room
        for line, other in ours(file)
        if other not in below | FACADES.get(file.relative_to(PACKAGE).as_posix(), set())
    ]
    assert wrong == []


def test_imports_by_name_are_followed() -> None:
    found = {module for file in FILES for _, module in imported(file)}
    assert "mcsim.reproduce.documents." in found  # of an f-string
    assert "mcsim.figures.tables" in found  # of the root, which may import every room


@pytest.mark.parametrize("facade", FACADES)
def test_a_facade_imports_rooms_above_when_it_runs(facade: str) -> None:
    rooms = tuple(f"mcsim.{room}." for room in FACADES[facade])
    found = {name.split(".")[1] for _, name in imported(PACKAGE / facade) if name.startswith(rooms)}
    assert found == FACADES[facade]
    loaded = [
        node.module
        for node in parsed(PACKAGE / facade).body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(rooms)
    ]
    assert loaded == []


def test_every_file_is_in_a_room() -> None:
    outside = {str(file.relative_to(PACKAGE)) for file in FILES if file.parent == PACKAGE}
    assert outside == {"__init__.py", "__main__.py"}
    assert {file.parent.name for file in FILES if file.parent != PACKAGE} == set(FLOORS)


def test_the_guide_shows_the_floors() -> None:
    text = (ROOT / "bindings" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)/` \| \w.*\w \|$", text, re.MULTILINE) == FLOORS


def test_every_room_says_what_it_is_for() -> None:
    for room in FLOORS:
        assert ast.get_docstring(parsed(PACKAGE / room / "__init__.py")), room


def test_tests_are_in_the_rooms_of_what_they_test() -> None:
    folders = {path.name for path in (ROOT / "tests" / "python").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} <= set(FLOORS)


def test_the_public_names_are_these() -> None:
    assert sorted(mcsim.__all__) == PUBLIC
    assert dir(mcsim) == PUBLIC
    for name in PUBLIC:
        assert getattr(mcsim, name) is not None


def test_an_import_shows_no_room_until_it_is_entered() -> None:
    program = "import mcsim; print(*sorted(name for name in vars(mcsim) if name[0] != '_'))"
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    # Modules that `mcsim/__init__.py` needs to look up names.
    assert shown == ["Any", "TYPE_CHECKING", "annotations", "importlib"]


def test_traces_need_no_pandas() -> None:
    program = "import sys, mcsim; mcsim.Trace; mcsim.simulate; print('pandas' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert shown.stdout.strip() == b"False"


@pytest.mark.parametrize("file", EVERY_FILE, ids=module_of)
def test_a_file_has_at_most_400_lines(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 400


def functions(node: ast.AST, name: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield f"{name}.{child.name}", child
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield from functions(child, f"{name}.{child.name}")


def lines_of(function: ast.FunctionDef) -> int:
    """Count the lines of a function, its docstring left out."""
    docstring = function.body[0]
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        assert docstring.end_lineno is not None
        lines -= docstring.end_lineno - docstring.lineno + 1
    return lines


def test_a_function_fits_a_screen_or_has_its_reason() -> None:
    longer = {
        name
        for file in EVERY_FILE
        for name, function in functions(parsed(file), module_of(file))
        if lines_of(function) > SCREEN
    }
    assert longer == set(LONGER)
