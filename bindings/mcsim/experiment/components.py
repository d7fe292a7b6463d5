"""Systems and optimisers built from declared names, and blame for what the core refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from mcsim import optimizers
from mcsim._core import engine, policies
from mcsim._core.optimizers import Optimizer
from mcsim.base.errors import Complaints, ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.base.units import format_duration, parse_interval
from mcsim.config import ExperimentSpec, Source
from mcsim.config.load import Location
from mcsim.config.placed import HostsSpec, PlacedSpec
from mcsim.config.spec import ComponentSpec, SystemSpec, text_of_tiers
from mcsim.config.values import Interval
from mcsim.experiment.allocator import answering
from mcsim.experiment.checks import check_meters
from mcsim.experiment.code import Code, Kind, Solving, blamed, is_class, python_policies
from mcsim.policies.python_policies import Policy, PriorityPolicy, put_policy
from mcsim.results.data_paths import FIXED, PLACED


class Components:
    """Builds the systems of an experiment and their optimisers, from declared names.

    An error of the core names the line of the parameter that causes it. Of several parameters,
    that is the one with the same error when it is given alone.

    Parameters
    ----------
    spec, source, code
        As of an `Experiment`.
    vms : sequence of str, optional
        The VMs of the workload; those that the experiment itself names if not given.
    """

    def __init__(
        self,
        spec: ExperimentSpec,
        source: Source,
        code: Code,
        vms: Sequence[str] | None = None,
    ) -> None:
        self._spec = spec
        self._source = source
        self._code = code
        self._vms = spec.workload.known_names if vms is None else list(vms)
        self._declared = _declared()
        self._machine = engine.Machine(
            tiers=[(_device(tier), tier.capacity) for tier in spec.tiers],
            backend=_device(spec.backend),
            vm_backend_ns=spec.backend.vms or {},
            fleet=_fleet(spec.hosts),
            in_bytes=spec.in_bytes,
            delayed_hits=[bool(tier.delayed_hits) for tier in spec.tiers],
        )

    def resolved(self, index: int) -> SystemSpec:
        """Check a system and write out its parameters and its optimiser."""
        given = self._system(index)
        where: Location = ("systems", index)
        system = self.build(index)
        with self._source.blaming(where):
            check_meters(system, self._spec.interval.by_reference)
        default_optimizer = system.default_optimizer
        optimizer = given.optimizer
        if optimizer is None and default_optimizer is not None:
            optimizer = ComponentSpec.model_validate({"name": default_optimizer})
        if optimizer is not None:
            params = self._written_out("optimizer", optimizer, (*where, "optimizer"))
            optimizer = ComponentSpec.model_validate({"name": optimizer.name, **params})
        return SystemSpec.model_validate(
            {"name": given.name, "label": given.title, "optimizer": optimizer}
            | self._written_out("system", given, where)
        )

    def build(self, index: int) -> engine.System:
        """Build a system, ready to run once."""
        given = self._system(index)
        where: Location = ("systems", index)
        optimizer = self._build_optimizer(given.optimizer, (*where, "optimizer"))
        params = self._checked_params("system", given, where)
        interval = self._spec.interval.length
        if is_class(given.name):
            allocator = self._build_python(given, _ALLOCATOR, where)
            self._put_policies(policy_of(given, self._code), where)
            try:
                return engine.System.from_python(
                    answering(allocator, given.name, text_of_tiers(self._spec.writes)),
                    self._machine,
                    interval=interval,
                    seed=self._spec.random_seed,
                    vms=self._vms,
                )
            except ConfigError as error:
                raise self._source.complain(where, str(error)) from None

        self._put_policies(params.get("policy"), where)

        def make(some: dict[str, Any], optimizer: Any = None) -> engine.System:
            return engine.System(
                given.name,
                some,
                self._machine,
                optimizer,
                interval=interval,
                seed=self._spec.random_seed,
                vms=self._vms,
                warm_up=self._spec.warm_up_intervals * interval,
                counts_lookups=self._spec.workload.chains is not None,
            )

        try:
            system = make(params, optimizer)
        except ConfigError as error:
            self._blame_parameter(make, params, where, str(error))
            at = (*where, "optimizer") if optimizer is not None else where
            raise self._source.complain(at, str(error), about=where) from None
        if given != self._spec.systems[index] and system.chooses_write_modes:
            message = (
                f"{given.name} chooses the write mode of each VM itself: give it `writes`, its "
                "mode at the start, or leave out that of all systems"
            )
            raise self._source.complain(where, message)
        return system

    def _system(self, index: int) -> SystemSpec:
        """Return a system as given, with the write mode of all systems if it states none."""
        given, writes = self._spec.systems[index], text_of_tiers(self._spec.writes)
        if self._spec.workload.chains is not None:
            writes = "through"  # touches wait for nothing
        if writes is None or is_class(given.name) or "writes" in given.params:
            return given
        where: Location = ("systems", index)
        if "writes" in self._declaration("system", given, where):
            return given.model_copy(update={"writes": writes})
        # Systems that place extents have no write mode.
        if (mode := FIXED[given.name].writes) not in (writes, PLACED.writes):
            message = (
                f"{given.name} writes {mode}, never {writes}: leave out the `writes` of all "
                "systems, and give those of the others"
            )
            raise self._source.complain(where, message)
        return given

    def check_writes(self) -> None:
        """Check the write mode of all systems: names of modes and VMs, and number of tiers."""
        if self._spec.writes is None:
            return
        machine = engine.Machine(
            tiers=[(_device(tier), tier.capacity) for tier in self._spec.tiers],
            backend=_device(self._spec.backend),
            in_bytes=self._spec.in_bytes,
        )
        params = {"writes": text_of_tiers(self._spec.writes), "chain": "independent"}
        try:
            engine.System("hierarchy", params, machine, vms=self._vms)
        except ConfigError as error:
            message = str(error).removeprefix("hierarchy: ").removeprefix("writes: ")
            raise self._source.complain(("writes",), message) from None

    def _build_optimizer(self, given: ComponentSpec | None, where: Location) -> Optimizer | None:
        if given is None:
            return None
        if is_class(given.name):
            made = self._build_python(given, _OPTIMIZER, where)
            return optimizers.load(Solving(made, given.name))
        params = self._checked_params("optimizer", given, where)

        def make(some: dict[str, Any]) -> Optimizer:
            return optimizers.load(given.name, some, seed=self._spec.random_seed)

        try:
            return make(params)
        except ConfigError as error:
            self._blame_parameter(make, params, where, str(error))
            raise self._source.complain(where, str(error)) from None

    def _blame_parameter(
        self,
        make: Callable[[dict[str, Any]], object],
        params: dict[str, Any],
        where: Location,
        message: str,
    ) -> None:
        """Complain of the one that is refused alone as it is with the others."""
        for key, value in params.items():
            try:
                make({key: value})
            except ConfigError as error:
                if str(error) == message:
                    raise self._source.complain((*where, key), message, about=where) from None

    def _declaration(
        self, kind: str, given: ComponentSpec, where: Location
    ) -> Mapping[str, Mapping[str, Any]]:
        """The declared parameters of a component, by name."""
        declared = self._declared[kind]
        if given.name not in declared:
            hint = _policy_hint(kind, given.name) or did_you_mean(given.name, declared)
            message = f"unknown {kind} {given.name!r}{hint}"
            raise self._source.complain((*where, "name"), message, about=where)
        return {param["name"]: param for param in declared[given.name]["params"]}

    def _checked_params(self, kind: str, given: ComponentSpec, where: Location) -> dict[str, Any]:
        """Parameters as the core takes them: known names, durations as numbers."""
        if is_class(given.name):
            return given.params
        declared = self._declaration(kind, given, where)
        checked = {}
        complaints = Complaints()
        for key in given.params:
            with complaints.kept():
                checked[key] = self._checked_param(declared, given, key, (*where, key))
        complaints.tell()
        return checked

    def _checked_param(
        self, declared: Mapping[str, Any], given: ComponentSpec, key: str, where: Location
    ) -> Any:
        if key not in declared:
            known = [*type(given).model_fields, *declared]
            message = f"unknown key {key!r}{did_you_mean(key, known)}"
            raise self._source.complain(where, message, about=where[:-1])
        value = given.params[key]
        if declared[key]["kind"] == "duration":
            return self._length(value, where)
        if declared[key]["kind"] == "per-vm" and isinstance(value, Mapping):
            self._check_vm_names(value, where)
            return dict(value)
        if not isinstance(value, (bool, int, float, str)):
            raise self._source.complain(where, f"expected a single value, got {value!r}")
        return value

    def _length(self, value: object, where: Location) -> int:
        """A length in the experiment's own time: nanoseconds or references."""
        by_reference = self._spec.interval.by_reference
        try:
            length, in_references = parse_interval(value)
        except ValueError as error:
            raise self._source.complain(where, str(error)) from None
        if length and in_references != by_reference:
            wanted = "references" if by_reference else "a length of time"
            raise self._source.complain(
                where, f"expected {wanted}, as in `interval`, got {value!r}"
            )
        return length

    def _check_vm_names(self, value: Mapping[str, Any], where: Location) -> None:
        for name, number in value.items():
            if self._vms and name not in self._vms:
                message = f"no VM {name!r}{did_you_mean(str(name), self._vms)}"
                raise self._source.complain((*where, name), message, about=where)
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise self._source.complain((*where, name), f"expected a number, got {number!r}")

    def _written_out(self, kind: str, given: ComponentSpec, where: Location) -> dict[str, Any]:
        """All parameters with their values, as in an experiment file."""
        if is_class(given.name):
            return given.params
        declared = self._declaration(kind, given, where)
        checked = self._checked_params(kind, given, where)
        written = {name: param["default"] for name, param in declared.items()} | checked
        for name, param in declared.items():
            if param["kind"] != "duration":
                continue
            if self._spec.interval.by_reference and written[name] and name not in checked:
                raise self._source.complain(
                    where,
                    f"{given.name}: {name}: the default of {format_duration(written[name])} means "
                    "nothing where references are counted: give it, such as '1000 references'",
                )
            written[name] = str(Interval(written[name], self._spec.interval.by_reference))
        return written

    def _build_python(self, given: ComponentSpec, kind: Kind, where: Location) -> Any:
        made = self._find_class(given.name, kind, (*where, "name"), where)
        with self._source.blaming(where), blamed(f"{given.name}()"):
            return made(**given.params)

    def _put_policies(self, policy: object, where: Location) -> None:
        """Register policies that are classes of Python with the core."""
        at: Location = (*where, "policy")
        for name in python_policies(policy):
            made = self._find_class(name, _POLICY, at, where)
            with self._source.blaming(at, about=where), blamed(f"{name}()"):
                put_policy(name, made)

    def _find_class(self, name: str, kind: Kind, at: Location, where: Location) -> type[Any]:
        with self._source.blaming(at, about=where):
            return self._code.class_named(name, kind)


