"""Dask: the executor of a scheduler that runs somewhere, checked before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcsim import _core
from mcsim.base.errors import ConfigError, HostError
from mcsim.base.extras import require
from mcsim.experiment.environment import build_digest

if TYPE_CHECKING:
    from distributed import Client

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
        If Dask is not installed, or a worker has another mcsim.
    HostError
        If there is no scheduler.
    """
    require("Dask clusters", "distributed")
    from distributed import Client

    try:
        client = Client(address, timeout=_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        why = str(error).strip() or type(error).__name__
        raise HostError(f"{address}: no Dask scheduler answers there: {why}") from None
    with client:
        _check_workers(client)
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        threads = sum(worker["nthreads"] for worker in workers)
        yield client.get_executor(pure=False), max(1, threads)


def _check_workers(client: Client) -> None:
    """Check the mcsim of connected workers; each task checks it again for later ones."""
    ours = _mcsim_here()
    found = client.run(_mcsim_here, on_error="return")
    for worker, theirs in found.items():
        if isinstance(theirs, BaseException):
            raise ConfigError(f"worker {worker} has no mcsim that can be used: {theirs}")
        if theirs != ours:
            raise ConfigError(
                f"worker {worker} has mcsim {theirs[0]}, build {theirs[1]}; here it is {ours[0]}, "
                f"build {ours[1]}: install the same on all machines"
            )


def _mcsim_here() -> tuple[str, str]:
    return _core.__version__, build_digest()
