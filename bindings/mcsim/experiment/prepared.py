"""A workload made ready: interned, measured and bounded once, for all runs that see it alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim._core import engine, locality, policies
from mcsim.base.progress import Reporter
from mcsim.base.threads import Once
from mcsim.config import ExperimentSpec
from mcsim.experiment.alone import Alone, requests_by_vm, rows_alone
from mcsim.experiment.environment import describe_environment
from mcsim.experiment.recorded import (
    ByteCurve,
    Curve,
    curve_points,
    curve_steps,
    intensity_table,
    tenant_curves,
    unique_blocks,
)
from mcsim.references.interned import (
    interned,
    is_kept,
    is_many,
    is_profile_kept,
    profiled,
    remembered,
)
from mcsim.references.workload import Workload
from mcsim.results.version import RESULTS_VERSION
from mcsim.results.yardsticks import MOST_ACCESSES
from mcsim.traces.info import described_rows

View = Mapping[str, Any]
"""How a system sees the trace; see `Workload.intern`."""

T = TypeVar("T")


class Prepared:
    """A workload and its cached measurements, for any thread.

    The first caller of a measurement computes it, and others wait for the result. No result
    depends on the caller: runs that share the object have the results of separate runs.

    Parameters
    ----------
    workload : Workload
    reporter : Reporter
        Receives progress.
    """

    def __init__(self, workload: Workload, reporter: Reporter) -> None:
        self.workload = workload
        self._reporter = reporter
        self._made = Once()

    @cached_property
    def described(self) -> list[dict[str, Any]]:
        """Facts about each VM's requests that a result stores."""
        return self.workload.describe()

    def release(self) -> None:
        """Release cached measurements; they are computed again on use."""
        self._made = Once()

    def kept(self, view: View) -> tuple[bool, bool] | None:
        """Whether the cache has its accesses and measurements.

        None if they are too few to be stored.
        """
        if not is_many(self.workload, view):
            return None
        return is_kept(self.workload, view), is_profile_kept(self.workload, view)

    def accesses(self, view: View, about: str = "") -> engine.Accesses:
        """Return the workload as a view shows it."""

        def intern() -> engine.Accesses:
            with self._reporter.stage("intern", unit="requests", about=about) as stage:
                accesses = interned(self.workload, view, stage.update)
                stage.unit = "accesses"
                stage.update(accesses.access_count)
            return accesses

        return self._once("accesses", view, (), intern)

    def measured(self, view: View, specs: Sequence[locality.MeterSpec]) -> locality.Characterised:
        """Return what these meters show, and the curves of the whole workload."""

        def characterise() -> locality.Characterised:
            accesses = self.accesses(view)
            total = accesses.access_count
            with self._reporter.stage("characterise", total, "accesses") as stage:
                found = profiled(self.workload, view, accesses, list(specs), stage.update)
                stage.update(total)
            return found

        return self._once("measured", view, tuple(map(repr, specs)), characterise)

    def curves(
        self, view: View, specs: Sequence[locality.MeterSpec], boundaries: NDArray[np.int64]
    ) -> tuple[pa.Table, pa.Table]:
        """Tabulate every VM's curve: at steps, which no run has for itself, and at boundaries."""
        accesses = self.accesses(view)
        names = [vm.name for vm in accesses.vms]
        curves: Sequence[Curve]
        if self.is_in_bytes(view):
            curves = [ByteCurve(accesses, vm) for vm in range(len(names))]
        elif self.workload.chains is not None:
            curves = tenant_curves(self.workload.chains)
        else:
            curves = self.measured(view, specs).whole_curves
        steps = self._once("curves", view, (), lambda: curve_steps(names, curves))
        return steps, curve_points(names, curves, [boundaries] * len(curves))

    def is_in_bytes(self, view: View) -> bool:
        """Whether capacities are bytes of objects."""
        return self.workload.kind == "objects" and view["block_bytes"] == 1

    def intensity(
        self, view: View, specs: Sequence[locality.MeterSpec], of: locality.MeterSpec | None
    ) -> pa.Table:
        """Tabulate the windows of a meter, one of `specs`."""

        def tabulate() -> pa.Table:
            return intensity_table(self.accesses(view), self.measured(view, specs), of)

        return self._once("intensity", view, repr(of), tabulate)

    def opt_hits(
        self,
        view: View,
        blocks: int,
        interval: int,
        warm_up_intervals: int,
        progress: Callable[[int], object],
    ) -> int:
        """Return what OPT hits after a warm-up, as of `mcsim.experiment.prepared.opt_hits`."""

        def find() -> int:
            accesses = self.accesses(view)
            total = accesses.access_count
            first = int(engine.aligned_cuts(accesses, interval)[warm_up_intervals])
            with self._reporter.stage("bound", total, "accesses", about="OPT") as stage:

                def watched(done: int) -> None:
                    progress(done)
                    stage.update(done)

                if self.workload.chains is None:
                    hits = opt_hits(accesses, blocks, first, watched)
                else:
                    hits = prefix_bound(accesses, blocks, first, watched)
                stage.update(total)
            return hits

        def find_once() -> int:
            cause = {"what": "opt", "results": RESULTS_VERSION, "blocks": blocks}
            cause |= {"interval": interval, "warm_up_intervals": warm_up_intervals}
            rows = remembered(self.workload, view, cause, lambda: [{"hits": find()}])
            return int(rows[0]["hits"])

        return self._once("opt", view, (blocks, interval, warm_up_intervals), find_once)

    def alone(self, view: View, path: Alone, progress: Callable[[int], object]) -> pa.Table:
        """Replay each VM alone on a data path."""

        def replay() -> pa.Table:
            accesses = self.accesses(view)
            order = self._once("order", view, (), lambda: requests_by_vm(accesses))
            spec, total = path.spec, accesses.access_count
            first = int(engine.aligned_cuts(accesses, spec.interval.length)[spec.warm_up_intervals])

            def watched(done: int) -> None:
                stage.update(done)
                progress(done)

            about = f"each VM alone, {spec.systems[0].title}"
            with self._reporter.stage("alone", total, "accesses", about=about) as stage:
                has_times = self.workload.kind == "blocks"
                return path.table(accesses, first, order, has_times=has_times, progress=watched)

        def replay_once() -> pa.Table:
            if (cause := path.cause) is None:
                return replay()
            rows = remembered(self.workload, view, cause, lambda: replay().to_pylist())
            return rows_alone(rows)

        return self._once("alone", view, path.key, replay_once)

    def environment(self, view: View) -> dict[str, Any]:
        """Describe program, machine and traces."""
        return self._once("environment", view, (), lambda: self._environment(view))

    def _environment(self, view: View) -> dict[str, Any]:
        accesses = self.accesses(view)
        described = self.workload.describe()
        chains = self.workload.chains
        for entry, vm, unique in zip(described, accesses.vms, unique_blocks(accesses), strict=True):
            entry["requests"] = vm.requests
            entry["accesses"] = vm.accesses
            entry["unique_blocks"] = unique
        for entry, one in zip(described, self.workload.vms, strict=True):
            if rows := described_rows(one.trace.metadata):
                entry["rows"] = rows
        if chains is not None:
            counts = chains.tenant_counts()
            for entry, requests in zip(described, counts, strict=True):
                entry |= {"requests": requests, "accesses": entry["accesses"] // 2}
        return describe_environment() | {
            "synthetic": self.workload.synthetic,
            "kind": self.workload.kind,
            **({} if chains is None else {"block_tokens": chains.block_tokens}),
            "first_access_ns": int(accesses.request_time[accesses.warm_up]),
            "missing": list(self.workload.missing),
            "traces": described,
        }

    def _once(self, what: str, view: View, more: Hashable, make: Callable[[], T]) -> T:
        return self._made.get((what, tuple(sorted(view.items())), more), make)


def distinct_bytes(accesses: engine.Accesses) -> int:
    """Return the bytes of all distinct objects, each as of its last access."""
    last = np.zeros(accesses.id_count, np.uint32)
    begin = accesses.request_begin.view(np.int64)
    of = np.flatnonzero(np.diff(begin))
    last[accesses.ids[begin[of]]] = accesses.request_bytes[of]
    return int(last.sum(dtype=np.int64))


def is_bound_wanted(spec: ExperimentSpec, accesses: engine.Accesses) -> bool:
    """Return whether a run computes the hits of OPT on a view of its trace.

    With lines, extents or states OPT is no bound, because a tier holds blocks that were never
    accessed. It is no bound of objects with sizes.
    """
    if accesses.line_blocks > 1 or spec.in_bytes or spec.starts_filled:
        return False
    return accesses.access_count <= MOST_ACCESSES if spec.opt is None else spec.opt


def opt_hits(
    accesses: engine.Accesses,
    blocks: int,
    first: int = 0,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Compute the hits of OPT in one cache of all VMs, with one block more than `blocks`.

    The result is an upper bound for all systems of at most `blocks` without prefetching, with any
    division, eviction and admission. The additional block is needed because OPT admits every block
    and a system may refuse some. Systems may begin with any blocks of accesses that are not
    counted, and so may OPT.

    Parameters
    ----------
    accesses : Accesses
        The trace.
    blocks : int
        Space of all tiers together.
    first : int
        The first request that is counted.
    progress : callable, optional
        Notified of the number of accesses done.

    Returns
    -------
    int
        Hits among the accesses of the requests from `first` on.
    """
    begin = int(accesses.request_begin[first])
    counted = accesses.ids[begin:]
    discards = accesses.discard_request >= first
    positions = accesses.request_begin[accesses.discard_request[discards]] - np.uint64(begin)
    if begin:
        # Blocks that are accessed once each hit nothing, and any of them may be kept, except those
        # discarded since their last access.
        warm = np.unique(accesses.ids[:begin])
        if not discards.all():
            # Numbers of the last access, from 1 on, and of accesses before the last discard.
            accessed = np.zeros(accesses.id_count, np.uint64)
            accessed[accesses.ids[:begin]] = np.arange(1, begin + 1, dtype=np.uint64)
            discarded = np.zeros_like(accessed)
            before = accesses.request_begin[accesses.discard_request[~discards]]
            discarded[accesses.discard_block[~discards]] = before
            warm = warm[accessed[warm] > discarded[warm]]
        counted = np.concatenate([warm, counted])
        positions += np.uint64(len(warm))
    found = policies.simulate(
        np.ascontiguousarray(counted),
        accesses.id_count,
        # Space for more than all that is accessed changes nothing, and may be past all numbers.
        [("opt", {}, min(blocks + 1, max(1, accesses.id_count)))],
        progress=progress,
        discards=(positions, accesses.discard_block[discards]),
    )
    return int(found["hits"][0])


def prefix_bound(
    accesses: engine.Accesses,
    blocks: int,
    first: int = 0,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Compute the most lookups of chains that any cache of all tenants can hit.

    Belady's MIN with refusals, on the lookups of single blocks: see `prefix_replay`.

    Parameters
    ----------
    accesses : Accesses
        Lookups are reads, touches are writes.
    blocks, first, progress
        As of `opt_hits`.

    Returns
    -------
    int
        Hits among the lookups of the requests from `first` on.
    """
    if blocks == 0:
        return 0
    is_lookup = accesses.request_op == 0
    ids = np.ascontiguousarray(accesses.ids[is_lookup])
    warm = int(is_lookup[:first].sum())
    # Blocks of the warm-up that hold no space until they are used: each once, then the rest.
    counted = np.concatenate([np.unique(ids[:warm]), ids[warm:]])
    found = policies.simulate(
        counted,
        accesses.id_count,
        [("opt", {"refuse": True}, min(blocks, max(1, accesses.id_count)))],
        progress=progress,
    )
    return int(found["hits"][0])
