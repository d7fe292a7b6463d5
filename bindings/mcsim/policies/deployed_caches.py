"""Deployed caches in place of eviction policies: systems that are replayed at each size."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim._core import engine, locality
from mcsim.base.deployed import RULES
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.specs import parse_spec
from mcsim.base.threads import Pool, Stopped, threads_given
from mcsim.base.units import format_bytes
from mcsim.policies import BOUND_OF_SIZES
from mcsim.policies.specs import DeployedSpec, parse_policies

if TYPE_CHECKING:
    from mcsim.locality.curve import HitRatioCurve
    from mcsim.policies.caches import Caches
    from mcsim.references.blocks import Blocks

_ENTRY_BYTES = {"open-cas": 57}
_OTHER_ENTRY_BYTES, _BLOCK_BYTES = 32, 8
"""Memory of a cache block, and of a block of the trace, at most."""

_REPLAYS = 25
_LEAST_UNITS = {"dm-cache": 1, "dm-writecache": 2, "bcache": 513, "open-cas": 1, "zfs-arc": 1}
_LEAST_BYTES = {"open-cas": 40 << 20}
"""The least size of a device that keeps metadata."""
_UNITS = {
    "dm-cache": ("cache block", "block_kib"),
    "bcache": ("bucket", "bucket_kib"),
    "open-cas": ("cache line", "line_kib"),
    "zfs-arc": ("record", "record_kib"),
}


def system_of(spec: DeployedSpec, capacity: int) -> engine.System:
    """Make the system with a device of `capacity` blocks of the trace."""
    devices = engine.Device("cache", 1, 1, 0), engine.Device("origin", 1, 1, 0)
    machine = engine.Machine([(devices[0], capacity)], devices[1])
    return engine.System(spec.name, spec.declared(), machine)


def deployed_given(text: str) -> DeployedSpec:
    """Read the name of one deployed cache with its parameters.

    Raises
    ------
    ConfigError
        If it is not one.
    """
    return DeployedSpec(*parse_spec(text, "deployed cache", list(RULES)))


def unit_bytes(spec: DeployedSpec) -> int:
    """Return the unit of space: a cache block or a bucket; 4 KiB without one."""
    if spec.name not in _UNITS:
        return 4096
    return int(_parameter(spec, _UNITS[spec.name][1])) << 10


def _parameter(spec: DeployedSpec, key: str) -> Any:
    (entry,) = (one for one in engine.describe_systems() if one["name"] == spec.name)
    default = next(param["default"] for param in entry["params"] if param["name"] == key)
    return spec.declared().get(key, default)


def least_bytes(spec: DeployedSpec) -> int:
    """Return the least size of its device."""
    if _has_metadata(spec):
        return _LEAST_BYTES[spec.name]
    least = _LEAST_UNITS.get(spec.name, 1) * unit_bytes(spec)
    if spec.name != "zfs-arc":
        return least
    kept = _parameter(spec, "metadata_bytes") + _parameter(spec, "other_bytes")
    return int(least + kept) + (int(_parameter(spec, "overflow_kib")) << 10)


def unit_note(spec: DeployedSpec) -> str:
    """Return the unit of space, and how sizes are rounded."""
    if spec.name not in _UNITS:
        return f"{spec}: the size is that of the device, a part of which is metadata"
    unit = f"{_UNITS[spec.name][0]}s of {format_bytes(unit_bytes(spec))}"
    if _has_metadata(spec):
        return f"{spec}: {unit}; 35 MiB and about 1 % of a device are metadata"
    return f"{spec}: {unit}; a size is rounded down to whole ones"


def _has_metadata(spec: DeployedSpec) -> bool:
    return spec.name in _LEAST_BYTES and bool(spec.declared().get("metadata", True))


def sizes_to_replay(blocks: Blocks, spec: DeployedSpec, requested: Sequence[int] = ()) -> list[int]:
    """Return sizes in equal ratios up to twice the accessed space, and those requested.

    Parameters
    ----------
    blocks : Blocks
        The requests.
    spec : DeployedSpec
        The cache. Sizes below its least one are left out.
    requested : sequence of int
        Other sizes, in blocks.

    Raises
    ------
    ConfigError
        If the cache cannot serve these requests.
    """
    replayable(blocks, spec)
    unit = -(-unit_bytes(spec) // blocks.block_bytes) if spec.name in _UNITS else 1
    least = max(_LEAST_UNITS[spec.name], -(-least_bytes(spec) // (unit * blocks.block_bytes)))
    accessed = _interned(system_of(spec, least * unit), blocks).id_count
    units = np.geomspace(least, max(2 * least, -(-2 * accessed // unit)), _REPLAYS)
    sizes = (units.round().astype(np.int64) * unit).tolist()
    return sorted({*sizes, *(size for size in requested if size >= least * unit)})


def replayed_curve(
    blocks: Blocks, spec: DeployedSpec, sizes: Sequence[int] = (), *, threads: int | None = None
) -> HitRatioCurve:
    """Return the hits of a deployed cache over its size, by replays at some sizes.

    Parameters
    ----------
    blocks : Blocks
        The requests.
    spec : DeployedSpec
        The cache.
    sizes : sequence of int
        Increasing sizes in blocks; those of `sizes_to_replay` by default.
    threads : int, optional
        Caches at a time; all cores if not given.

    Returns
    -------
    HitRatioCurve
        Hits at these sizes. A size has at least the hits of smaller ones.

    Raises
    ------
    ConfigError
        As of `sizes_to_replay`.
    """
    return replayed_curves(blocks, spec, sizes, threads=threads)[""]


def replayed_curves(
    blocks: Blocks, spec: DeployedSpec, sizes: Sequence[int] = (), *, threads: int | None = None
) -> dict[str, HitRatioCurve]:
    """Return the hits of each VM in a shared deployed cache, and of all VMs under ''.

    Parameters
    ----------
    blocks, spec, sizes, threads
        As of `replayed_curve`.

    Raises
    ------
    ConfigError
        As of `sizes_to_replay`.
    """
    sizes = list(sizes) or sizes_to_replay(blocks, spec)
    with Pool(min(threads_given(threads), len(sizes))) as pool:
        check = partial(check_pool, pool)
        pending = [pool.submit(run, spec, size, blocks, check) for size in sizes]
    results = [one.result() for one in pending]
    hits = np.array([result.tiers["hits"].sum(axis=(0, 2)) for result in results])
    accesses = results[0].vms["accesses"].sum(axis=0)

    from mcsim.locality.curve import HitRatioCurve  # takes time that few commands need

    def curve(which: NDArray[np.int64], distinct: int) -> HitRatioCurve:
        return HitRatioCurve(
            np.array(sizes, np.int64),
            np.maximum.accumulate(hits[:, which].sum(axis=1)).astype(np.float64),
            accesses=int(accesses[which].sum()),
            distinct=float(distinct),
            estimator=str(spec),
            note=f"replayed at {len(sizes)} sizes; between two it is that of the smaller. "
            + unit_note(spec),
            block_bytes=blocks.capacity_unit,
        )

    vms = blocks.accesses.vms
    curves = {vm.name: curve(np.array([number]), vm.unique_blocks) for number, vm in enumerate(vms)}
    return curves | {"": curve(np.arange(len(vms)), blocks.unique)}


def unit_notes(policies: Iterable[str]) -> list[str]:
    """Return a sentence on the unit of each deployed cache."""
    deployed = [policy for policy in policies if policy.partition("(")[0] in RULES]
    specs = parse_policies(",".join(deployed), deployed=True)
    return [unit_note(spec) for spec in specs if isinstance(spec, DeployedSpec)]


def no_deployed(caches: Caches, what: str) -> None:
    """Check that no cache is a deployed one, which `what` cannot replace.

    Raises
    ------
    ConfigError
        If one is.
    """
    for spec in caches.specs:
        if isinstance(spec, DeployedSpec):
            raise ConfigError(f"policies: {spec} is a deployed cache, not for {what}")


def with_deployed(
    caches: Caches,
    found: dict[str, NDArray[Any]],
    threads: int,
    progress: Callable[[int], object] | None,
) -> dict[str, NDArray[Any]]:
    """Return the counts of all caches, given those of policies; deployed caches are replayed."""
    chosen = _deployed_among(caches)
    if not chosen:
        return found
    blocks = replayable(caches.source, next(iter(chosen.values()))[0])
    rows = _spread(found, chosen)
    done = (len(rows["hits"]) - len(chosen)) * len(blocks)
    with Pool(min(threads, len(chosen))) as pool:
        pending = {place: pool.submit(_replayed, *of, blocks, pool) for place, of in chosen.items()}
        for place, one in pending.items():
            try:
                counts = one.result()
            except Stopped:
                break  # the pool raises the error of the cache that failed
            for name, count in counts.items():
                rows[name][place] = count
            done += len(blocks)
            if progress is not None:
                progress(done)
    return rows | memory_with_deployed(caches, {"bytes": found["bytes"]})


def memory_with_deployed(caches: Caches, found: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the memory of all caches, given that of policies."""
    chosen = _deployed_among(caches)
    rows = _spread(found, chosen)
    for place, (spec, size) in chosen.items():
        rows["bytes"][place] = memory_bytes(spec, size, caches.unique)
    return rows


