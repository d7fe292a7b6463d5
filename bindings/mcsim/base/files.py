"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from mcsim.base.claims import (
    TEMPORARY_SUFFIX,
    changed_ns,
    claim_folder,
    hold,
    is_left,
    new_claim,
    release,
    release_lease,
    retry_on_missing_parent,
)
from mcsim.base.errors import HostError
from mcsim.base.faults import reached
from mcsim.base.inputs import check_output

# Errors of the disk during writes, as opposed to errors of the program.
_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}

_REMEDIES = {
    errno.ENOSPC: "make room there and do it again",
    errno.EDQUOT: "make room there and do it again",
    errno.EFBIG: "allow larger files there and do it again",
    errno.EIO: "see to the disk and do it again",
    errno.EROFS: "choose a folder that may be written",
    errno.EACCES: "choose a folder that may be written",
    errno.EPERM: "choose a folder that may be written",
}

_FLUSHED_AT_A_TIME = 8


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Open a temporary file that takes the place of `path` if all goes well.

    It does once it is on the disk: what a power cut leaves is the old file or the new one. Links
    are followed, and the new file has the permissions of the old one, or of this user alone if it
    is private.

    Raises
    ------
    ConfigError
        If `path` is not a regular file, or is an input of the current command.
    HostError
        If the folder cannot be written, or the disk is full or fails; it names `path`.
    """
    try:
        target = check_output(path)
        mode = None if private or not target.exists() else stat.S_IMODE(target.stat().st_mode)
    except OSError as error:
        raise cannot_write(path, error.errno) from error
    with temporary_beside(target, private=private) as temporary:
        if mode is not None:
            temporary.chmod(mode | stat.S_IRUSR | stat.S_IWUSR)
        yield temporary
        reached("file written")
        flush([temporary])
        reached("file flushed")
        if mode is not None:
            temporary.chmod(mode)
        rename(temporary, target)
        reached("file in place")
        flush_folder(target.parent)


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file, in UTF-8, that is there whole or not at all; raise as `replacing` does."""
    with replacing(path, private=private) as temporary:
        temporary.write_bytes(content if isinstance(content, bytes) else encoded(content))


def encoded(text: str) -> bytes:
    """Return text in UTF-8; bytes of file names that are not UTF-8 are escaped."""
    return text.encode(errors="mcsim-escape")


@contextmanager
def replacing_folder(
    final: Path, stays: Callable[[], bool], claims: Path | None = None
) -> Iterator[Path]:
    """Yield an empty folder that replaces `final` with all its files, unless the block fails.

    Several processes may make the same folder at a time. The next process removes the remains of
    one that was killed.

    Parameters
    ----------
    final : Path
    stays : callable
        Called if `final` exists; returns whether it stays, and the new folder is dropped. During a
        replacement, `final` is absent for a moment.
    claims : Path, optional
        Folder for the folders of processes, in the same file system; ``<final>.partial`` if not
        given.

    Raises
    ------
    HostError
        As of `replacing`.
    """
    with named_in_errors(final):
        mine = claim_folder(claims or final.with_name(f"{final.name}.partial"))
        try:
            made = mine / "new"
            made.mkdir(exist_ok=True)
            yield made
            flush(made.iterdir())
            flush_folder(made)
            reached("folder made")
            put_in_place(made, final, stays)
        finally:
            release_lease(mine, keep=False)


def put_in_place(made: Path, final: Path, stays: Callable[[], bool]) -> bool:
    """Rename a folder to its final name, in place of an old one; return False if that `stays`."""
    while True:
        try:
            rename(made, final)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            reached("folder in place")
            flush_folder(final.parent)
            return True
        if stays():
            return False
        with suppress(FileNotFoundError):
            final.rename(made.with_name(f"replaced.{secrets.token_hex(4)}"))
            reached("old folder aside")


def rename(source: Path, target: Path) -> None:
    """Rename a file or folder.

    A network file system may repeat a rename after a lost reply. The source is missing then, and
    the target has its identity.
    """
    before = identity(source)
    try:
        source.rename(target)
    except FileNotFoundError:
        if before is None or identity(target) != before:
            raise


def identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file or folder; None if it is missing."""
    with suppress(OSError):
        found = path.stat(follow_symlinks=False)
        return found.st_dev, found.st_ino
    return None


@contextmanager
def temporary_beside(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield an empty temporary file in the folder of `path`, which is created if absent.

    Only this user can read a private one. Temporary files of killed processes in the folder are
    removed, too.

    Raises
    ------
    HostError
        As of `replacing`.
    """
    try:
        temporary = _made_beside(path, 0o600 if private else 0o666)
        hold(temporary)
        sweep_abandoned(temporary)
    except OSError as error:
        raise cannot_write(path.parent, error.errno, "cannot write there") from error
    try:
        yield temporary
    except Exception as error:
        if (number := of_the_disk(error)) is None:
            raise
        raise cannot_write(path, number) from error
    finally:
        release(temporary)
        temporary.unlink(missing_ok=True)


def check_writable(folder: Path) -> None:
    """Check that files can be created in a folder, without leaving any.

    Raises
    ------
    HostError
        If the folder cannot be written or created.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        with temporary_beside(folder / "any"):
            pass
    finally:
        for path in missing:
            with suppress(OSError):
                path.rmdir()


@contextmanager
def named_in_errors(final: Path) -> Iterator[None]:
    """Add the file and a remedy to errors of the system; `final` if an error names no file."""
    try:
        yield
    except HostError:
        raise
    except OSError as error:
        raise cannot_write(Path(error.filename or final), error.errno) from error


def cannot_write(path: Path, number: int | None, what: str = "cannot be written") -> HostError:
    """Return an error with the file, the message of the system, and a remedy."""
    said = os.strerror(number or errno.EIO)
    remedy = _REMEDIES.get(number or errno.EIO)
    return HostError(f"{path}: {what}: {said}" + (f"; {remedy}" if remedy else ""))


def flush(paths: Iterable[Path]) -> None:
    """Flush files to the disk; several at a time, because the disk writes these together.

    Raises
    ------
    OSError
        If the disk is full or fails.
    """
    several = list(paths)
    if len(several) == 1:
        return _flush(several[0])
    with ThreadPoolExecutor(_FLUSHED_AT_A_TIME) as threads:
        for _ in threads.map(_flush, several):
            pass


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, if the file system can."""
    with suppress(OSError):
        _flush(folder)


def of_the_disk(error: BaseException | None) -> int | None:
    """Find the errno of the disk in a chain of errors, as closing a file may fail again."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
            return error.errno
        error = error.__context__
    return None


def _made_beside(path: Path, mode: int) -> Path:
    name = os.fsdecode(os.fsencode(path.name)[:100])
    temporary = path.with_name(f".{name}.{new_claim()}{TEMPORARY_SUFFIX}")

    def make() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(temporary, os.O_CREAT | os.O_NOFOLLOW | os.O_WRONLY, mode))

    retry_on_missing_parent(make)
    return temporary


def sweep_abandoned(mine: Path) -> None:
    """Remove abandoned temporary files in the folder of a new one."""
    now = None
    for left in mine.parent.glob(f".*{TEMPORARY_SUFFIX}"):
        claim = ".".join(left.name.removesuffix(TEMPORARY_SUFFIX).rsplit(".", 4)[1:])
        with suppress(OSError):
            now = now or changed_ns(mine)
            if is_left(left, claim, now):
                left.unlink()


def _flush(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
