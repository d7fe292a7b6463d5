"""From a configuration to what can run: devices, systems and optimisers resolved.

`Experiment.load` is where every mistake is found before anything long starts:
the schema is checked first, then names of devices, systems and optimisers, then
their parameters, by building each once. Defaults are filled in: `Experiment.spec` is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mcsim.base.arguments import list_of
from mcsim.base.errors import Complaints, ConfigError
from mcsim.base.inputs import read_regular
from mcsim.base.package import file_named
from mcsim.base.sizes import is_in_bytes, is_share, parse_capacity
from mcsim.config import ExperimentSpec, Source, check_spec
from mcsim.config.device_choice import spec_of_device
from mcsim.config.extends import extended
from mcsim.config.load import Location, to_plain
from mcsim.config.placed import DeviceSpec, PlacedSpec, TierSpec
from mcsim.config.stored_keys import with_earlier_keys
from mcsim.config.values import Interval
from mcsim.experiment.cache_dumps import dump_checksum, start_from_dump
from mcsim.experiment.chain_checks import check_chains
from mcsim.experiment.checks import CHECKS, check_interval, check_named_vms, check_prices
from mcsim.experiment.code import (
    AllowCode,
    Code,
    Permission,
    is_class,
    python_policies,
    with_classes_named,
)
from mcsim.experiment.components import Components, check_prefetch, policy_of
from mcsim.experiment.states import check_savable, check_start, state_checksums

if TYPE_CHECKING:
    from mcsim._core import engine
    from mcsim.references.workload import Workload

_Placed = TypeVar("_Placed", bound=PlacedSpec)

# Types of an experiment.
Given = str | os.PathLike[str] | Mapping[str, Any] | ExperimentSpec


@dataclass(frozen=True)
class Experiment:
    """A checked experiment.

    Attributes
    ----------
    spec : ExperimentSpec
        The experiment with every default written out.
    source : Source
        Where each of its values was written.
    code : Code
        The classes and libraries that it names.
    given : mapping
        The experiment as it was given, as plain values.
    shares : mapping of int to str or float
        By tier, capacities such as ``'10%'`` of the workload's distinct blocks: until `sized`
        the spec has others in their place.
    """

    spec: ExperimentSpec
    source: Source
    code: Code
    given: Mapping[str, Any]
    shares: Mapping[int, float | str] = field(default_factory=dict)

    @classmethod
    def load(
        cls, given: Given, overrides: Iterable[str] = (), *, allow_code: AllowCode = False
    ) -> Experiment:
        """Read, override and check an experiment.

        Parameters
        ----------
        given : path, mapping or ExperimentSpec
            A YAML file, or its content. Relative paths in it are relative to
            the file's folder, or to the working directory.
        overrides : iterable of str
            `key=value` as of `--set`.
        allow_code : bool or iterable of str
            Whether classes and libraries in the experiment's folder may be used, or which,
            wherever they are. Those of an experiment that mcsim has are in the working directory.
            See `mcsim.experiment.code`.

        Raises
        ------
        ConfigError
            All independent mistakes, each with its line.
        """
        source, handed = source_of(given, overrides)
        if "sweep" in source.root:
            raise source.complain(
                ("sweep",), "a grid of runs: `mcsim sweep` runs it (in Python: mcsim.sweep)"
            )
        if "search" in source.root:
            raise source.complain(
                ("search",), "of a search: `mcsim search` takes it (in Python: mcsim.search)"
            )
        return cls.of(source, Code(source.code_folder, Permission.of(allow_code), handed))

    @classmethod
    def of(cls, source: Source, code: Code) -> Experiment:
        """Check an experiment that was read; its classes and libraries are found in `code`.

        Raises
        ------
        ConfigError
            As of `load`.
        """
        given = to_plain(source.root)
        shares = _take_shares(source)
        spec = check_spec(source)
        check_chains(spec, source)
        complaints = Complaints()
        for check in CHECKS:
            with complaints.kept():
                check(spec, source)
        with complaints.kept():
            _load_plugins(spec, source, code)
            spec = _resolve_devices(spec, source)
            check_prices(spec, source)
            spec = _resolve_systems(spec, source, code, complaints)
        complaints.tell()
        experiment = cls(spec, source, code, given, shares)
        if spec.starts_filled:
            check_start(spec, source)
        if spec.saved_states is not None:
            experiment.check_savable()
        if spec.cache_dump is not None:
            for index in range(len(spec.systems)):
                experiment.make_system(index)
        return experiment

    @property
    def is_in_bytes(self) -> bool:
        """Whether capacities of objects are in bytes: one is stated with a unit."""
        given = [tier.get("capacity") for tier in self.given.get("tiers", ())]
        return self.spec.in_bytes or any(isinstance(c, str) and is_in_bytes(c) for c in given)

    def sized(self, whole: int, *, in_bytes: bool = False) -> Experiment:
        """Return the experiment with capacities that depend on the workload.

        Parameters
        ----------
        whole : int
            Distinct blocks, of which shares are.
        in_bytes : bool
            Whether capacities are bytes of objects; `whole` is in bytes then.
        """
        capacities: dict[int, int] = {
            index: parse_capacity(share, whole, None) for index, share in self.shares.items()
        }
        if in_bytes and not self.shares:
            (tier,) = self.given["tiers"]
            capacities = {0: parse_capacity(tier["capacity"], whole, 1)}
        tiers = [
            tier.model_copy(update={"capacity": capacities.get(index, tier.capacity)})
            for index, tier in enumerate(self.spec.tiers)
        ]
        if in_bytes and self.spec.opt:
            raise self.source.complain(("opt",), "OPT is no bound of objects with sizes")
        unit = {"block_bytes": 1} if in_bytes else {}
        spec = self.spec.model_copy(update={"tiers": tiers} | unit)
        complaints = Complaints()
        spec = _resolve_systems(spec, self.source, self.code, complaints)
        complaints.tell()
        return replace(self, spec=spec, shares={})

    def check_workload(self, workload: Workload) -> None:
        """Check that the workload has the named VMs, and a valid length.

        Raises
        ------
        ConfigError
            All that it has not, each with its line.
        """
        names = [vm.name for vm in workload.vms]
        complaints = Complaints()
        with complaints.kept():
            if self.spec.in_bytes and workload.kind == "blocks":
                raise self.source.complain(
                    ("block_bytes",), "blocks of 1 byte: only objects take their bytes of a tier"
                )
        with complaints.kept():
            check_named_vms(self.spec, self.source, names)
        with complaints.kept():
            check_interval(self.spec, self.source, workload)
        with complaints.kept():
            check_prefetch(self.spec, self.source, self.code)
        if not self.spec.workload.known_names:
            components = Components(self.spec, self.source, self.code, names)
            for index in range(len(self.spec.systems)):
                with complaints.kept():
                    components.build(index)
        complaints.tell()

    def check_savable(self) -> None:
        """Check that the state of every system can be saved and loaded.

        Raises
        ------
        ConfigError
            With the reason for each one that cannot.
        """
        complaints = Complaints()
        for index, given in enumerate(self.spec.systems):
            with complaints.kept():
                check_savable(self.make_system(index), given, ("systems", index), self.source)
        complaints.tell()

    def make_system(self, index: int) -> engine.System:
        """Build the system at `index`, ready to run once."""
        system = Components(self.spec, self.source, self.code).build(index)
        if self.spec.cache_dump is not None:
            start_from_dump(system, self.spec, self.source, index)
        return system

    def code_digests(self) -> dict[str, str]:
        """Return the digests of all classes given as `module:Class`, and of plugins."""
        names = {system.name for system in self.spec.systems}
        names |= {system.optimizer.name for system in self.spec.systems if system.optimizer}
        for system in self.spec.systems:
            names.update(python_policies(policy_of(system, self.code)))
        classes = sorted(filter(is_class, names))
        digests = {name: self.code.digest_of(name) for name in classes}
        for plugin in self.spec.plugins:
            content = read_regular(self.code.folder / plugin)
            digests[plugin] = hashlib.sha256(content).hexdigest()
        return digests

    def run_id(self, traces: Sequence[Mapping[str, Any]]) -> str:
        """Name the run after all that can change its results.

        Parameters
        ----------
        traces : sequence of mapping
            Descriptions of `Workload.describe` for every VM; their digests
            stand for the files, wherever those are.
        """
        from mcsim.results.version import RESULTS_VERSION

        spec = with_earlier_keys(self.spec.expanded())
        del spec["name"]
        for key in ("description", "figures", "page", "figure_formats", "plugins"):
            spec.pop(key, None)
        # Systems have theirs written out, except classes.
        if (writes := spec.pop("writes", None)) is not None and any(
            is_class(system.name) for system in self.spec.systems
        ):
            spec["writes"] = writes
        window = spec.pop("workload").get("window")
        if window:
            spec["window"] = window
        # The digests of traces stand for what it draws of the workload.
        spec["seed"] = self.spec.random_seed
        if not isinstance(self.spec.warm_up, Interval | None):
            del spec["warm_up"]
        cause = {
            "version": RESULTS_VERSION,
            "spec": spec,
            "traces": list(traces),
            "code": self.code_digests(),
        }
        if self.spec.saved_states is not None:
            cause["states"] = state_checksums(self.spec, self.source)
        if self.spec.cache_dump is not None:
            cause["cache_dump"] = dump_checksum(self.spec, self.source)
        text = json.dumps(cause, sort_keys=True, separators=(",", ":"))
        return f"{self.spec.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def source_of(given: Given, overrides: Iterable[str]) -> tuple[Source, dict[str, type[Any]]]:
    """Read, extend and override an experiment, unchecked; with the classes handed in by it."""
    handed: dict[str, type[Any]] = {}
    if isinstance(given, ExperimentSpec):
        source = Source("spec", given.expanded(), Path.cwd())
    elif isinstance(given, Mapping):
        given, handed = with_classes_named(given)
        source = Source("spec", given, Path.cwd())
    else:
        path = file_named("experiment", given)
        source = Source.read(path)
        if path.is_absolute() and path != Path(given):  # an experiment of mcsim, by its name
            source.code_folder = Path.cwd()
    source = extended(source)
    for override in list_of("overrides", overrides, "text such as seed=2"):
        source.override(override)
    return source, handed


_SOME_BLOCKS = 1 << 20
"""Instead of a capacity that is not known yet, so that all else can be checked."""


def _take_shares(source: Source) -> dict[int, float | str]:
    """Replace capacities that are shares of the workload before the check."""
    tiers = source.root.get("tiers")
    shares: dict[int, Any] = {}
    for index, tier in enumerate(tiers if isinstance(tiers, list) else []):
        capacity = tier.get("capacity") if isinstance(tier, Mapping) else None
        if not is_share(capacity):
            continue
        try:
            parse_capacity(capacity, 1, None)
        except ValueError as error:
            raise source.complain(("tiers", index, "capacity"), str(error)) from None
        shares[index] = capacity
    for index in shares:
        tiers[index]["capacity"] = _SOME_BLOCKS
    return shares


def _resolve_systems(
    spec: ExperimentSpec, source: Source, code: Code, complaints: Complaints
) -> ExperimentSpec:
    """Write every parameter of every system, having built each once."""
    components = Components(spec, source, code)
    components.check_writes()
    systems = []
    for index in range(len(spec.systems)):
        with complaints.kept():
            systems.append(components.resolved(index))
    return spec.model_copy(update={"systems": systems})


def _load_plugins(spec: ExperimentSpec, source: Source, code: Code) -> None:
    from mcsim.policies.specs import load_policies

    for index, plugin in enumerate(spec.plugins):
        try:
            load_policies(code.library(plugin))
        except ConfigError as error:
            raise source.complain(("plugins", index), str(error)) from None


def _resolve_devices(spec: ExperimentSpec, source: Source) -> ExperimentSpec:
    """Write the latencies and price of every device next to its name."""

    def resolved(of: _Placed, where: Location) -> _Placed:
        try:
            device = spec_of_device(of.device, spec.devices)
        except ValueError as error:
            raise source.complain((*where, "device"), str(error)) from None
        missing = {key for key in DeviceSpec.model_fields if getattr(of, key) is None}
        return of.model_copy(update={key: getattr(device, key) for key in missing})

    complaints = Complaints()
    tiers, backend = [], spec.backend
    for index, tier in enumerate(spec.tiers):
        with complaints.kept():
            tiers.append(resolved(tier, ("tiers", index)))
    with complaints.kept():
        backend = resolved(spec.backend, ("backend",))
    complaints.tell()
    return spec.model_copy(update={"tiers": _reached(spec, tiers, source), "backend": backend})


def _reached(spec: ExperimentSpec, tiers: list[TierSpec], source: Source) -> list[TierSpec]:
    """Write how much longer tiers take that are reached over the link."""
    link = spec.link or (None if spec.hosts is None else spec.hosts.link)
    if spec.link is not None and all(tier.over is None for tier in tiers):
        raise source.complain(
            ("link",), "no tier is reached over it: say `over: link` of one that is elsewhere"
        )
    reached = []
    for index, tier in enumerate(tiers):
        if tier.over == "link":
            if link is None:
                message = "there is no `link`: give it, such as {latency: 100us, bandwidth: 1GB/s}"
                raise source.complain(("tiers", index, "over"), message)
            tier = tier.model_copy(update={"over": link.block_ns(spec.block_bytes)})
        reached.append(tier)
    return reached
