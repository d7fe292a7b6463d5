"""Files that users name. Only regular ones are opened, and no command overwrites its inputs.

A FIFO or a device can block for ever, and a socket cannot be opened. So `open_regular` examines a
file before it opens it. `parse_object` treats the content as untrusted: any shape, any depth.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import json
import os
import re
import select
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from mcsim.base.errors import ConfigError

MOST_BYTES = 1 << 28
"""Upper bound on a file that is read into memory as a whole, other than tables and traces."""

_PIPE_SECONDS = 2

_Identity = tuple[int, int]

_inputs: dict[_Identity, Path] | None = None
"""Files that the current command reads, by device and inode; None outside of commands."""

_outputs: set[Path] = set()
"""Files that the current command is to write, links followed."""


@contextmanager
def protected_inputs() -> Iterator[None]:
    """Refuse, within the block, outputs that are inputs of the same command."""
    global _inputs
    before = _inputs
    _inputs = {}
    _outputs.clear()
    try:
        yield
    finally:
        _inputs = before


def note_input(path: str | os.PathLike[str]) -> None:
    """Record that the current command reads a file.

    Raises
    ------
    ConfigError
        If the command is to replace it.
    """
    if _inputs is None:
        return
    if (identity := _identity(Path(path))) is not None:
        if any(_identity(output) == identity for output in _outputs):
            raise _is_input(path)
        _inputs[identity] = Path(path)


def note_pipe(path: Path, name: str) -> None:
    """Record that the current command reads a pipe; do as `note_input` for any other file.

    Raises
    ------
    ConfigError
        If it has read the pipe, and as of `note_input`.
    """
    identity = _identity(path)
    if identity is not None and identity in (_inputs or {}) and not is_regular(path):
        raise ConfigError(f"{name}: given twice, and a pipe is read once")
    note_input(path)


def check_output(path: Path) -> Path:
    """Return the file that an output replaces: `path`, symbolic links followed.

    Raises
    ------
    ConfigError
        If it exists and is not a regular file, or is an input of the current command.
    OSError
        If it cannot be examined.
    """
    target = resolved(path)
    try:
        found = target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return target
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError(f"{path}: not a regular file: it is not replaced")
    identity = found.st_dev, found.st_ino
    # An inode number may be reused once its file is removed.
    if _inputs is not None and identity in _inputs and _identity(_inputs[identity]) == identity:
        raise _is_input(path)
    if _inputs is not None and identity in map(_identity_of_stream, (0, 1, 2)):
        raise ConfigError(f"{path}: a standard stream of this command; name another output")
    return target


def expect_output(path: Path) -> Path:
    """Do as `check_output` before the work begins; refuse the file as an input from then on.

    Raises
    ------
    ConfigError
        Also if it is another output of the current command.
    """
    target = check_output(path)
    if _inputs is not None:
        if target in _outputs:
            raise ConfigError(f"{path}: another output of this command; name another file")
        _outputs.add(target)
    return target


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a file, links followed; a loop of links stays as it is."""
    return Path(os.path.realpath(path))


def is_regular(path: Path) -> bool:
    """Return whether a path is a regular file, or a link to one."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading.

    Raises
    ------
    OSError
        If it cannot be opened, or is a FIFO, a device or a socket, which may block.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return path.open("rb")


def read_regular(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file.

    Raises
    ------
    OSError
        As of `open_regular`, or if the file is larger than `most_bytes`.
    """
    with open_regular(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes:,} bytes", os.fspath(path))
    return content


def read_text_or_pipe(path: Path, most_bytes: int) -> bytes:
    """Return the content of a regular file, or of a pipe; at most a byte more than `most_bytes`.

    Raises
    ------
    OSError
        As of `open_regular`, or if nothing comes through the pipe for two seconds.
    """
    if not stat.S_ISFIFO(path.stat().st_mode):
        with open_regular(path) as file:
            return file.read(most_bytes + 1)
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        content = b""
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        while len(content) <= most_bytes:
            if not poll.poll(1000 * _PIPE_SECONDS):
                raise OSError(errno.EINVAL, "nothing comes through this pipe", os.fspath(path))
            if not (piece := os.read(pipe, 1 << 16)):
                break
            content += piece
        return content
    finally:
        os.close(pipe)


def parse_object(content: bytes | str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises
    ------
    ValueError
        If it is not one; nesting deeper than the interpreter's stack counts as that.
    """
    try:
        value = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    return value


def printable(text: str | os.PathLike[str]) -> str:
    r"""Return text with `\xff` in place of what is not printable or not UTF-8.

    Examples
    --------
    >>> import os
    >>> from mcsim.base.inputs import printable
    >>> printable(os.fsdecode(b"caf\xe9\n.csv"))
    'caf\\xe9\\x0a.csv'
    """
    return "".join(c if c.isprintable() else _escaped(c) for c in os.fspath(text))


_ENDINGS = frozenset(
    (
        *(".arrow", ".bin", ".csv", ".dat", ".feather", ".json", ".jsonl", ".log", ".parquet"),
        *(".trace", ".tsv", ".txt", ".yaml", ".yml"),
        *(".bz2", ".gz", ".xz", ".zst"),
    )
)


def stem_of(path: str | os.PathLike[str]) -> str:
    """Return the name of a file without the endings of traces and of compressed files.

    Examples
    --------
    >>> from mcsim.base.inputs import stem_of
    >>> stem_of("traces/db.prod.csv.gz"), stem_of("db.dev"), stem_of(".csv")
    ('db.prod', 'db.dev', '.csv')
    >>> stem_of("-")
    'stdin'
    """
    name = "stdin" if path == "-" else Path(path).name
    while (ending := Path(name).suffix.lower()) in _ENDINGS:
        name = name[: -len(ending)]
    return name


def plain_name(text: str, most: int = 40) -> str:
    """Return a part of a file name for text; different texts have different ones.

    Examples
    --------
    >>> from mcsim.base.inputs import plain_name
    >>> plain_name("db.prod"), plain_name("a, b"), plain_name("a/b")
    ('db.prod', 'a+b', 'a_b-c14cddc0')
    """
    plain = "+".join(word.strip() for word in text.split(","))
    if len(plain) <= most and re.fullmatch(r"[\w.-]+(\+[\w.-]+)*", plain) and "+" not in text:
        return plain
    plain = re.sub(r"[^\w.+-]+", "_", plain)
    digest = hashlib.sha256(os.fsencode(text)).hexdigest()[:8]
    return f"{plain[:most]}-{digest}"


def escape_unencodable(error: UnicodeError) -> tuple[str | bytes, int]:
    r"""Escape what an encoding lacks as `printable` does; the error handler ``mcsim-escape``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_escaped, error.object[error.start : error.end])), error.end


codecs.register_error("mcsim-escape", escape_unencodable)


def _escaped(letter: str) -> str:
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _identity_of_stream(number: int) -> _Identity | None:
    with suppress(OSError):
        found = os.fstat(number)
        return found.st_dev, found.st_ino
    return None


def _identity(path: Path) -> _Identity | None:
    with suppress(OSError, ValueError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


def _is_input(path: str | os.PathLike[str]) -> ConfigError:
    return ConfigError(f"{os.fspath(path)}: an input of this command; name another output")
