"""The exceptions of mcsim: a small family, each also the built-in one expects."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

CORE_IS_MISSING = (
    "the compiled core of mcsim is missing: run `pip install .` in the source tree, or use its "
    "launcher `./mcsim`"
)


class McsimError(Exception):
    """Base of everything mcsim raises on purpose."""

    exit_code = 70


class ConfigError(McsimError, ValueError):
    """An input of the user is invalid (exit code 2)."""

    exit_code = 2


class NoReferencesError(ConfigError):
    """Traces have no requests of the chosen kind, such as reads."""


class TimeBaseError(ConfigError):
    """A trace has a clock and the experiment's interval counts references, or the reverse."""


_OF_NAMES = {errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR}


def exit_code_of(error: OSError) -> int:
    """Return 2 if the name of a file is wrong, which is the user's input, else 3."""
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    wrong = ConfigError if cause.errno in _OF_NAMES else HostError
    return wrong.exit_code


@contextmanager
def mistakes_in(name: str) -> Iterator[None]:
    """Prefix errors about a value of the user with its name.

    Raises
    ------
    ConfigError
        For a ValueError of the block.

    Examples
    --------
    >>> from mcsim.base.errors import mistakes_in
    >>> with mistakes_in("--size"):
    ...     raise ValueError("at least 1 block, got 0")
    Traceback (most recent call last):
    mcsim.base.errors.ConfigError: --size: at least 1 block, got 0
    """
    try:
        yield
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from None


def brief(function: Callable[P, T]) -> Callable[P, T]:
    """Make a decorator: errors of the user's input have no traceback within mcsim."""

    @wraps(function)
    def with_brief_errors(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except McsimError as error:
            if error.exit_code != ConfigError.exit_code:
                raise
            raise error.with_traceback(None) from None

    return with_brief_errors


class Complaints:
    """Errors that are collected one after the other and raised together.

    Examples
    --------
    >>> from mcsim.base.errors import Complaints
    >>> complaints = Complaints()
    >>> for word in ("one", "two"):
    ...     with complaints.kept():
    ...         raise mc.ConfigError(f"not {word}")
    >>> complaints.tell()
    Traceback (most recent call last):
    mcsim.base.errors.ConfigError: not one
    not two
    """

    def __init__(self) -> None:
        self._found: list[ConfigError] = []

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Collect a ConfigError of the block."""
        try:
            yield
        except ConfigError as error:
            self._found.append(error)

    def tell(self) -> None:
        """Raise the collected errors, a line each, if there are any."""
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            raise ConfigError("\n".join(dict.fromkeys(map(str, self._found))))


REMEDIES = {
    errno.EMFILE: "raise the limit of open files, `ulimit -n`",
    errno.ENFILE: "the host has no more open files",
    errno.ENOMEM: "there is not enough memory",
    errno.EAGAIN: "raise the limit of processes and threads, `ulimit -u`",
    errno.EIO: "see to the disk",
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room there",
}
"""Remedies for faults of the host, by error number."""


class TraceError(McsimError, ValueError):
    """A trace file contradicts its format (exit code 2)."""

    exit_code = 2


class EmptyTraceError(TraceError):
    """A trace file has no requests."""


class HostError(McsimError, OSError):
    """The operating system refused (exit code 3)."""

    exit_code = 3


_OF_FILES = _OF_NAMES | {errno.EINVAL, errno.EFBIG, errno.ENOENT}


def is_host_fault(error: BaseException) -> bool:
    """Return whether an error is of the host, so that it proves no damage of a file.

    Such are EIO, EMFILE, ENOMEM, EACCES and ESTALE. Libraries raise OSError without a number for
    content that they cannot read.
    """
    if isinstance(error, HostError):
        return True
    return isinstance(error, OSError) and error.errno not in (None, *_OF_FILES)


@contextmanager
def host_faults(path: Path) -> Iterator[None]:
    """Raise HostError, with the name of a file, for faults of the host in the block.

    Libraries may raise another error after such a fault.
    """
    try:
        yield
    except HostError:
        raise
    except Exception as error:
        fault: BaseException | None = error
        while fault is not None and not is_host_fault(fault):
            fault = fault.__context__
        if isinstance(fault, HostError):
            raise HostError(str(error)) from error
        if not isinstance(fault, OSError):
            raise
        remedy = REMEDIES.get(fault.errno or 0, "do it again")
        raise HostError(f"{path}: cannot be read: {fault.strerror}; {remedy}") from error


class OutOfMemoryError(McsimError, MemoryError):
    """There is not enough memory (exit code 3)."""

    exit_code = 3


class MissingOutputError(McsimError, RuntimeError):
    """An output is missing, such as a figure; the work is finished (exit code 4).

    Attributes
    ----------
    results : Results or None
        The finished run.
    """

    exit_code = 4
    results: Any = None


class InternalError(McsimError, RuntimeError):
    """A law the engine must keep was broken: please report (exit code 70)."""
