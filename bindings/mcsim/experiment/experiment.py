"""From a configuration to what can run: devices, systems and optimisers resolved.

`Experiment.load` is where every mistake is found before anything long starts:
the schema is checked first, then names of devices, systems and optimisers, then
their parameters, by building each once. What is missing is filled in, so that
`Experiment.spec` says everything.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.base.units import format_duration, parse_interval
from mcsim.config import ExperimentSpec, Source, check_spec
from mcsim.config.devices import CATALOGUE
from mcsim.config.load import Location
from mcsim.config.spec import (
    BackendSpec,
    ComponentSpec,
    DeviceSpec,
    Interval,
    SystemSpec,
    WindowSpec,
)
from mcsim.policies.python_policies import Policy, PriorityPolicy, put_policy

if TYPE_CHECKING:
    from mcsim._core import engine
    from mcsim._core.optimizers import Optimizer

__all__ = ["Experiment"]

_Placed = TypeVar("_Placed", bound=BackendSpec)

# What may be given as an experiment.
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
    """

    spec: ExperimentSpec
    source: Source

    @classmethod
    def load(cls, given: Given, overrides: Iterable[str] = ()) -> Experiment:
        """Read, override and check an experiment.

        Parameters
        ----------
        given : path, mapping or ExperimentSpec
            A YAML file, or its content. Relative paths in it are relative to
            the file's folder, or to the working directory.
        overrides : iterable of str
            `key=value` as of `--set`.

        Raises
        ------
        ConfigError
            The first mistake, with its line.
        """
        if isinstance(given, ExperimentSpec):
            source = Source("spec", given.expanded(), Path.cwd())
        elif isinstance(given, Mapping):
            source = Source("spec", given, Path.cwd())
        else:
            source = Source.read(given)
        for override in overrides:
            source.override(override)
        spec = check_spec(source)
        _check_unique(spec, source)
        _check_figures(spec, source)
        _check_times(spec, source)
        _load_plugins(spec, source)
        spec = _resolve_devices(spec, source)
        components = _Components(spec, source)
        systems = [components.resolved(index) for index in range(len(spec.systems))]
        return cls(spec.model_copy(update={"systems": systems}), source)

    def make_system(self, index: int) -> engine.System:
        """Build the system at `index`, ready to run once."""
        return _Components(self.spec, self.source).build(index)

    def code_digests(self) -> dict[str, str]:
        """Return the digests of all classes given as `module:Class`, and of plugins."""
        names = {system.name for system in self.spec.systems}
        names |= {system.optimizer.name for system in self.spec.systems if system.optimizer}
        for system in self.spec.systems:
            names.update(_python_policies(_policy_of(system, self.source)))
        classes = sorted(name for name in names if ":" in name)
        digests = {name: _digest_of_code(name, self.source) for name in classes}
        for plugin in self.spec.plugins:
            content = (self.source.folder / plugin).read_bytes()
            digests[plugin] = hashlib.sha256(content).hexdigest()
        return digests

    def run_id(self, version: str, traces: Sequence[Mapping[str, Any]]) -> str:
        """Name the run after all that can change its results.

        Parameters
        ----------
        version : str
            Of mcsim.
        traces : sequence of mapping
            What `Workload.describe` says of every VM's requests; their digests
            stand for the files, wherever those are.
        """
        from mcsim.results.results import SCHEMAS

        spec = self.spec.expanded()
        del spec["name"]
        for key in ("description", "figures", "plugins"):
            spec.pop(key, None)
        window = spec.pop("workload").get("window")
        if window:
            spec["window"] = window
        if self.spec.warm_up_traces is not None:
            del spec["warm_up"]
        cause = {
            "version": version,
            "tables": {name: schema.names for name, schema in SCHEMAS.items()},
            "spec": spec,
            "traces": list(traces),
            "code": self.code_digests(),
        }
        text = json.dumps(cause, sort_keys=True, separators=(",", ":"))
        return f"{self.spec.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _check_unique(spec: ExperimentSpec, source: Source) -> None:
    def check(names: Iterable[str], where: Callable[[int], Location], what: str) -> None:
        seen: set[str] = set()
        for index, name in enumerate(names):
            if name in seen:
                raise source.complain(where(index), f"a second {what} {name!r}")
            seen.add(name)

    names = [vm.name for vm in spec.workload.vms]
    check(names, lambda i: ("workload", "vms", i), "VM")
    if (warm_up := spec.warm_up_traces) is not None:
        warmed = [vm.name for vm in warm_up.vms]
        check(warmed, lambda i: ("warm_up", "vms", i), "VM")
        for index, name in enumerate(warmed if names else []):
            if name not in names:
                message = f"the workload has no VM {name!r}{did_you_mean(name, names)}"
                raise source.complain(("warm_up", "vms", index), message)
        if not warmed and not warm_up.profiles:
            raise source.complain(("warm_up",), "neither VMs nor a profile")
    titles = (system.title for system in spec.systems)
    check(titles, lambda i: ("systems", i), "system; give it a label of its own, not")
    if not spec.workload.vms and not spec.workload.profiles:
        raise source.complain(("workload",), "neither VMs nor a profile")


