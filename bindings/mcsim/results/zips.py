"""Zip files that hold what `write_pack` wrote, or anything else."""

from __future__ import annotations

import logging
import os
import re
import secrets
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mcsim.base.errors import HostError, host_faults
from mcsim.base.inputs import MOST_BYTES, open_regular
from mcsim.results.seals import digest_of_bytes, parsed

__all__ = ["PACKS", "DamagedPackError", "content_of", "first_content", "pack_files"]
__all__ += ["set_aside_damaged", "unsound_in", "zipped"]

_log = logging.getLogger(__name__)

PACKS = "packs"
"""The folder of packs in that of results."""

_NAME = re.compile(r".+-[0-9a-f]{16}\.zip", re.DOTALL)

_HEAD = struct.Struct("<4sHHHHHIIIHH")
"""Header of a file in a zip file: magic, version, flags, method, time, CRC, sizes, lengths."""

# Exceptions of `zipfile` for damaged directories, headers and checksums.
_UNREADABLE = (
    *(OSError, KeyError, ValueError, RuntimeError, EOFError, OverflowError, struct.error),
    *(zlib.error, zipfile.BadZipFile),
)


class DamagedPackError(ValueError):
    """A file is missing, or not as `write_pack` wrote it."""


def unsound_in(path: Path) -> list[str]:
    """Return the damaged or missing files of a pack; "all of it" if it is not a pack.

    Raises
    ------
    HostError
        If the host cannot read it, which proves no damage.
    """
    try:
        with zipped(path) as file:
            if not (sums := parsed(content_of(file, "DONE"))):
                return ["DONE"]
            wrong = [name for name, digest in sums.items() if _digest_in(file, name) != digest]
            return wrong or ([] if set(file.namelist()) == {*sums, "DONE"} else ["DONE"])
    except DamagedPackError:
        return ["all of it"]


def _digest_in(file: zipfile.ZipFile, name: str) -> str | None:
    try:
        return digest_of_bytes(content_of(file, name))
    except DamagedPackError:
        return None


@contextmanager
def zipped(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file.

    Raises
    ------
    DamagedPackError
        If it is missing or damaged.
    HostError
        If the host cannot read it.
    """
    with _readable(path), open_regular(path) as opened, zipfile.ZipFile(opened) as file:
        yield file


def content_of(file: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of a pack; raises as `zipped` does.

    `write_pack` does not compress, so no file is larger than the pack.
    """
    with _readable(Path(file.filename or name)):
        info = file.getinfo(name)
        if info.compress_type != zipfile.ZIP_STORED or info.is_dir():
            raise zipfile.BadZipFile(f"{name} is not as mcsim writes it")
        return file.read(info)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        with host_faults(path):
            yield
    except (HostError, DamagedPackError):
        raise
    except _UNREADABLE as error:
        raise DamagedPackError(str(error)) from error


def first_content(path: Path, name: str) -> bytes:
    """Return the first file in a zip file, without its directory; raises as `zipped` does."""
    with _readable(path), open_regular(path) as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise ValueError("cut short")
        magic, _, _, method, _, _, _, size, _, letters, extra = _HEAD.unpack(head)
        found = file.read(letters)
        file.seek(extra, os.SEEK_CUR)
        content = file.read(min(size, MOST_BYTES))
        if (magic, method, found, len(content)) != (b"PK\3\4", 0, name.encode(), size):
            raise ValueError(f"it does not begin with {name}")
        return content


def pack_files(out: Path) -> list[Path]:
    """Return the files in a folder of results that are, or look like, packs."""
    try:
        with os.scandir(out / PACKS) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.name.endswith(".zip"))
    except (FileNotFoundError, NotADirectoryError):
        return []


def set_aside_damaged(out: Path) -> None:
    """Rename damaged packs, so that their runs are absent, and log a warning.

    Reads all packs and verifies their checksums.

    Raises
    ------
    HostError
        If the host cannot read one: it keeps its name.
    """
    for path in pack_files(out):
        wrong = unsound_in(path)
        # Another process may have been first.
        if not wrong or not path.exists():
            continue
        if _NAME.fullmatch(path.name) is None:
            _log.warning("%s: not a pack of runs; it is skipped", path)
            continue
        with suppress(OSError):
            path.rename(path.with_name(f"{path.stem}-{secrets.token_hex(4)}.damaged"))
        _log.warning("%s: damaged (%s); its runs are made again", path, wrong[0])
