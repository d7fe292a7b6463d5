"""Where the installed package keeps what others compile against."""

from __future__ import annotations

from pathlib import Path

from mcsim import _core
from mcsim.base.errors import HostError


def get_include() -> str:
    """Return the folder of the C++ headers, for libraries of eviction policies.

    Raises
    ------
    HostError
        If mcsim was installed without them.
    """
    return _installed("include", "core/engine/policy/export_policies.hpp")


def get_cmake_dir() -> str:
    """Return the folder that is `mcsim_DIR` to ``find_package(mcsim)``.

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


def _installed(name: str, witness: str) -> str:
    # In the folder of the compiled core, which in a source tree is not that of the Python files.
    folder = Path(_core.__file__).parent / name
    if not (folder / witness).is_file():
        raise HostError(f"{folder}: not there: mcsim was installed without its C++ headers")
    return str(folder)
