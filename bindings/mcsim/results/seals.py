"""Checksum manifests of runs, verified when files are read.

A list of them has the lines of `sha256sum`, so that ``sha256sum --check`` reads it too. Its first
line, a comment to that program, has the checksum of the lines below it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from mcsim.base.errors import ConfigError, HostError, host_faults
from mcsim.base.inputs import note_input, open_regular, read_regular

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


def damaged(folder: Path, sums: Mapping[str, str], names: Iterable[str]) -> str | None:
    """Return the first of these files that is missing or does not fit its checksum, if any.

    Raises
    ------
    HostError
        If the host cannot read one, which proves no damage.
    """
    for name in names:
        try:
            with host_faults(folder / name):
                if digest_of(folder / name) != sums.get(name):
                    return name
        except HostError:
            raise
        except OSError:
            return name
    return None


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
    return [name for name in sums if damaged(folder, sums, [name]) is not None]


class SealedFolder:
    """A folder whose files have checksums in DONE; each is verified at its first use.

    Attributes
    ----------
    path : Path
    remedy : str
        End of all messages about damage.
    """

    remedy: ClassVar[str]

    def __init__(self, path: Path) -> None:
        self.path = path
        self._verified: set[str] = set()

    @cached_property
    def sums(self) -> dict[str, str]:
        """The checksums in DONE, by file."""
        return read_list(self.path / "DONE")

    def check(self) -> None:
        """Verify all files; ConfigError names the first damaged one."""
        for name in self.sums:
            self.checked(name)

    def checked(self, name: str) -> Path:
        """Return the path of a file after verifying its checksum."""
        if name not in self._verified and damaged(self.path, self.sums, [name]) is not None:
            raise ConfigError(
                f"{self.path / name}: damaged or gone: it is not what the run wrote; {self.remedy}"
            )
        self._verified.add(name)
        note_input(self.path / name)
        return self.path / name

    @contextmanager
    def valid(self, name: str) -> Iterator[Path]:
        """Open a file with a valid checksum; raise ConfigError if its content is invalid."""
        path = self.checked(name)
        try:
            with host_faults(path):
                yield path
        except HostError:
            raise
        except (ValueError, KeyError, TypeError, OSError, pa.ArrowException) as error:
            raise ConfigError(f"{path}: {error}; {self.remedy}") from None
