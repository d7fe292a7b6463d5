"""Environment of a run: program, machine, libraries. Results do not depend on it."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcsim.base.errors import ConfigError
from mcsim.base.threads import threads_given
from mcsim.results.version import RESULTS_VERSION

PACKAGE = Path(__file__).resolve().parents[1]


@functools.cache
def build_digest() -> str:
    """Return a digest of the compiled core and of the package's Python files."""
    from mcsim import _core

    digest = hashlib.sha256(Path(_core.__file__).read_bytes())
    for file in sorted(PACKAGE.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def check_program(version: str, build: str, planned: str) -> None:
    """Check that this process has the mcsim that planned the work.

    Parameters
    ----------
    version, build : str
        Version of that mcsim; `build` as of `build_digest`.
    planned : str
        Planned work, such as ``"the sweep"``.

    Raises
    ------
    ConfigError
        If it has another; both are named.
    """
    from mcsim import _core

    if (_core.__version__, build_digest()) != (version, build):
        raise ConfigError(
            f"worker on {platform.node()} (process {os.getpid()}) has mcsim {_core.__version__}, "
            f"build {build_digest()}; {planned} was planned by mcsim {version}, build {build}: "
            "install the same on all machines"
        )


def describe_environment() -> dict[str, Any]:
    """Return version, commit, compiler, machine and libraries."""
    import numpy
    import pyarrow

    from mcsim import _core

    return {
        "mcsim": _core.__version__,
        "results_version": RESULTS_VERSION,
        "build": build_digest(),
        "compiler": _core.__compiler__,
        "commit": _commit(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "pyarrow": pyarrow.__version__,
        "platform": platform.platform(),
        "host": platform.node(),
        "cpu": _cpu(),
        "cores": threads_given(None),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _commit() -> str | None:
    """The commit of the checkout the package is in, `-dirty` if it was edited since."""
    root = PACKAGE.parent.parent
    if not (root / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
