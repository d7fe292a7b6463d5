"""Traces that come through pipes: standard input, FIFOs and process substitution.

A trace is read more than once, so what comes through a pipe is spooled to a file in the cache
folder, which is removed after it was parsed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import NamedTuple

from mcsim.base.claims import claim_folder, release_lease
from mcsim.base.errors import ConfigError, HostError, TraceError, mistakes_in
from mcsim.base.files import cannot_write
from mcsim.base.inputs import note_pipe
from mcsim.base.units import parse_bytes

STDIN = Path("/dev/stdin")
"""Path of the trace ``-``."""

_WRITER_SECONDS = 2
_SPOOLS = "spooled"
_PIECE = 1 << 20


class Spool(NamedTuple):
    """A file with all bytes of a pipe."""

    file: Path
    digest: str
    """SHA-256 of the bytes."""
    pipe: str

    def renamed(self, text: str) -> str:
        """Replace the path of the file in a message by the name of the pipe."""
        return text.replace(os.fspath(self.file), self.pipe)


def name_of(path: Path) -> str:
    """Return what messages call a file or pipe."""
    return path.name if path == STDIN else os.fspath(path)


def is_pipe(path: Path) -> bool:
    """Return whether a path is a pipe or a socket.

    Raises
    ------
    ConfigError
        If it is a terminal or another device, or standard input and closed.
    """
    if path == STDIN and sys.stdin is None:
        raise ConfigError("stdin: standard input is closed; pipe a trace into this command")
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        if path == STDIN and os.isatty(0):
            raise ConfigError(
                "stdin: a terminal; pipe a trace into this command: zstdcat x.csv.zst | mcsim mrc -"
            )
        if path == STDIN:
            raise ConfigError("stdin (-): a device; pipe a trace into this command")
        raise ConfigError(f"{name_of(path)}: a device; expected a file or a pipe")
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def open_pipe(path: Path) -> int:
    """Open a file or pipe that is read once; return its descriptor.

    Raises
    ------
    ConfigError
        If it is a pipe that the current command has read.
    HostError
        If it cannot be opened, or is a FIFO that no program opens for writing within two seconds.
    """
    note_pipe(path, name_of(path))
    try:
        # Sockets can be opened by their descriptor alone.
        descriptor = os.dup(0) if path == STDIN else _opened(path)
    except OSError as error:
        raise HostError(f"{name_of(path)}: cannot be read: {error.strerror}") from error
    os.set_blocking(descriptor, True)
    return descriptor


def _opened(path: Path) -> int:
    """Open a file, or a FIFO that has a writer; wait two seconds for one."""
    opened: Queue[int | OSError] = Queue()

    def open_waiting() -> None:
        try:
            opened.put(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        except OSError as error:
            opened.put(error)

    threading.Thread(target=open_waiting, daemon=True).start()
    try:
        descriptor = opened.get(timeout=_WRITER_SECONDS)
    except Empty:
        if not stat.S_ISFIFO(path.stat().st_mode):  # a file system that does not respond
            raise OSError(errno.ETIMEDOUT, "it cannot be opened within two seconds") from None
        # The thread is woken by a writer.
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        if not isinstance(descriptor := opened.get(), OSError):
            os.close(descriptor)
        descriptor = OSError(errno.EPIPE, "no program writes to this pipe")
    if isinstance(descriptor, OSError):
        raise descriptor
    return descriptor


@contextmanager
def spooled(path: Path, folder: Path, progress: Callable[[int, int], object]) -> Iterator[Spool]:
    """Copy what comes through a pipe to a file in `folder`, which is removed after the block.

    Errors about the file in the block name the pipe.

    Raises
    ------
    ConfigError
        As of `open_pipe`.
    HostError
        If the pipe cannot be read, or the folder not be written.
    TraceError
        If nothing comes through the pipe.
    """
    from mcsim.traces.cache import open_cache

    open_cache(folder)
    open_cache(folder / _SPOOLS)
    descriptor = open_pipe(path)
    try:
        mine = claim_folder(folder / _SPOOLS)
    except OSError as error:
        os.close(descriptor)
        raise cannot_write(folder, error.errno) from error
    file = mine / path.name
    try:
        try:
            digest = _copy(descriptor, path, file, folder, progress)
        finally:
            os.close(descriptor)
        spool = Spool(file, digest, name_of(path))
        try:
            yield spool
        except (ConfigError, TraceError) as error:
            raise type(error)(spool.renamed(str(error))) from error
    finally:
        release_lease(mine, keep=False)


def spool_limit(folder: Path) -> int:
    """Return how many bytes of a pipe are copied to a folder at most.

    The limit is ``$MCSIM_SPOOL_LIMIT``. The default leaves a tenth of the free space of the file
    system.

    Raises
    ------
    ConfigError
        If ``$MCSIM_SPOOL_LIMIT`` is not a size.
    """
    said = os.environ.get("MCSIM_SPOOL_LIMIT")
    if not said:
        return shutil.disk_usage(folder).free * 9 // 10
    with mistakes_in("MCSIM_SPOOL_LIMIT"):
        return parse_bytes(said)


def _copy(
    descriptor: int,
    path: Path,
    file: Path,
    folder: Path,
    progress: Callable[[int, int], object],
) -> str:
    """Copy a pipe to a file; return the SHA-256."""
    hasher = hashlib.sha256()
    done = 0
    limit = spool_limit(folder)
    try:
        create = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        with os.fdopen(os.open(file, create, 0o600), "wb", buffering=0) as target:
            while piece := _read(descriptor, path):
                hasher.update(piece)
                left = memoryview(piece)
                while left:
                    left = left[target.write(left) :]
                done += len(piece)
                if done > limit:
                    raise HostError(
                        f"{name_of(path)}: more than {limit:,} bytes came through this pipe, the "
                        f"limit of its copy in {folder} ($MCSIM_SPOOL_LIMIT); write it to a file"
                    )
                progress(done // 2, done)
    except HostError:
        raise
    except OSError as error:
        raise cannot_write(folder, error.errno, "cannot be written") from error
    if done == 0:
        raise TraceError(f"{name_of(path)}: nothing came through this pipe")
    return hasher.hexdigest()


def _read(descriptor: int, path: Path) -> bytes:
    try:
        return os.read(descriptor, _PIECE)
    except OSError as error:
        raise HostError(f"{name_of(path)}: cannot be read: {error.strerror}") from error
