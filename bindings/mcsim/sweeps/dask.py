"""Dask: the executor of a scheduler that runs somewhere, checked before it is used."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcsim import _core
from mcsim.base.errors import ConfigError, HostError
from mcsim.base.package import require
from mcsim.experiment.environment import build_digest

if TYPE_CHECKING:
    from distributed import Client

_log = logging.getLogger(__name__)

_SECONDS = 10  # to wait for a scheduler


@contextmanager
def dask_executor(address: str) -> Iterator[tuple[Executor, int]]:
    """Connect to a scheduler.

    Parameters
    ----------
    address : str
        Address such as ``tcp://head:8786``.

    Yields
    ------
    executor : concurrent.futures.Executor
    workers : int
        Number of threads of all connected workers, at least 1.

    Raises
    ------
    ConfigError
        If Dask is not installed, the address has no such form, or a worker has another mcsim.
    HostError
        If there is no scheduler.
    """
    require("Dask clusters", "distributed")
    from distributed import Client
    from distributed.comm import resolve_address

    try:
        resolve_address(address)  # a client with a wrong one takes 20 s to close
    except ValueError as error:
        raise ConfigError(
            f"{address}: expected an address such as tcp://head:8786: {error}"
        ) from None
    except OSError as error:
        raise HostError(f"{address}: no such host: {error.strerror}") from None
    try:
        client = Client(address, timeout=_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        why = str(error).strip() or type(error).__name__
        raise HostError(f"{address}: no Dask scheduler answers there: {why}") from None
    with _without_logs_of_dask(), client:
        _check_workers(client)
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        threads = sum(worker["nthreads"] for worker in workers)
        yield client.get_executor(pure=False), max(1, threads)


@contextmanager
def _without_logs_of_dask() -> Iterator[None]:
    """Suppress the tracebacks of a client that loses its scheduler, which futures report."""
    # Dask sets a level for each of its modules.
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed.")]
    loggers = [logging.getLogger(name) for name in ("asyncio", *names)]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _check_workers(client: Client) -> None:
    """Check the mcsim of connected workers; each task checks it again for later ones.

    A worker that dies meanwhile is left to the scheduler, which gives its work to others.
    """
    ours = _mcsim_here()
    for worker, theirs in client.run(_mcsim_here, on_error="return").items():
        if isinstance(theirs, OSError):  # it died; the scheduler may not have noticed
            _log.warning("worker %s does not answer: %s", worker, theirs)
            continue
        if isinstance(theirs, BaseException):
            raise ConfigError(f"worker {worker} has no mcsim that can be used: {theirs}")
        if theirs != ours:
            raise ConfigError(
                f"worker {worker} has mcsim {theirs[0]}, build {theirs[1]}; here it is {ours[0]}, "
                f"build {ours[1]}: install the same on all machines"
            )


def _mcsim_here() -> tuple[str, str]:
    return _core.__version__, build_digest()