def _check_figures(spec: ExperimentSpec, source: Source) -> None:
    if not spec.figures:
        return
    from mcsim.figures import FIGURES

    for index, name in enumerate(spec.figures):
        if name not in FIGURES:
            message = f"unknown figure {name!r}{did_you_mean(name, FIGURES)}"
            raise source.complain(("figures", index), message)


def _check_times(spec: ExperimentSpec, source: Source) -> None:
    """All lengths in the time of the interval; what begins ends later."""

    def check(given: Interval | None, where: Location) -> None:
        if given is None or given.by_reference == spec.interval.by_reference:
            return
        wanted = "references" if spec.interval.by_reference else "a length of time"
        raise source.complain(where, f"expected {wanted}, as in `interval`, got '{given}'")

    def check_order(begin: Interval | None, end: Interval | None, where: Location) -> None:
        if begin is not None and end is not None and end.length <= begin.length:
            raise source.complain(where, f"expected more than '{begin}', got '{end}'")

    def check_window(window: WindowSpec, where: Location) -> None:
        check(window.begin, (*where, "begin"))
        check(window.end, (*where, "end"))
        check_order(window.begin, window.end, (*where, "end"))

    if isinstance(spec.warm_up, Interval):
        check(spec.warm_up, ("warm_up",))
        if spec.warm_up.length % spec.interval.length:
            raise source.complain(
                ("warm_up",), f"expected a multiple of the interval '{spec.interval}'"
            )
    elif spec.warm_up is not None:
        check_window(spec.warm_up.window, ("warm_up", "window"))
    check_window(spec.workload.window, ("workload", "window"))
    for index, vm in enumerate(spec.workload.vms):
        where: Location = ("workload", "vms", index)
        check(vm.arrives, (*where, "arrives"))
        check(vm.departs, (*where, "departs"))
        check_order(vm.arrives, vm.departs, (*where, "departs"))


def _load_plugins(spec: ExperimentSpec, source: Source) -> None:
    from mcsim.policies.simulation import load_policies

    for index, plugin in enumerate(spec.plugins):
        try:
            load_policies(source.folder / plugin)
        except ConfigError as error:
            raise source.complain(("plugins", index), str(error)) from None


def _resolve_devices(spec: ExperimentSpec, source: Source) -> ExperimentSpec:
    """Write the latencies and price of every device beside its name."""
    known: dict[str, DeviceSpec] = {
        name: DeviceSpec.model_construct(
            read=round(device.read_ns.middle),
            write=round(device.write_ns.middle),
            dollars_per_gb=device.dollars_per_gb.middle,
            pe_cycles=device.pe_cycles,
        )
        for name, device in CATALOGUE.items()
    } | spec.devices

    def resolved(of: _Placed, where: Location) -> _Placed:
        device = known.get(of.device)
        if device is None:
            message = f"unknown device {of.device!r}{did_you_mean(of.device, known)}"
            raise source.complain((*where, "device"), message)
        missing = {key for key in DeviceSpec.model_fields if getattr(of, key) is None}
        return of.model_copy(update={key: getattr(device, key) for key in missing})

    tiers = [resolved(tier, ("tiers", index)) for index, tier in enumerate(spec.tiers)]
    backend = resolved(spec.backend, ("backend",))
    return spec.model_copy(update={"tiers": tiers, "backend": backend})


