"""Limits of the host: recognise them in errors of Python and of libraries, and name them."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

from mcsim.base.errors import (
    REMEDIES,
    HostError,
    McsimError,
    MissingOutputError,
    OutOfMemoryError,
)

_NO_THREAD = "can't start new thread"

_NO_MEMORY = ("bad_alloc", "cannot allocate memory", "failed to map segment", "zero-fill pages")
"""Parts of messages of the loader of shared libraries, in lower case."""

_LEAST_ADDRESS_SPACE = 1 << 30
"""With less, libraries end the process while they are loaded, without an exception."""


def limit_error(error: BaseException) -> McsimError | None:
    """Return an error with the limit of the host that an exception or one of its causes reports.

    None if there is no such cause.

    Examples
    --------
    >>> import errno
    >>> from mcsim.base.limits import limit_error
    >>> try:
    ...     raise mc.ConfigError("x.yaml: no file") from OSError(errno.ENFILE, "Too many")
    ... except ValueError as error:
    ...     print(limit_error(error))
    x.yaml: no file; the host has no more open files
    """
    for cause in _causes(error):
        text = str(cause).lower()
        if isinstance(cause, RuntimeError) and _NO_THREAD in text:
            return thread_error()
        if isinstance(cause, MemoryError) or (
            isinstance(cause, ImportError | OSError) and any(part in text for part in _NO_MEMORY)
        ):
            return memory_error(error if isinstance(error, McsimError) else None)
        if isinstance(cause, OSError) and cause.errno in REMEDIES:
            remedy = REMEDIES[cause.errno]
            return HostError(str(error) if remedy in str(error) else f"{error}; {remedy}")
        if isinstance(cause, ImportError) and os.strerror(errno.EMFILE).lower() in text:
            return HostError(f"{cause}; {REMEDIES[errno.EMFILE]}")
    return None


@contextmanager
def limits_named() -> Iterator[None]:
    """Raise the error of `limit_error` instead of an exception that has one; also a decorator.

    Raises
    ------
    HostError, OutOfMemoryError
    """
    try:
        yield
    except Exception as error:
        limit = None if isinstance(error, MissingOutputError) else limit_error(error)
        if isinstance(error, HostError) and isinstance(limit, OutOfMemoryError):
            raise
        if limit is None or (str(limit) == str(error) and isinstance(error, type(limit))):
            raise
        raise limit from error


def check_address_space() -> None:
    """Check that the limit of the address space, if there is one, leaves room for libraries.

    Raises
    ------
    OutOfMemoryError
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    # OpenBLAS reserves buffers for each thread, and allocators of Arrow large arenas.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if limit < _LEAST_ADDRESS_SPACE:
        raise OutOfMemoryError(
            f"the limit of memory, `ulimit -v`, is {limit // 1024:,} KiB; mcsim needs "
            f"{_LEAST_ADDRESS_SPACE // 1024:,} KiB or more"
        )


def memory_error(error: McsimError | None = None) -> McsimError:
    """Return an error that names the limit of memory, if there is one."""
    text = str(error or "there is not enough memory")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and "ulimit -v" not in text:
        text += f"; its limit, `ulimit -v`, is {limit // 1024:,} KiB"
    return OutOfMemoryError(text)


def thread_error() -> HostError:
    """Return an error that names the limits of threads."""
    return HostError(
        "the system starts no more threads: raise the limits of threads (`ulimit -u`, or that of "
        "the container) and of memory (`ulimit -v`)"
    )


@contextmanager
def thread_faults() -> Iterator[None]:
    """Raise HostError if the block cannot start a thread."""
    try:
        yield
    except RuntimeError as error:
        if _NO_THREAD not in str(error):
            raise
        raise thread_error() from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and the exceptions that led to it."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
