"""Profiles of synthetic workloads: the schema of their YAML, and its meaning.

A profile lists VMs; a VM has components, each with its own blocks and locality
model, and phases that spread requests over them in time:

    name: two
    vms:
      a:
        components:
          hot: {stack: {curve: [[100, 0.3], [1e4, 0.8]], over: log}, sizes: {4KiB: 3, 64KiB: 1}}
          sweep: {loop: {blocks: 1e6}, sizes: 64KiB}
        phases:
          - {duration: 2h, requests: 1e5, read_share: 0.9, reads: {hot: 3, sweep: 1}, writes: hot}
          - {duration: 22h, rate: 5 per s, reads: hot, diurnal: {amplitude: 0.5, peak: 14h},
             bursts: {period: 6h, length: 3min, share: 0.3, reads: sweep}}

A VM may instead have one client that waits for each response, thinks, and sends the next request.
The response time is that of a reference system, a cache of the VM's own. In an experiment with one
cache part for each VM, it is that part. The requests and their response times are therefore those
of a trace recorded there, and the same for all systems.

      c:
        client: {cache_blocks: 1GiB, hit: 25us, miss: 6.5ms, write: 6.5ms}
        components:
          hot: {zipf: {blocks: 1e6, alpha: 0.9}}
        phases:
          - {duration: 1h, think: 2ms, read_share: 0.7, reads: hot, writes: hot}
          - {duration: 1h, think: 50ms, reads: hot}
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from mcsim._core import synthetic as core
from mcsim.base import units
from mcsim.base.errors import ConfigError
from mcsim.base.limits import memory_limit
from mcsim.config.load import Location, Source, check
from mcsim.config.values import BlockBytes, Blocks, Share

_LATEST = 2**63 - 1
"""The largest number of the core."""


def _number(value: object, wanted: str) -> float:
    try:
        if not isinstance(value, bool) and isinstance(value, (int, float)) and isfinite(value):
            return float(value)
    except OverflowError:  # an integer that no double holds
        pass
    raise ValueError(f"expected {wanted}, got {value!r}")


def _read_weights(value: object, wanted: str) -> list[tuple[str, float]]:
    """Read a map from name to weight; a name alone stands for all the weight."""
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return [(str(value), 1.0)]
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"expected {wanted}, got {value!r}")
    return [(str(key), _number(weight, f"a weight for {key}")) for key, weight in value.items()]


def _read_sizes(value: object) -> list[tuple[int, float]]:
    weights = _read_weights(value, "a size such as 4KiB, or weights such as {4KiB: 3, 64KiB: 1}")
    sizes = [(units.parse_bytes(size), weight) for size, weight in weights]
    for size, _ in sizes:
        if not 1 <= size < 2**32:
            raise ValueError(f"expected sizes from 1 byte to 4 GiB, got {size} bytes")
    return sizes


def _read_shares(value: object) -> list[tuple[str, float]]:
    return _read_weights(value, "a component, or weights such as {hot: 3, sweep: 1}")


def _read_curve(value: object) -> list[tuple[int, float]]:
    wanted = "points such as [[1000, 0.2], [1e6, 0.5]]"
    if not isinstance(value, list) or not value:
        raise ValueError(f"expected {wanted}, got {value!r}")
    points = []
    for point in value:
        if not isinstance(point, list) or len(point) != 2:
            raise ValueError(f"expected {wanted}, got the point {point!r}")
        points.append((units.parse_count(point[0]), _number(point[1], "a hit ratio")))
    return points


def _read_rate(value: object) -> Fraction:
    """Read `5 per s` or `300 per h` as requests per nanosecond."""
    wanted = "a rate such as '5 per s'"
    number, separator, unit = str(value).partition(" per ")
    try:
        if not separator:
            raise ValueError
        return units.parse_fraction(number, wanted) / units.parse_duration(f"1{unit.strip()}")
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"expected {wanted}, got {value!r}") from None


Duration = Annotated[int, BeforeValidator(units.parse_duration)]
Number = Annotated[int, BeforeValidator(units.parse_count)]
Sizes = Annotated[list[tuple[int, float]], BeforeValidator(_read_sizes)]
Shares = Annotated[list[tuple[str, float]], BeforeValidator(_read_shares)]
Curve = Annotated[list[tuple[int, float]], BeforeValidator(_read_curve)]
Rate = Annotated[Fraction, BeforeValidator(_read_rate)]


class _Map(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class StackSpec(_Map):
    """An LRU stack: every access draws its reuse distance from a hit-ratio curve."""

    curve: Curve
    """Points (blocks, hit ratio), both rising; (0, 0) comes before the first."""
    over: Literal["linear", "log"] = "linear"
    """Lines between points: straight, or straight over the logarithm of blocks."""


class ZipfSpec(_Map):
    """A fixed set of blocks, the k-th most popular drawn in proportion to k^-alpha."""

    blocks: Blocks
    alpha: float


class LoopSpec(_Map):
    """A fixed set of blocks in order, again and again."""

    blocks: Blocks


class ScanSpec(_Map):
    """Blocks never seen before."""


class ComponentSpec(_Map):
    """Blocks of their own with one locality model: give exactly one."""

    stack: StackSpec | None = None
    zipf: ZipfSpec | None = None
    loop: LoopSpec | None = None
    scan: ScanSpec | None = None
    sizes: Sizes = [(4096, 1.0)]
    """Request sizes and their weights; a size is drawn when blocks are first requested."""
    of_class: int | None = Field(
        default=None, alias="class", ge=0, le=7, strict=True, exclude_if=lambda said: said is None
    )
    """Class of its requests, from 0, which matters most, to 7: all components of a profile have
    one, or none has."""

    @model_validator(mode="after")
    def _one_model(self) -> ComponentSpec:
        given = [name for name in _MODELS if getattr(self, name) is not None]
        if len(given) != 1:
            wanted = ", ".join(_MODELS)
            raise ValueError(
                f"expected exactly one of {wanted}; got {' and '.join(given) or 'none'}"
            )
        return self


class DiurnalSpec(_Map):
    """The rate follows the time of day."""

    amplitude: Share
    """The rate outside bursts is 1 + amplitude·cos(2π(t - peak)/24h) times its mean."""
    peak: Duration
    """Counted, like t, from the start of the trace."""


class BurstSpec(_Map):
    """One window in every period takes its part of a share of the requests."""

    period: Duration
    length: Duration
    share: Share
    reads: Shares = []
    """Instead of the phase's, inside the windows."""
    writes: Shares = []


