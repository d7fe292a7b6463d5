"""Tables of a finished run: methods that return them, for people and as frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from mcsim.tables.result_table import ResultTable


class RunTables:
    """Results with tables by name."""

    def _shown(self, name: str) -> ResultTable:
        """Return a table by name, as one of these methods does."""
        raise NotImplementedError

    def comparison(self) -> ResultTable:
        """Return hits, latency and gains by system and VM.

        Returns
        -------
        ResultTable
            A row for each system and VM, and for each system over all VMs, where ``vm`` is null.
            Ratios are in [0, 1], latencies in ns.

        Examples
        --------
        >>> rows = mc.run("tiny").comparison()
        >>> rows[rows.vm == "friendly"].hit_ratio.round(2).tolist()
        [0.63, 0.65, 0.65, 0.64]
        """
        return self._shown("comparison")

    def systems(self) -> ResultTable:
        """Return device writes, cost and times by system.

        Returns
        -------
        ResultTable
            A row for each system: ``device_writes`` in blocks by tier, ``cost_dollars``, and the
            seconds of replay and decisions.

        Examples
        --------
        >>> mc.run("tiny").systems().system.tolist()
        ['lru', 'static', 'multicache', 'multicache-joint']
        """
        return self._shown("systems")

    def yardsticks(self) -> ResultTable:
        """Return the distance of each system from what was possible, its fairness and its churn.

        Returns
        -------
        ResultTable
            A row for each system: ``share_of_opt`` and ``fairness`` in [0, 1], ``worst_slowdown``
            as a ratio to the latency alone, and ``churn`` in blocks.
        """
        return self._shown("yardsticks")

    def requests(self) -> ResultTable:
        """Return latencies of whole requests by system, all VMs together.

        Returns
        -------
        ResultTable
            A row for each system: number of requests, share that the caches served, and mean and
            percentiles of the latency in ns.
        """
        return self._shown("requests")

    def devices(self) -> ResultTable:
        """Return operations, life and load by system and device.

        Returns
        -------
        ResultTable
            A row for each system and device, the backend among them: reads and writes in blocks,
            ``lifetime_years``, and ``utilization`` as a share of the time.
        """
        return self._shown("devices")

    def misses(self) -> ResultTable:
        """Return misses by cause, system and VM.

        Returns
        -------
        ResultTable
            A row for each system and VM, and for each system over all VMs. Accesses that miss are
            ``compulsory``, ``invalidated``, of too little ``capacity``, or due to ``interference``.
        """
        return self._shown("misses")

    def prefix_hits(self) -> ResultTable:
        """Return prefix hits by system and tenant, of a run on chains.

        Returns
        -------
        ResultTable
            A row for each system and tenant, and for each system over all tenants: blocks and
            tokens of prompts, those in cached prefixes, and the time to first token that they
            save, in seconds. No rows of other workloads.
        """
        return self._shown("prefix_hits")

    def metrics(self) -> ResultTable:
        """Return counts by system, interval, VM and tier.

        Returns
        -------
        ResultTable
            The rows of `Results.to_arrow`: counts of accesses and blocks in the interval;
            ``occupancy`` and ``target`` are numbers of blocks at its end.

        Examples
        --------
        >>> metrics = mc.run("tiny").metrics()
        >>> metrics[(metrics.system == "lru") & (metrics.tier == 0)].hits.sum()
        np.int64(8102)
        """
        return self._shown("metrics")

    def vms(self) -> ResultTable:
        """Return counts by system, interval and VM, those of the backend among them.

        Returns
        -------
        ResultTable
            The rows of `Results.to_arrow`: accesses, misses, blocks that the backend read and
            wrote, requests and their bytes. ``begin_ns`` is the time at which an interval begins.
        """
        return self._shown("vms")

    def curves(self) -> ResultTable:
        """Return hits of LRU at selected capacities, by VM.

        Returns
        -------
        ResultTable
            A row for each VM, scope and ``capacity`` in blocks, with ``hits`` and ``accesses``.
        """
        return self._shown("curves")

    def reuse_intensity(self) -> ResultTable:
        """Return reuse intensity by VM and window.

        Returns
        -------
        ResultTable
            A row for each VM and window: 1 - distinct / all accesses, in [0, 1].
        """
        return self._shown("reuse_intensity")

    def decisions(self) -> ResultTable:
        """Return objective and bound of every decision.

        Returns
        -------
        ResultTable
            A row for each system and decision; ``interval`` is the first in which it acts. Lists
            by VM are in the order of `vms`.

            - ``infeasible``: the reason if a request of a system cannot be met.
            - ``admits``: if VMs were blocked or admitted.
            - ``write_modes``: if modes were decided: ``"back"``, or by tier ``"through / back"``.
            - ``timer``: the timer that fired, of systems with several.
            - ``moved``: the blocks of extents that moved.
            - ``throughputs``: blocks a second of each VM (`baa`).
            - ``note``: further findings.
        """
        return self._shown("decisions")

    def bounds(self) -> ResultTable:
        """Return the upper bound on hits (OPT).

        Returns
        -------
        ResultTable
            A row for each system with ``opt_hits``; no rows unless `opt` was requested.
        """
        return self._shown("bounds")

    def alone(self) -> ResultTable:
        """Return replays of each VM alone with all tiers.

        Returns
        -------
        ResultTable
            A row for each system and VM; no rows if there were no such replays. A run of one VM
            has no misses and no latency here: those of the run are the VM's own.
        """
        return self._shown("alone")

    def to_pandas(self, name: str = "comparison") -> pd.DataFrame:
        """Return a table as a pandas frame.

        Parameters
        ----------
        name : str
            A method that returns a table, such as ``'systems'`` or ``'metrics'``.

        Returns
        -------
        pandas.DataFrame
            The rows and columns of the method's table.

        Raises
        ------
        ConfigError
            If there is no such table, or pandas is not installed.

        Examples
        --------
        >>> metrics = mc.run("tiny").to_pandas("metrics")
        >>> metrics.groupby("system")["hits"].sum()["lru"]
        np.int64(27912)
        """
        return self._shown(name).to_pandas()

    def to_polars(self, name: str = "comparison") -> pl.DataFrame:
        """Return a table as a Polars frame.

        Parameters
        ----------
        name : str
            A method that returns a table, such as ``'systems'`` or ``'metrics'``.

        Returns
        -------
        polars.DataFrame
            The rows and columns of the method's table.

        Raises
        ------
        ConfigError
            If there is no such table, or Polars is not installed.
        """
        return self._shown(name).to_polars()