@cache
def _declared() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """All entries by kind and name; computing all takes longer than a short run."""
    return {
        "system": {entry["name"]: entry for entry in engine.describe_systems()},
        "optimizer": {entry["name"]: entry for entry in optimizers.describe()},
    }


_ALLOCATOR = Kind("allocator", methods=("allocate",))
_OPTIMIZER = Kind("optimizer", methods=("optimize",))
_POLICY = Kind("policy", bases=(Policy, PriorityPolicy))


def _policy_hint(kind: str, name: str) -> str:
    """Return the message on how to use a policy as a system."""
    known = {entry["name"] for entry in policies.describe()}
    if kind != "system" or name not in known:
        return ""
    return f": it is an eviction policy; {{name: hierarchy, policy: {name}}} is a system of it"


def data_path_of(system: SystemSpec, code: Code) -> Mapping[str, Any]:
    """Return the parameters of a system, or the data path that the class of it declares."""
    if not is_class(system.name):
        return system.params
    data_path = getattr(code.class_named(system.name, _ALLOCATOR), "data_path", {})
    return data_path if isinstance(data_path, Mapping) else {}


def prefetches(data_path: Mapping[str, Any]) -> bool:
    """Return whether a tier of a data path prefetches."""
    given = text_of_tiers(data_path.get("prefetch", "none"))
    return isinstance(given, str) and {of.strip() for of in given.split("/")} != {"none"}


