"""Checksum manifests of runs, verified when files are read.

A list of them has the lines of `sha256sum`, so that ``sha256sum --check`` reads it too. Its first
line, a comment to that program, has the checksum of the lines below it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from mcsim.base.errors import HostError, host_faults
from mcsim.base.inputs import open_regular, read_regular

_HEAD = "# sha256 of the lines below: "
_LINE = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<name>[^/\0]+)")
_IN_EVERY_RUN = {"environment.json", "metrics.parquet"}


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with open_regular(file) as content:
        while piece := content.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def digest_of_bytes(content: bytes) -> str:
    """Return the SHA-256 of what will be a file, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def listed(sums: Mapping[str, str]) -> str:
    """Write a list of checksums by file name."""
    lines = "".join(f"{digest}  {name}\n" for name, digest in sums.items())
    return f"{_HEAD}{digest_of_bytes(lines.encode())}\n{lines}"


def read_list(path: Path) -> dict[str, str]:
    """Read a list of checksums; it is empty if it is missing or damaged.

    Raises
    ------
    HostError
        If the host cannot read it, which proves no damage.
    """
    try:
        with host_faults(path):
            return parsed(read_regular(path))
    except HostError:
        raise
    except OSError:
        return {}


def parsed(content: bytes) -> dict[str, str]:
    """Return the checksum of each name in a list; none if it is damaged.

    Lists of earlier versions have no checksum of their own. One without the files of every run
    is taken as cut short.
    """
    head, _, lines = content.decode("utf-8", "replace").partition("\n")
    if sealed := head.startswith(_HEAD):
        if head != _HEAD + digest_of_bytes(lines.encode()):
            return {}
    else:
        lines = content.decode("utf-8", "replace")
    found = [_LINE.fullmatch(line) for line in lines.split("\n")[:-1]]
    sums = {line["name"]: line["digest"] for line in found if line is not None}
    if len(sums) < len(found) or not (sealed or sums.keys() >= _IN_EVERY_RUN):
        return {}
    return sums


def is_damaged(folder: Path, sums: Mapping[str, str], name: str) -> bool:
    """Return whether a file is missing or does not fit its checksum.

    Raises
    ------
    HostError
        If the host cannot read it, which proves no damage.
    """
    try:
        with host_faults(folder / name):
            return digest_of(folder / name) != sums.get(name)
    except HostError:
        raise
    except OSError:
        return True


def unsound_files(folder: Path) -> list[str]:
    """Return the damaged or missing files of a finished run or of a pack.

    Raises
    ------
    HostError
        If the host cannot read one, which proves no damage.
    """
    sums = read_list(folder / "DONE")
    if not sums:
        return ["DONE"]
    return [name for name in sums if is_damaged(folder, sums, name)]
