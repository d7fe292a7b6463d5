"""Tuning of deployed caches: one size under every combination of their settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from mcsim._core import engine
from mcsim.base.arguments import list_of
from mcsim.base.deployed import RULES, SETTINGS
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.sizes import parse_capacity
from mcsim.base.specs import ParamValue
from mcsim.base.threads import Pool
from mcsim.config.devices import Device
from mcsim.config.latency import ServiceTimes, WriteMode
from mcsim.policies.deployed_caches import (
    check_pool,
    least_bytes,
    memory_bytes,
    replayable,
    run,
    unit_bytes,
)
from mcsim.policies.grid import modes_given
from mcsim.policies.scaled import ESTIMATES, Objective, ranked
from mcsim.policies.specs import DeployedSpec, parse_policies
from mcsim.references.blocks import Blocks, References
from mcsim.references.given import traces_in
from mcsim.tables.result_table import ResultTable

BLOCK_BYTES = 4096


def deployed_in(policies: str | Sequence[str]) -> list[DeployedSpec]:
    """Return deployed caches given in place of policies; none if all are policies.

    Raises
    ------
    ConfigError
        If some are deployed caches and others are not.
    """
    texts = [policies] if isinstance(policies, str) else list_of("policies", policies, "names")
    if not any(name in text for text in texts if isinstance(text, str) for name in RULES):
        return []
    with mistakes_in("policies"):
        specs = [spec for text in texts for spec in parse_policies(text, deployed=True)]
    deployed = [spec for spec in specs if isinstance(spec, DeployedSpec)]
    if deployed and len(deployed) < len(specs):
        other = next(spec for spec in specs if not isinstance(spec, DeployedSpec))
        raise ConfigError(
            f"policies: {deployed[0]} is a deployed cache, which has settings of its own, and "
            f"{other} is a policy: tune one kind at a time"
        )
    return deployed


def settings_of(
    specs: Sequence[DeployedSpec], writes: Sequence[WriteMode], rate: float
) -> list[DeployedSpec]:
    """Return the caches with every combination of the settings that they do not state.

    Parameters
    ----------
    specs : sequence of DeployedSpec
        The caches.
    writes : sequence of str
        Write modes to try, of those that a cache has.
    rate : float
        Sampling rate, which must be 1.

    Raises
    ------
    ConfigError
        If no cache has one of these modes, or requests are to be sampled.
    """
    writes = modes_given(writes)
    if rate < 1:
        raise ConfigError(f"rate: {specs[0]} is a deployed cache, which is replayed whole")
    found = {}
    for spec in specs:
        axes = [
            [{}, *axis[1:]]  # the first has the defaults
            for axis in SETTINGS.get(spec.name, ())
            if spec.params.keys().isdisjoint(key for setting in axis for key in setting)
        ]
        for chosen in product(*axes):
            values = {key: str(of) for setting in chosen for key, of in setting.items()}
            each = DeployedSpec(spec.name, {**spec.params, **values})
            if "writes" in spec.params or write_mode(each) in writes:
                found[str(each)] = each
    if not found:
        raise ConfigError(f"writes: {', '.join(map(str, specs))}: none of {', '.join(writes)}")
    return list(found.values())


def write_mode(spec: DeployedSpec) -> str:
    """Return the write mode of a cache; those without a choice write back."""
    (entry,) = (one for one in engine.describe_systems() if one["name"] == spec.name)
    defaults = {param["name"]: param["default"] for param in entry["params"]}
    return str(spec.params.get("writes", defaults.get("writes", "back")))


def tune_deployed(
    references: References,
    size: int | float | str,
    specs: Sequence[DeployedSpec],
    objective: Objective,
    devices: tuple[Device, Device],
    threads: int,
    progress: Callable[[int], object] | None,
) -> ResultTable:
    """Replay deployed caches of one size; the table is that of `tune`.

    Parameters
    ----------
    references : Trace, sequence of Trace or Blocks
        Requests, which are not cut.
    size : int, float or str
        Size of the device, in blocks of 4 KiB if it has no unit.
    specs : sequence of DeployedSpec
        The caches. Those that need a larger device are left out.
    objective : {'hit-ratio', 'latency', 'device-writes', 'backend-writes'}
        Sort key of the rows.
    devices : tuple of Device
        The cache and the backend.
    threads : int
        Caches at a time.
    progress : callable, optional
        ``progress(caches_done)``.

    Raises
    ------
    ConfigError
        If a cache cannot serve these requests.
    """
    if isinstance(references, Blocks):
        blocks: Blocks | None = references
    else:
        traces = traces_in(references)
        blocks = None if traces is None else Blocks.of(traces, "all", BLOCK_BYTES)
    blocks = replayable(blocks, specs[0])
    with mistakes_in("size"):
        capacity = parse_capacity(size, blocks.unique, blocks.block_bytes)
    of_size = capacity * blocks.block_bytes
    specs = [spec for spec in specs if least_bytes(spec) <= of_size] or specs[:1]
    with Pool(min(threads, len(specs))) as pool:
        check = partial(check_pool, pool)
        pending = [pool.submit(run, spec, capacity, blocks, check) for spec in specs]
        rows = []
        for spec, one in zip(specs, pending, strict=True):
            rows.append(_row(spec, capacity, blocks, one.result(), devices))
            if progress is not None:
                progress(len(rows))
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    for name in ESTIMATES:
        columns[f"{name}_margin"] = np.zeros(len(rows))
    return ranked(columns, objective)


def _row(
    spec: DeployedSpec,
    capacity: int,
    blocks: Blocks,
    result: engine.RunResult,
    devices: tuple[Device, Device],
) -> dict[str, ParamValue]:
    """Return the values of a row of `tune`, of requests that were not cut."""
    tier = {name: int(counts.sum()) for name, counts in result.tiers.items()}
    vms = {name: int(counts.sum()) for name, counts in result.vms.items()}
    reads, missed = tier["read_requests"] + vms["read_requests"], vms["read_requests"]
    writes, lost = tier["write_requests"] + vms["write_requests"], vms["write_requests"]
    times = ServiceTimes.of((of.read_ns.middle, of.write_ns.middle) for of in devices)
    ns = float(times.waited_ns([reads - missed, missed], [writes - lost, lost]))
    written = sum(tier[name] for name in ("fills", "promotions", "demotions", "updates"))
    unit, block = unit_bytes(spec), blocks.block_bytes
    return {
        "policy": str(spec),
        "writes": write_mode(spec),
        "block": unit,
        "sub_block": unit,
        "hit_ratio": 1 - missed / reads if reads else 0.0,
        "latency_ns": ns / max(reads + writes, 1),
        "device_writes": float(written * block),
        "backend_reads": float(vms["backend_reads"] * block),
        "backend_writes": float(vms["backend_writes"] * block),
        "no_band": "",
        "dirty": float(result.vms["dirty"][-1].sum() * block),
        "rate": 1.0,
        "correction": "exact",
        "bytes": memory_bytes(spec, capacity, blocks.unique),
    }
