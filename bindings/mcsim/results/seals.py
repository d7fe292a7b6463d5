"""Checksums of what a run wrote: kept beside the files, and held to when they are read.

A list of them has the lines of `sha256sum`, so that ``sha256sum --check`` reads it too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["damaged", "digest_of", "digest_of_bytes", "listed", "parsed", "read_list"]


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def digest_of_bytes(content: bytes) -> str:
    """Return the SHA-256 of what will be a file, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def listed(sums: Mapping[str, str]) -> str:
    """Write a list of checksums by file name."""
    return "".join(f"{digest}  {name}\n" for name, digest in sums.items())


def read_list(path: Path) -> dict[str, str]:
    """Read a list; what it has of a line that was cut short is left out.

    Returns
    -------
    dict of str to str
        The last checksum of each name; none if there is no such list that can be read.
    """
    try:
        return parsed(path.read_bytes())
    except OSError:
        return {}


def parsed(content: bytes) -> dict[str, str]:
    """Return what `read_list` does of a file's content."""
    lines = content.decode("utf-8", "replace").split("\n")[:-1]
    pairs = (line.split("  ", 1) for line in lines)
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}


def damaged(folder: Path, sums: Mapping[str, str], names: Iterable[str]) -> str | None:
    """Return the first of these files that is not what its checksum is of, if any.

    One that cannot be read is not.
    """
    for name in names:
        try:
            if digest_of(folder / name) != sums.get(name):
                return name
        except OSError:
            return name
    return None
