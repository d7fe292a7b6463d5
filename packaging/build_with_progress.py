"""Build backend: scikit-build-core, with progress of the compilation at a terminal.

pip shows the output of a build only with --verbose, and a compilation takes minutes.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from scikit_build_core import build as _backend
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

_SECONDS = 5.0
"""Time between two lines, at least."""


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build a wheel, and show the progress."""
    with progress_shown(config_settings):
        return _backend.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build an editable wheel, and show the progress."""
    with progress_shown(config_settings):
        return _backend.build_editable(wheel_directory, config_settings, metadata_directory)


@contextmanager
def progress_shown(
    settings: Mapping[str, Any] | None, terminal: str = "/dev/tty", seconds: float = _SECONDS
) -> Iterator[None]:
    """Print, at a terminal, the numbers of files in ninja's output, which is passed on unchanged.

    The launcher gives a `build-dir` and prints progress by itself.
    """
    try:
        tty = os.open("/dev/null" if "build-dir" in (settings or {}) else terminal, os.O_WRONLY)
    except OSError:  # no terminal
        yield
        return
    output = os.dup(1)
    source, sink = os.pipe()
    os.dup2(sink, 1)
    os.close(sink)
    reader = threading.Thread(target=_pass_on, args=(source, output, tty, seconds))
    reader.start()
    try:
        yield
    finally:
        os.dup2(output, 1)  # closes the last end of the pipe
        reader.join()
        os.close(output)
        os.close(tty)


def _pass_on(source: int, output: int, tty: int, seconds: float) -> None:
    begin = shown = time.monotonic()
    with open(source, "rb") as lines:
        for line in lines:
            os.write(output, line)
            found = re.match(rb"\[([1-9]\d*)/(\d+)\]", line)
            now = time.monotonic()
            if found is None or now - shown < seconds:
                continue
            built, total = map(int, found.groups())
            left = (now - begin) * (total - built) / built / 60
            text = f"\r\nmcsim: compiled {built} of {total} files, about {left:.0f} min left"
            os.write(tty, text.encode())
            shown = now
