"""The warm-up of references: requests that fill caches and are not counted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mcsim._core import engine
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.suggest import did_you_mean
from mcsim.references.pieces import length_of_time
from mcsim.references.workload import Workload, WorkloadVm
from mcsim.traces.batches import Ops
from mcsim.traces.joined import check_alike

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcsim.references.blocks import Blocks


def warmed_up(workload: Workload, vms: Sequence[WorkloadVm], ops: Ops) -> Workload:
    """Return a workload with the requests of a warm-up before its own.

    They end one ns, or one reference, before the workload begins. VMs go by their names; one VM
    warms up for one, whatever their names.

    Raises
    ------
    ConfigError
        If the workload has no VM of a name, no request is left, or kinds or clocks differ.
    """
    check_alike([vm.trace for vm in (*vms, *workload.vms)])
    names = [vm.name for vm in workload.vms]
    if len(vms) == len(names) == 1:
        vms = [replace(vms[0], name=names[0])]
    for vm in vms:
        if vm.name not in names:
            found = did_you_mean(vm.name, names)
            raise ConfigError(f"warm_up: {vm.name!r} is no VM of the trace{found}")
    if all(vm.span(ops) is None for vm in vms):
        raise ConfigError(f"warm_up: no request of it is left (ops: {ops})")
    begins = [within[0] for vm in workload.vms if (within := vm.times_within()) is not None]
    ends = [within[1] for vm in vms if (within := vm.times_within()) is not None]
    shift = min(begins, default=0) - 1 - max(ends)
    return replace(workload, warm_up={vm.name: vm.shifted(shift) for vm in vms})


def first_counted(accesses: engine.Accesses, length: str | None) -> int:
    """Return the position of the first request after the warm-up.

    Parameters
    ----------
    length : str, optional
        How long after the first request, such as ``'1h'``, or ``'50000 references'`` without a
        clock. If not given, the warm-up is that of the workload.

    Raises
    ------
    ConfigError
        If it is no such length, or no request comes later.
    """
    if length is None:
        return accesses.warm_up
    with mistakes_in("warm_up"):
        after = length_of_time(length, has_clock=accesses.time_base == "clock")
    times = accesses.request_time
    first = int(np.searchsorted(times, int(times[0]) + after))
    if first == len(times):
        raise ConfigError(f"warm_up: the trace ends before {length} are over")
    return first


def check_no_warm_up(blocks: Blocks, what: str) -> None:
    """Check that there is no warm-up, which `what` does not support."""
    if blocks.first_counted:
        raise ConfigError(
            f"references: these blocks have a warm-up, and {what} does not support one"
        )
