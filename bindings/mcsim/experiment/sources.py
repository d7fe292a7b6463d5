"""Source files of an experiment's classes, and the digest that identifies them."""

from __future__ import annotations

import ast
import hashlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
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


_LIBRARIES = (Path(__file__).parents[1], Path(traceback.__file__).parent)


def is_library(file: Path) -> bool:
    """Whether a file is mcsim's, Python's or that of an installed package."""
    installed = not {"site-packages", "dist-packages"}.isdisjoint(
        file.parts
    ) or file.name.startswith("<frozen")
    return installed or any(file.is_relative_to(library) for library in _LIBRARIES)