class ClientSpec(_Map):
    """One client, that waits for each response: how long one takes, in a cache of its VM's own."""

    cache_blocks: Blocks
    """An LRU cache, which all blocks enter that are read or written."""
    hit: Duration
    """A read that finds all its blocks in the cache takes so long."""
    miss: Duration
    """Any other."""
    write: Duration


class PhaseSpec(_Map):
    """A stretch of time; give `requests` or `rate`, or `think` if the VM has a client."""

    start: Duration | None = None
    """By default the end of the phase before."""
    duration: Duration
    requests: Number | None = None
    rate: Rate | None = None
    think: Duration | None = None
    """So long after each response the client sends the next request."""
    read_share: Share = 1.0
    reads: Shares = []
    writes: Shares = []
    diurnal: DiurnalSpec | None = None
    bursts: BurstSpec | None = None

    @model_validator(mode="after")
    def _one_amount(self) -> PhaseSpec:
        if sum(given is not None for given in (self.requests, self.rate, self.think)) != 1:
            raise ValueError("expected either 'requests' or 'rate', or of a client 'think'")
        return self

    @property
    def request_count(self) -> int:
        """How many requests are declared to arrive in the phase; those of a client are not."""
        if self.requests is not None:
            return self.requests
        return 0 if self.rate is None else min(_LATEST, round(self.rate * self.duration))


class SyntheticVmSpec(_Map):
    """One VM."""

    requests: Number | None = None
    """If given, what the phases' requests must sum up to."""
    client: ClientSpec | None = None
    """If given, all requests are those of this client, and every phase has a think time."""
    components: dict[str, ComponentSpec] = Field(min_length=1)
    phases: list[PhaseSpec] = Field(min_length=1)