def memory_bytes(spec: DeployedSpec, size: int, unique: int) -> int:
    """Return the memory of a cache of `size` blocks, for a trace with so many distinct ones."""
    entry = _ENTRY_BYTES.get(spec.name, _OTHER_ENTRY_BYTES)
    return entry * size + _BLOCK_BYTES * unique


def _deployed_among(caches: Caches) -> dict[int, tuple[DeployedSpec, int]]:
    """Return the deployed caches with their sizes, by position among all caches but bounds."""
    every = [
        (spec, size)
        for spec in caches.specs
        for size in caches.capacities
        if spec.policy != BOUND_OF_SIZES
    ]
    return {
        place: (spec, size)
        for place, (spec, size) in enumerate(every)
        if isinstance(spec, DeployedSpec)
    }


def _spread(found: dict[str, NDArray[Any]], places: Collection[int]) -> dict[str, NDArray[Any]]:
    """Return columns with rows of zeros inserted at these positions."""
    rows = {}
    for name, column in found.items():
        is_given = np.ones(len(column) + len(places), np.bool_)
        is_given[list(places)] = False
        rows[name] = np.zeros(len(is_given), column.dtype)
        rows[name][is_given] = column
    return rows


def replayable(blocks: Blocks | None, spec: object) -> Blocks:
    """Check that references are whole requests to blocks, which deployed caches serve."""
    if blocks is None:
        raise ConfigError(f"{spec}: needs the requests of a trace; an array has only blocks")
    if blocks.kind == "objects":
        raise ConfigError(f"{spec}: an object trace has no addresses, which it needs")
    if not blocks.is_whole:
        raise ConfigError(f"{spec}: these blocks are a part of others, and it serves requests")
    return blocks


