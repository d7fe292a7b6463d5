"""Source files of an experiment's classes, and the digest that identifies them."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType


def digest_of_sources(module: ModuleType, loaded: set[Path]) -> str:
    """Return a digest of a module, of files that were loaded for it, and of their imports.

    Imports of libraries are left out. Files that code opens by itself are not included.
    """
    file = file_of(module)
    if file is None:
        return ""
    depth = module.__name__.count(".") + (file.name == "__init__.py")
    folder = file.parents[depth]
    files = {file: folder} if is_library(file) else _with_imports({file, *loaded}, folder)
    digests = {
        of.relative_to(files[of]).as_posix(): hashlib.sha256(of.read_bytes()).hexdigest()
        for of in sorted(files, key=lambda of: of.relative_to(files[of]))
    }
    if len(digests) == 1:
        return next(iter(digests.values()))
    return hashlib.sha256(repr(digests).encode()).hexdigest()


def _with_imports(files: set[Path], folder: Path) -> dict[Path, Path]:
    """Add, transitively, the modules that files of a folder import, at once or later.

    Returns the folder in which each was found: this one, or one on the path.
    """
    folders = [folder, *(Path(place).absolute() for place in sys.path)]
    found: dict[Path, Path] = {}
    pending = dict.fromkeys(files, folder)
    while pending:
        file, place = pending.popitem()
        found[file] = place
        with suppress(SyntaxError, ValueError, RecursionError):
            tree = ast.parse(file.read_bytes())
            package = file.relative_to(place).parent.parts
            names = {name for node in ast.walk(tree) for name in _imported(node, package)}
            imported = (source for name in names for source in _sources_of(name, folders))
            pending |= {of: place for of, place in imported if of not in found}
    return found


def digest_of_program(modules: Iterable[str], documents: Path) -> str:
    """Return a digest of the compiled core, and of modules of mcsim with all that they import.

    Imports count at once or later, and those by a name that is written out. Imports for types
    alone do not.

    Parameters
    ----------
    modules : iterable of str
        Names such as ``"mcsim.reproduce.kept"``.
    documents : Path
        Folder of the package ``mcsim.reproduce.documents``.
    """
    found = {"mcsim._core": _core_digest()}
    seen = set()
    left = list(modules)
    while left:
        name = left.pop()
        if name in seen or f"{name}.".startswith(_OF_PAGES):
            continue
        seen.add(name)
        within = name.removeprefix(_DOCUMENTS)
        folder = PACKAGE.parent if within == name else documents
        file = next((of for of in files_for(within, folder) if of.is_file()), None)
        if file is not None:
            content = file.read_bytes()
            found[name] = _sha256(content)
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            left += _modules_in(content, package)
    return _sha256(repr(sorted(found.items())).encode())


@cache
def _core_digest() -> str:
    from mcsim import _core

    return _sha256(Path(_core.__file__).read_bytes())


_DOCUMENTS = "mcsim.reproduce.documents."
_OF_PAGES = "mcsim.report."
"""Modules of pages, which are no part of what is measured."""


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@cache
def _modules_in(content: bytes, package: str) -> frozenset[str]:
    """Return the modules of mcsim that source code in a package may load."""
    names: set[str] = set()
    nodes: list[ast.AST] = [ast.parse(content)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            nodes += node.orelse
            continue
        nodes += ast.iter_child_nodes(node)
        names |= set(_imported(node, tuple(package.split("."))))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
    return frozenset(name for name in names if re.fullmatch(r"mcsim(\.\w+)+", name))


def _sources_of(name: str, folders: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield the file of a module that is no library, and the folder in which it is found."""
    is_standard = name.partition(".")[0] in sys.stdlib_module_names
    for folder in folders[:1] if is_standard else folders:
        files = [file for file in files_for(name, folder) if file.is_file()]
        yield from ((file, folder) for file in files if not is_library(file))
        if files:
            return


def _imported(node: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """Yield the modules that a statement in a package may import, and their packages."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else ()
        base = [*above, *([node.module] if node.module else [])]
        names = [".".join([*base, alias.name]) for alias in node.names]
    else:
        return
    for name in names:
        parts = name.split(".")
        yield from (".".join(parts[:k]) for k in range(1, len(parts) + 1))


def files_for(name: str, folder: Path) -> tuple[Path, Path]:
    """Where a module or package of this name is if it was found in a folder on the path."""
    place = folder.joinpath(*name.split("."))
    return place.with_name(f"{place.name}.py"), place / "__init__.py"


def file_of(module: ModuleType) -> Path | None:
    """Return the file of a module, if it has one."""
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file)


PACKAGE = Path(__file__).parents[1]
_LIBRARIES = (PACKAGE, Path(traceback.__file__).parent)


def is_library(file: Path) -> bool:
    """Whether a file is mcsim's, Python's or that of an installed package."""
    installed = not {"site-packages", "dist-packages"}.isdisjoint(
        file.parts
    ) or file.name.startswith("<frozen")
    return installed or any(file.is_relative_to(library) for library in _LIBRARIES)
