"""Files of the installed package, and its optional packages."""

from __future__ import annotations

import os
import re
import shlex
import stat
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from mcsim import _core
from mcsim.base.arguments import file_given
from mcsim.base.errors import ConfigError, HostError
from mcsim.base.suggest import did_you_mean

Kind = Literal["experiment", "profile"]
"""Kinds of shipped files that users name."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def get_include() -> str:
    """Return the folder of the C++ headers, for libraries of eviction policies.

    Returns
    -------
    str
        Absolute path, for the compiler's option ``-I``.

    Raises
    ------
    HostError
        If mcsim was installed without them.
    """
    return _installed("include", "core/engine/policy/export_policies.hpp")


def get_cmake_dir() -> str:
    """Return the folder that is `mcsim_DIR` to ``find_package(mcsim)``.

    Returns
    -------
    str
        Absolute path of the folder with ``mcsim-config.cmake``.

    Raises
    ------
    HostError
        If mcsim was installed without it.
    """
    return _installed("cmake", "mcsim-config.cmake")


def experiments_folder() -> Path:
    """Return the folder of the experiments: that of the source tree, or its installed part.

    Raises
    ------
    HostError
        If mcsim was installed without them.
    """
    in_tree = Path(__file__).resolve().parents[3] / "experiments"
    if (in_tree / "reproduce").is_dir():
        return in_tree
    installed = Path(_core.__file__).parent / "experiments"
    if not (installed / "reproduce").is_dir():
        raise HostError(f"{installed}: not there: mcsim was installed without its experiments")
    return installed


def shipped_files(kind: Kind) -> dict[str, Path]:
    """Return the shipped files of a kind by name; none if mcsim was installed without them."""
    try:
        folder = experiments_folder()
    except HostError:
        return {}
    if kind == "profile":
        folder /= "workloads"
    return dict(sorted((path.stem, path) for path in folder.glob("*.yaml")))


def find_file(kind: Kind, given: str | os.PathLike[str], folder: Path = Path()) -> Path | None:
    """Return the YAML file that a path or the name of a shipped one denotes, if there is one.

    A name such as `tiny` denotes the files `tiny` and `tiny.yaml` of `folder`, and then the shipped
    file.
    """
    path = folder / given
    name = str(given)
    if _is_file(path):
        return path
    if _NAME.fullmatch(name) is None:
        return path if path.is_dir() else None  # the reader of files refuses folders
    beside = path.with_name(f"{name}.yaml")
    return beside if _is_file(beside) else shipped_files(kind).get(name)


def shortest_name(kind: Kind, path: str) -> str:
    """Return the name of a shipped file if it denotes that in the working folder, else the path."""
    name = Path(path).stem
    is_shipped = shipped_files(kind).get(name) == Path(path)
    return name if is_shipped and find_file(kind, name) == Path(path) else path


def file_named(kind: Kind, given: str | os.PathLike[str]) -> Path:
    """Return the file that `find_file` finds in the working folder.

    Raises
    ------
    ConfigError
        If there is none; the message suggests a shipped one.
    """
    path = file_given(kind, given)
    if (found := find_file(kind, path)) is not None:
        return found
    hint = did_you_mean(path.stem, shipped_files(kind))
    if _NAME.fullmatch(str(path)) is None:
        raise ConfigError(f"{path}: No such file or directory{hint}")
    raise ConfigError(
        f"no file and no {kind} of mcsim is called {str(path)!r}{hint}; see mcsim list"
    )


def _is_file(path: Path) -> bool:
    """Return whether a path is no folder; also if it cannot be examined, which readers report."""
    try:
        return not stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True


def _installed(name: str, witness: str) -> str:
    # In the folder of the compiled core, which in a source tree is not that of the Python files.
    folder = Path(_core.__file__).parent / name
    if not (folder / witness).is_file():
        raise HostError(f"{folder}: not there: mcsim was installed without its C++ headers")
    return str(folder)


def require(purpose: str, *packages: str) -> None:
    """Check that optional packages are installed.

    Parameters
    ----------
    purpose : str
        Subject of the message, in the plural, such as ``"pages"``.
    *packages : str
        Packages of an extra. Their modules have the same names.

    Raises
    ------
    ConfigError
        If one is missing. The message has a command that installs them here. It names no mcsim:
        the package of that name on the index is another project.
    """
    if all(find_spec(package) is not None for package in packages):
        return
    from importlib import metadata

    needed = [text.partition(";")[0].strip() for text in metadata.requires("mcsim") or ()]
    wanted = [text for text in needed if re.split(r"[^\w.-]", text)[0] in packages]
    command = shlex.join([sys.executable, "-m", "pip", "install", *wanted])
    raise ConfigError(f"{purpose} need {' and '.join(packages)}: run {command}")