def _interned(system: engine.System, blocks: Blocks) -> engine.Accesses:
    """Return the accesses as the system sees them."""
    ops = "reads" if blocks.ops_kept == "reads" else "all"
    has_lengths = not blocks.workload.without_lengths()
    view = system.view(block_bytes=blocks.block_bytes, ops=ops, bytes=has_lengths)
    return blocks.workload.intern(view)


def run(
    spec: DeployedSpec, capacity: int, blocks: Blocks, check: Callable[[int], object]
) -> engine.RunResult:
    """Replay all requests; those of the warm-up are not counted."""
    with mistakes_in(str(spec)):
        system = system_of(spec, capacity)
        accesses = _interned(system, blocks)
        cuts = np.array([blocks.first_counted, accesses.request_count], dtype=np.int64)
        return engine.run(accesses, system, locality.Characterised(), cuts, check)


def check_pool(pool: Pool, _: int) -> None:
    """Check whether the other caches go on."""
    pool.check()


def _replayed(spec: DeployedSpec, capacity: int, blocks: Blocks, pool: Pool) -> dict[str, float]:
    """Return the counts of a cache, with the names of the core's `simulate`."""
    begun = time.thread_time()
    result = run(spec, capacity, blocks, partial(check_pool, pool))
    vms = {name: int(counts.sum()) for name, counts in result.vms.items()}
    tier = {name: int(counts.sum()) for name, counts in result.tiers.items()}
    return {
        "accesses": vms["accesses"],
        "hits": tier["hits"],
        "requests": vms["requests"],
        "request_hits": vms["request_hits"],
        "request_bytes": vms["bytes"],
        "byte_hits": vms["byte_hits"],
        "writes": vms["writes"],
        "write_hits": tier["write_hits"],
        "evictions": tier["evictions"],
        "seconds": time.thread_time() - begun,
    }
