"""Workers of Dask on this machine, set up as in docs/clusters.md to leave cores to their work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import LocalCluster

QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}


@contextmanager
def local_workers(count: int) -> Iterator[LocalCluster]:
    """Start a scheduler and a number of workers, each a process of one thread."""
    import dask
    from distributed import LocalCluster

    options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
    with dask.config.set(QUIET), LocalCluster(**options) as cluster:
        yield cluster
