"""Digests of files and of keys.

Digest notes have the digest of a source file, valid while the state of the file is unchanged.

A note is a JSON file in the cache folder. It has a checksum of its content and its own name, so
that a damaged note, or a note of another file, is treated as absent.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsim.base.errors import HostError, mistakes_in
from mcsim.base.files import write_whole
from mcsim.base.inputs import parse_object, read_regular, resolved

if TYPE_CHECKING:
    import pyarrow as pa

_GRAIN_NS = 2 * 10**9
"""Coarsest clock of a file system."""


_SAMPLED_PAGES = 16
_PAGE = 4096


def file_state(path: Path) -> list[int]:
    """Return size, times of change of content and inode in ns, inode, device, and sampled pages.

    A program can restore the time of the content (mtime), but not that of the inode (ctime).
    Writes through a memory mapping may change neither. Pages at equal distances, which include the
    first and the last, are therefore part of the state, as a digest. They are all pages of a file
    of up to 64 KiB.

    Raises
    ------
    HostError
        If the file cannot be read.
    """
    try:
        found = path.stat()
        pages = _sampled_pages(path, found.st_size) if stat.S_ISREG(found.st_mode) else 0
    except OSError as error:
        raise HostError(f"{path}: cannot be read: {error.strerror}") from error
    times = [found.st_mtime_ns, found.st_ctime_ns]
    return [found.st_size, *times, found.st_ino, found.st_dev, pages]


def _sampled_pages(path: Path, size: int) -> int:
    """Return 64 bits of the SHA-256 of the sampled pages."""
    last = max(size - 1, 0) // _PAGE
    sampled = {last * k // (_SAMPLED_PAGES - 1) for k in range(_SAMPLED_PAGES)}
    hasher = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        for page in sorted(sampled):
            hasher.update(os.pread(file.fileno(), _PAGE, page * _PAGE))
    return int.from_bytes(hasher.digest()[:8], "big")


def is_settled(state: list[int]) -> bool:
    """Whether the next change of a file in this state changes its times, too."""
    _, content_changed, inode_changed, *_ = state
    return time.time_ns() - max(content_changed, inode_changed) > _GRAIN_NS


def file_digest(path: Path, progress: Callable[[int], object]) -> str:
    """Return the SHA-256 of a file; `progress` is called with the bytes read so far.

    Raises
    ------
    HostError
        If the file cannot be read.
    """
    hasher = hashlib.sha256()
    piece = memoryview(bytearray(1 << 20))
    done = 0
    try:
        with path.open("rb", buffering=0) as file:
            while size := file.readinto(piece):
                hasher.update(piece[:size])
                done += size
                progress(done)
    except OSError as error:
        raise HostError(f"{path}: cannot be read: {error.strerror}") from error
    return hasher.hexdigest()


def note_path(cache_dir: Path, source: Path) -> Path:
    """Return the path of the note of a source file."""
    where = hashlib.sha256(os.fsencode(resolved(source))).hexdigest()
    return cache_dir / f"digest-{where[:32]}.json"


def read_note(note: Path) -> tuple[list[int], str]:
    """Return the state and the digest in a note.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is damaged, or of another version.
    """
    with mistakes_in(str(note)):
        noted = parse_object(read_regular(note))
    if set(noted) != {"state", "digest", "checksum"}:
        raise ValueError(f"{note}: not a digest note")
    state, digest = noted["state"], noted["digest"]
    if noted["checksum"] != _checksum(note, state, digest):
        raise ValueError(f"{note}: damaged: its checksum does not match")
    return state, digest


def write_note(note: Path, state: list[int], digest: str) -> None:
    """Write a note, which appears whole or not at all."""
    checksum = _checksum(note, state, digest)
    content = {"state": state, "digest": digest, "checksum": checksum}
    write_whole(note, json.dumps(content), private=True)


def _checksum(note: Path, state: Any, digest: Any) -> str:
    return hashlib.sha256(json.dumps([note.name, state, digest]).encode()).hexdigest()


def keys_digest(keys: pa.Array | None) -> str:
    """Return the SHA-256 of text keys, in hexadecimal; empty if there are none."""
    if keys is None:
        return ""
    digest = hashlib.sha256(str(len(keys)).encode())
    for buffer in keys.buffers()[1:]:
        digest.update(b"" if buffer is None else buffer)
    return digest.hexdigest()