def check_prefetch(spec: ExperimentSpec, source: Source, code: Code) -> None:
    """Check that no system prefetches from a sample, which lacks the next blocks."""
    if spec.workload.sample is None:
        return
    for system in spec.systems:
        if prefetches(data_path_of(system, code)):
            raise source.complain(
                ("workload", "sample"),
                f"{system.title} prefetches blocks that a sample leaves out: remove `sample`",
            )


def declared_data_path(
    system: SystemSpec, code: Code, writes: str | list[str] | None
) -> dict[str, Any]:
    """Return write mode, policy and chain of a class of Python, which no experiment has.

    `writes` is the mode of all systems, which a class may override.
    """
    made = code.class_named(system.name, _ALLOCATOR)
    host = getattr(made, "host", None)
    if isinstance(host, Mapping):
        return {"writes": "in place"} if host.get("name") == "placed" else {"writes": "through"}
    given = data_path_of(system, code)
    usual = {"writes": text_of_tiers(writes) or "through", "policy": "lru", "chain": "exclusive"}
    return {name: given.get(name, value) for name, value in usual.items()}


def has_own_host(system: SystemSpec, code: Code) -> bool:
    """Return whether a class of Python declares a host instead of a data path of tiers."""
    return isinstance(getattr(code.class_named(system.name, _ALLOCATOR), "host", None), Mapping)


def policy_of(system: SystemSpec, code: Code) -> object:
    """Return the eviction policies of a system's data path."""
    return data_path_of(system, code).get("policy")


def _fleet(hosts: HostsSpec | None) -> engine.Fleet:
    if hosts is None:
        return engine.Fleet()
    return engine.Fleet(
        hosts.names,
        # Others are complained about where all names are checked.
        {vm: hosts.names.index(host) for vm, host in hosts.vms.items() if host in hosts.names},
        latency_ns=hosts.link.latency,
        blocks_per_second=hosts.link.rate,
    )


def _device(of: PlacedSpec) -> engine.Device:
    iops, bandwidth = of.can_do
    if of.waits != of.quantities[:2] and not iops and of.quantities.read_ns:
        iops = 1e9 / of.quantities.read_ns  # the link keeps it waiting, not at work
    return engine.Device(of.device, *of.waits, of.quantities.dollars_per_gb, iops, bandwidth)
