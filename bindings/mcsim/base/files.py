"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mcsim.base.errors import HostError

__all__ = ["check_writable", "replacing", "temporary_beside"]

_SUFFIX = ".mcsim-part"

# Not of the program: what the disk says of what is written to it.
_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file beside `path` that takes its place if all goes well.

    It does once it is on the disk: what a power cut leaves is the old file or the new one.

    Raises
    ------
    HostError
        If the folder cannot be written, or the disk is full or fails; it names `path`.
    """
    with temporary_beside(path) as temporary:
        yield temporary
        _flush(temporary)
        temporary.replace(path)
        with suppress(OSError):  # not every file system can
            _flush(path.parent)


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """Give an empty file in the folder of `path`, made if need be, that is gone afterwards.

    What a process that was killed left in the folder is removed with it.

    Raises
    ------
    HostError
        As of `replacing`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        temporary, held = _locked_file(path)
    except OSError as error:
        raise HostError(f"{path.parent}: cannot write there: {error.strerror}") from error
    try:
        yield temporary
    except Exception as error:
        if (number := _of_the_disk(error)) is None:
            raise
        raise HostError(f"{path}: cannot be written: {os.strerror(number)}") from error
    finally:
        temporary.unlink(missing_ok=True)
        os.close(held)


def check_writable(folder: Path) -> None:
    """Hold a folder to be one in which files can be made, and leave nothing there.

    Raises
    ------
    HostError
        If it is not, and cannot be made.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        with temporary_beside(folder / "any"):
            pass
    finally:
        for path in missing:
            with suppress(OSError):
                path.rmdir()


def _of_the_disk(error: BaseException | None) -> int | None:
    """Find what the disk said; to close what could not be written may have failed in its turn."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
            return error.errno
        error = error.__context__
    return None


def _locked_file(path: Path) -> tuple[Path, int]:
    """Make a file, locked for the life of this process, that nobody sweeps away."""
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_SUFFIX}")
        held = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        _lock(held)
        # Another process may have swept it before it was locked.
        if temporary.exists():
            return temporary, held
        os.close(held)


def _sweep(folder: Path) -> None:
    for left in folder.glob(f".*{_SUFFIX}"):
        with suppress(OSError):
            file = os.open(left, os.O_RDONLY)
            if _lock(file):
                left.unlink()
            os.close(file)


def _lock(file: int) -> bool:
    """Tell whether nobody else holds a file, and hold it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _flush(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