class _Components:
    """Builds the systems of an experiment and their optimisers, from declared names.

    What the core refuses is blamed on the line that asked for it: where several
    parameters are given, the one that is refused alone.
    """

    def __init__(self, spec: ExperimentSpec, source: Source) -> None:
        from mcsim import optimizers
        from mcsim._core import engine

        self._spec = spec
        self._source = source
        self._make_system = engine.System
        self._make_python_system = engine.System.from_python
        self._make_optimizer = optimizers.load
        self._vms = [vm.name for vm in spec.workload.vms]  # none: the profile knows them
        self._declared = {
            "system": {entry["name"]: entry for entry in engine.describe_systems()},
            "optimizer": {entry["name"]: entry for entry in optimizers.describe()},
        }
        self._machine = engine.Machine(
            tiers=[(_device(tier), tier.capacity_blocks) for tier in spec.tiers],
            backend=_device(spec.backend),
        )

    def resolved(self, index: int) -> SystemSpec:
        """Check a system and write out its parameters and its optimiser."""
        given = self._spec.systems[index]
        where: Location = ("systems", index)
        default_optimizer = self.build(index).default_optimizer
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
        given = self._spec.systems[index]
        where: Location = ("systems", index)
        optimizer = self._build_optimizer(given.optimizer, (*where, "optimizer"))
        params = self._checked_params("system", given, where)
        interval = self._spec.interval.length
        if ":" in given.name:
            allocator = self._build_python(given, where)
            _put_policies(_policy_of(given, self._source), self._source, where)
            try:
                return self._make_python_system(
                    allocator, self._machine, interval=interval, vms=self._vms
                )
            except ConfigError as error:
                raise self._source.complain(where, str(error)) from None

        _put_policies(params.get("policy"), self._source, where)

        def make(some: dict[str, Any], optimizer: Any = None) -> engine.System:
            return self._make_system(
                given.name,
                some,
                self._machine,
                optimizer,
                interval=interval,
                seed=self._spec.seed,
                vms=self._vms,
            )

        try:
            return make(params, optimizer)
        except ConfigError as error:
            self._blame_parameter(make, params, where)
            at = (*where, "optimizer") if optimizer is not None else where
            raise self._source.complain(at, str(error), about=where) from None

    def _build_optimizer(self, given: ComponentSpec | None, where: Location) -> Optimizer | None:
        if given is None:
            return None
        if ":" in given.name:
            return self._make_optimizer(self._build_python(given, where))
        params = self._checked_params("optimizer", given, where)

        def make(some: dict[str, Any]) -> Optimizer:
            return self._make_optimizer(given.name, some, seed=self._spec.seed)

        try:
            return make(params)
        except ConfigError as error:
            self._blame_parameter(make, params, where)
            raise self._source.complain(where, str(error)) from None

    def _blame_parameter(
        self, make: Callable[[dict[str, Any]], object], params: dict[str, Any], where: Location
    ) -> None:
        for key, value in params.items():
            try:
                make({key: value})
            except ConfigError as error:
                raise self._source.complain((*where, key), str(error), about=where) from None

    def _declaration(
        self, kind: str, given: ComponentSpec, where: Location
    ) -> Mapping[str, Mapping[str, Any]]:
        """The declared parameters of a component, by name."""
        declared = self._declared[kind]
        if given.name not in declared:
            message = f"unknown {kind} {given.name!r}{did_you_mean(given.name, declared)}"
            raise self._source.complain((*where, "name"), message, about=where)
        return {param["name"]: param for param in declared[given.name]["params"]}

    def _checked_params(self, kind: str, given: ComponentSpec, where: Location) -> dict[str, Any]:
        """Parameters as the core takes them: known names, durations as numbers."""
        if ":" in given.name:
            return given.params
        declared = self._declaration(kind, given, where)
        return {
            key: self._checked_param(declared, given, key, (*where, key)) for key in given.params
        }

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
        """All parameters with their values, as an experiment file would say them."""
        if ":" in given.name:
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

    def _build_python(self, given: ComponentSpec, where: Location) -> Any:
        made = _find_class(given.name, self._source, where)
        try:
            return made(**given.params)
        except TypeError as error:
            raise self._source.complain(where, str(error)) from None


def _device(of: BackendSpec) -> engine.Device:
    from mcsim._core import engine

    return engine.Device(of.device, *of.quantities)


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let modules of a folder be imported."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _find_class(name: str, source: Source, where: Location) -> type[Any]:
    """Import `module:Class`, from the experiment's folder or from what is installed."""
    module_name, _, class_name = name.partition(":")
    try:
        with _importable(source.folder):
            module = importlib.import_module(module_name)
    except ImportError as error:
        raise source.complain((*where, "name"), str(error), about=where) from None
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        known = [key for key, value in vars(module).items() if isinstance(value, type)]
        message = f"no class {class_name!r} in {module_name}{did_you_mean(class_name, known)}"
        raise source.complain((*where, "name"), message, about=where)
    return found


# A class of Python among the policies of a data path: `lru / my_policies:Lifo`.
_PYTHON_POLICY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def _policy_of(system: SystemSpec, source: Source) -> object:
    """What a system, or the class that allocates, says of the policies of its data path."""
    if ":" not in system.name:
        return system.params.get("policy")
    return getattr(_find_class(system.name, source, ()), "data_path", {}).get("policy")


def _python_policies(policy: object) -> list[str]:
    return _PYTHON_POLICY.findall(policy) if isinstance(policy, str) else []


def _put_policies(policy: object, source: Source, where: Location) -> None:
    """Let the core find the policies that are classes of Python."""
    for name in _python_policies(policy):
        try:
            made = _find_class(name, source, where)
            if not issubclass(made, (Policy, PriorityPolicy)):
                message = f"{name} does not derive from mcsim.Policy or mcsim.PriorityPolicy"
                raise source.complain((*where, "policy"), message, about=where)
            put_policy(name, made)
        except TypeError as error:
            raise source.complain((*where, "policy"), f"{name}: {error}", about=where) from None


def _digest_of_code(name: str, source: Source) -> str:
    file = inspect.getsourcefile(_find_class(name, source, ()))
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
