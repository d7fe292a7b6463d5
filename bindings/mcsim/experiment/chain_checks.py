"""Checks of experiments on chains, and the systems that do not run on them.

A rule may need inputs that prefix hits do not have. All reasons are in `REFUSED`, by system.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcsim.base.errors import Complaints
from mcsim.config import ExperimentSpec, Source
from mcsim.config.spec import SystemSpec
from mcsim.config.values import Interval
from mcsim.experiment.code import is_class

_WRITES = "its rule reads writes, and a KV cache has none"
_DISK = "its rule reads latencies or requests of a disk, and missed blocks are computed"
_BLOCKS = "its rule counts uses of single blocks, and a block hits only with its prefix"
_PLACES = "it places extents of a disk, and blocks of KV caches have no addresses"

REFUSED: Mapping[str, str] = {
    "vcacheshare": f"{_WRITES}; its reuse intensity counts uses of single blocks",
    "eci-cache": f"{_WRITES}; it chooses a write mode for each VM",
    "dm-writecache": _WRITES,
    "dm-cache": f"{_WRITES}; it promotes single blocks",
    "bcache": f"{_WRITES}; it caches buckets of neighbouring addresses",
    "open-cas": f"{_WRITES}; it caches lines of neighbouring addresses",
    "zfs-arc": f"{_WRITES}; it caches records of neighbouring addresses",
    "slo": _DISK,
    "maxperf": _DISK,
    "cachecow": _DISK,
    "baa": _DISK,
    "ri-shares": _BLOCKS,
    "s-cave": _BLOCKS,
    "cloudcache": _BLOCKS,
    "thin": _BLOCKS,
    "karma": _BLOCKS,
    "hierarchy": "it may have any policy; `mcsim kv --policies` replays policies of prefixes",
    "dss": "its rule reads classes of requests, which chains do not have",
    "remoca": "a block of a lost host leaves later blocks of its chains without a prefix",
    "mixed-caching": "its guests cache blocks of their own in front of the cache",
    "hindsight": "its curve of the whole trace counts uses of single blocks; see clairvoyant",
    "hystor": _PLACES,
    "vfrm": _PLACES,
    "edt": _PLACES,
}
"""Systems that do not run on chains, with the reasons; all others do."""

_FIXED: Mapping[str, tuple[Any, str]] = {
    "policy": ("lru", "prefix hits are exact for LRU; see `mcsim kv --policies` for others"),
    "chain": ("exclusive", "prefix hits are exact for exclusive tiers"),
    "admission": ("none", "a refused block leaves later blocks of its chain without a prefix"),
    "prefetch": ("none", "a prefetched block may have no prefix in the cache"),
    "writes": ("through", "a KV cache has no writes"),
    "legacy": (False, "the authors' code reads addresses, or has another LRU"),
    "block_key": ("aligned", "chains have no addresses"),
    "whole_seconds": (False, "it changes the order of requests"),
}


def check_chains(spec: ExperimentSpec, source: Source) -> None:
    """Check the keys and the systems of an experiment on chains."""
    if spec.workload.chains is None:
        return
    complaints = Complaints()
    workload = spec.workload
    given: dict[tuple[str, ...], bool] = {
        ("workload", "vms"): bool(workload.vms),
        ("workload", "profile"): bool(workload.profiles),
        ("workload", "align"): workload.align != "clock",
        ("workload", "sample"): workload.sample is not None,
        ("workload", "window"): bool(workload.window.start or workload.window.end),
        ("ops",): spec.ops != "reads",
        ("writes",): spec.writes is not None,
        ("hosts",): spec.hosts is not None,
        ("slowdowns",): bool(spec.slowdowns),
        ("warm_up",): not isinstance(spec.warm_up, Interval | None),
    }
    for where, is_given in given.items():
        with complaints.kept():
            if is_given:
                raise source.complain(where, "not of a workload of `chains`")
    for index, tier in enumerate(spec.tiers):
        with complaints.kept():
            if tier.delayed_hits:
                message = "not on chains: a touch would end the fetch of its block"
                raise source.complain(("tiers", index, "delayed_hits"), message)
    with complaints.kept():
        if spec.interval.by_reference:
            raise source.complain(("interval",), "chains have a clock: expected a length of time")
    for index, system in enumerate(spec.systems):
        with complaints.kept():
            _check_system(system, index, source)
    complaints.tell()


def refuse_chains(spec: ExperimentSpec, source: Source, what: str) -> None:
    """Check that a workload has requests for blocks, as `what` needs."""
    if spec.workload.chains is not None:
        raise source.complain(("workload", "chains"), f"{what} does not run on chains")


def _check_system(system: SystemSpec, index: int, source: Source) -> None:
    where = ("systems", index)
    if is_class(system.name):
        raise source.complain(where, "classes of Python do not run on chains")
    if (why := REFUSED.get(system.name)) is not None:
        raise source.complain(where, f"{system.name} does not run on chains: {why}")
    for key, (value, why) in _FIXED.items():
        if system.params.get(key, value) != value:
            raise source.complain((*where, key), f"expected {value} on chains: {why}")
