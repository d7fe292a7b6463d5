"""Optional packages: the extras of `pyproject.toml`."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.util import find_spec

from mcsim.base.errors import ConfigError


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