class SyntheticProfile(_Map):
    """A synthetic workload."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", strict=True, max_length=100)
    description: str = ""
    block_bytes: BlockBytes = 4096
    seed: int = Field(default=0, ge=0, lt=2**64, strict=True)
    vms: dict[str, SyntheticVmSpec] = Field(min_length=1)


_MODELS: dict[str, Callable[[Any], Any]] = {
    "stack": lambda spec: core.StackModel(curve=spec.curve, log=spec.over == "log"),
    "zipf": lambda spec: core.ZipfModel(blocks=spec.blocks, alpha=spec.alpha),
    "loop": lambda spec: core.LoopModel(blocks=spec.blocks),
    "scan": lambda spec: core.ScanModel(),
}


def read_profile(path: str | os.PathLike[str]) -> SyntheticProfile:
    """Read and validate a profile.

    Raises
    ------
    ConfigError
        If it cannot be read or is wrong; the message names file and line.
    """
    source = Source.read(path)
    profile = check(source, SyntheticProfile)
    for where, judge in _checks(profile):
        try:
            judge()
        except ConfigError as error:
            raise source.complain(("vms", *where), str(error)) from None
    return profile


def _checks(profile: SyntheticProfile) -> Iterator[tuple[Location, Callable[[], None]]]:
    """Yield the validation of each part by the core, with the location of the part in `vms`."""
    for name, spec in profile.vms.items():
        components = _components_of(spec)
        for component_name, component in zip(spec.components, components, strict=True):
            yield (name, "components", component_name), component.validate
            needed = partial(_check_memory, component, profile.block_bytes)
            yield (name, "components", component_name), needed
        client = _client_of(spec)
        if client is not None:
            yield (name, "client"), client.validate
        phases = _phases_of(spec)
        for index, phase in enumerate(phases):
            yield (name, "phases", index), partial(phase.validate, list(spec.components), client)
        vm = core.Vm(name=name, components=components, phases=phases, client=client)
        yield (name,), vm.validate
        yield (name, "requests"), partial(_check_total, spec)
    said = [of.of_class for vm in profile.vms.values() for of in vm.components.values()]
    for name, spec in profile.vms.items() if any(of is not None for of in said) else ():
        for component_name, of in spec.components.items():
            yield (name, "components", component_name), partial(_check_class, of)
    yield (), partial(core.validate, vms_of(profile))


def _check_total(spec: SyntheticVmSpec) -> None:
    if spec.requests is not None and spec.client is not None:
        raise ConfigError("how many a client sends shows as they are made: leave it out")
    total = sum(phase.request_count for phase in spec.phases)
    if spec.requests not in (None, total):
        raise ConfigError(f"expected {spec.requests:,} requests, and the phases have {total:,}")


def _check_memory(component: core.Component, block_bytes: int) -> None:
    needed = component.bytes_needed(block_bytes)
    there = memory_limit()
    if needed > there:
        sizes = f"{units.format_size(needed)} of memory, and this machine has"
        raise ConfigError(f"its blocks need {sizes} {units.format_size(there)}: give fewer blocks")


def _check_class(spec: ComponentSpec) -> None:
    if spec.of_class is None:
        raise ConfigError("expected a `class` from 0 to 7, as other components have one")


def vms_of(profile: SyntheticProfile) -> list[core.Vm]:
    """Convert the VMs to those of the core."""
    return [
        core.Vm(
            name=name,
            components=_components_of(spec),
            phases=_phases_of(spec),
            client=_client_of(spec),
        )
        for name, spec in profile.vms.items()
    ]


def _client_of(spec: SyntheticVmSpec) -> core.Client | None:
    return core.Client(**dict(spec.client)) if spec.client else None


def _components_of(spec: SyntheticVmSpec) -> list[core.Component]:
    return [_component_of(name, component) for name, component in spec.components.items()]


def _phases_of(spec: SyntheticVmSpec) -> list[core.Phase]:
    phases = []
    end = 0
    for phase in spec.phases:
        # The core refuses a start that is too late for any trace.
        start = min(_LATEST, end if phase.start is None else phase.start)
        phases.append(_phase_of(phase, start))
        end = start + phase.duration
    return phases


def _component_of(name: str, spec: ComponentSpec) -> core.Component:
    kind = next(kind for kind in _MODELS if getattr(spec, kind) is not None)
    model = _MODELS[kind](getattr(spec, kind))
    return core.Component(name=name, model=model, sizes=spec.sizes, of_class=spec.of_class)


def _phase_of(spec: PhaseSpec, start: int) -> core.Phase:
    diurnal = core.Diurnal(**dict(spec.diurnal)) if spec.diurnal else None
    bursts = core.Bursts(**dict(spec.bursts)) if spec.bursts else None
    return core.Phase(
        start=start,
        duration=spec.duration,
        requests=spec.request_count,
        think=spec.think,
        read_share=spec.read_share,
        reads=spec.reads,
        writes=spec.writes,
        diurnal=diurnal,
        bursts=bursts,
    )
