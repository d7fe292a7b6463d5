"""The schema of an experiment: keys of its YAML file and their types.

Every map has a class. `Params` of systems and optimisers are not repeated here: any undeclared key
is a parameter, which is validated by the component's own declaration in the core
(`mcsim.experiment.experiment`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StrictInt,
    StrictStr,
    Tag,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from mcsim.config.chains import ChainsSpec
from mcsim.config.placed import (
    BackendSpec,
    DeviceSpec,
    HostsSpec,
    LinkSpec,
    Map,
    TierSpec,
)
from mcsim.config.starts import CacheDumpSpec, SavedStatesSpec
from mcsim.config.values import (
    DEFAULT_BLOCK_BYTES,
    BlockBytes,
    Interval,
    IntervalLength,
    Options,
    Sample,
    VmChoice,
)

# If a map has one important key, the key's value may replace the map: `- lru` is `- {name: lru}`.
SHORTHANDS = {"systems": "name", "optimizer": "name", "vms": "name", "backend": "device"}


class _Shorthand:
    """Marker of a map that the value of one important key may replace."""

    def __init__(self, place: str) -> None:
        self.key = SHORTHANDS[place]

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            lambda value: {self.key: value} if isinstance(value, str) else value, handler(source)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "description": self.key}, handler(schema)]}


class _Map(Map, BaseModel):
    """A map of the schema. BaseModel is a direct base for the sake of linters."""


FigureFormat = Literal["png", "pdf", "svg"]


class WindowSpec(_Map):
    """A part of the workload, in time since its first request."""

    start: IntervalLength | None = None
    """earlier requests are left out"""
    end: IntervalLength | None = None
    """requests from this time on are left out"""


class VmTraceSpec(_Map):
    """One VM and where requests of it are."""

    name: StrictStr = ""
    """as results show it; of several `vms` a pattern such as host1-{vm}"""
    trace: StrictStr | list[StrictStr] | None = None
    """a file, a folder, a pattern such as 2016*-LUN4.csv.gz, or a name to look up in the trace
    folders; several files, or those of a list, are joined; the VM's own name if not given"""
    vm: StrictStr | None = None
    """which VM of the files, if they hold several; if their format names none, they are all of this
    VM, of which several files are parts"""
    vms: VmChoice | None = None
    """several VMs of the file, in place of `vm`: all, a name, a pattern such as web_*, !backup* to
    exclude some, or a list of such texts; or a map from names in the file to names in results"""
    format: StrictStr | None = None
    """format of the file; detected by content if not given"""
    mapping: StrictStr | None = None
    """file, relative to this one, with the format and its options; those given here come on top"""
    options: Options = {}
    """options of the format"""
    on_bad_line: Literal["error", "skip"] = "error"
    """what to do with a line that contradicts the format"""
    max_skipped: int | float | str | None = None
    """with on_bad_line: skip, how many lines may be left out: a number or a share such as 5%; \
10 or 1% if not given"""
    on_unsorted: Literal["error", "sort"] = "sort"
    """what to do with requests that are not in time order"""

    @model_validator(mode="after")
    def _is_one_or_several(self) -> Self:
        if self.vms is None:
            if not self.name:
                raise ValueError("missing key 'name'")
        elif self.vm is not None:
            raise ValueError("vm is one and vms are several: give one of them")
        elif not self.trace:
            raise ValueError("missing key 'trace': the vms of which file?")
        elif self.name and (isinstance(self.vms, dict) or "{vm}" not in self.name):
            raise ValueError("name: of several vms expected a pattern such as 'host1-{vm}'")
        return self


class VmSpec(VmTraceSpec):
    """One VM and where its requests are."""

    arrives: IntervalLength | None = None
    """time since the workload's first request before which it is absent and its requests are left
    out; a VM without it, or with a warm-up, is present from the start"""
    departs: IntervalLength | None = None
    """time from which on it is absent: its requests are left out, its dirty blocks are written
    back, and its blocks are freed at once; the system may grant its space to other VMs"""


class _TracesSpec(_Map):
    profile: StrictStr | list[StrictStr] | None = None
    """synthetic workload, or several, that stand in where the traces of `vms` are not all found"""
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)] | None = None
    """of each synthetic workload; if not given, the experiment's `seed`, else their own"""
    align: Literal["clock", "start"] = "clock"
    """keep the traces' own clocks, or shift each to start at the same moment"""
    window: WindowSpec = WindowSpec()
    """the part of the traces that is replayed; all of it if not given"""

    @model_validator(mode="after")
    def _seeds_something(self) -> Self:
        if self.seed is not None and not self.profiles:
            raise ValueError("missing key 'profile': the seed of which synthetic workload?")
        return self

    @property
    def profiles(self) -> list[str]:
        """The synthetic workloads, none or more."""
        if self.profile is None:
            return []
        return [self.profile] if isinstance(self.profile, str) else self.profile


class WorkloadSpec(_TracesSpec):
    """The VMs that share the host."""

    vms: list[Annotated[VmSpec, _Shorthand("vms")]] = []
    """the VMs, in the order of results; all of the profile if empty"""
    sample: Sample | None = None
    """share of the blocks that is replayed, such as 1/16, picked by hash: requests are cut into
    blocks, and tiers that are as much smaller hit about the same share"""
    chains: ChainsSpec | None = None
    """requests of KV caches, whose tenants are the VMs, in place of `vms` and `profile`"""

    @property
    def known_names(self) -> list[str]:
        """Names of all VMs; empty if only a profile or a trace has them."""
        return [vm.name for vm in self.vms] if all(vm.vms is None for vm in self.vms) else []


class WarmUpSpec(_TracesSpec):
    """Traces that fill the caches before the workload begins."""

    vms: list[Annotated[VmTraceSpec, _Shorthand("vms")]] = []
    """VMs of the workload, each with the trace that its caches are filled from; those of the
    profile if empty"""


# Steps in the location of an error that name the type of a union; no key has such a name.
WARM_UP_KINDS = ("<length>", "<traces>", "<states>", "<dump>")


def _warm_up_kind(given: object) -> str:
    if isinstance(given, SavedStatesSpec) or (isinstance(given, Mapping) and "state" in given):
        return "<states>"
    if isinstance(given, CacheDumpSpec) or (isinstance(given, Mapping) and "cache_dump" in given):
        return "<dump>"
    return "<traces>" if isinstance(given, (Mapping, WarmUpSpec)) else "<length>"


WarmUp = Annotated[
    Annotated[IntervalLength, Tag("<length>")]
    | Annotated[WarmUpSpec, Tag("<traces>")]
    | Annotated[SavedStatesSpec, Tag("<states>")]
    | Annotated[CacheDumpSpec, Tag("<dump>")],
    Discriminator(_warm_up_kind),
]


_PER_TIER = ("policy", "writes", "admission", "prefetch")
"""Parameters that may be lists with a value for each tier."""


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def text_of_tiers(value: Any) -> Any:
    """Return a list with a value for each tier as the text that the core parses."""
    return " / ".join(value) if _is_texts(value) else value


class ComponentSpec(_Map):
    """An optimiser by name or as `module:Class`; every other key is one of its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True, use_attribute_docstrings=True)
    __pydantic_extra__: dict[str, Any]

    name: StrictStr
    """what `mcsim list` shows, or `module:Class` in Python"""

    @property
    def params(self) -> dict[str, Any]:
        """The keys that are not declared here; a list with a value for each tier as its text."""
        if ":" in self.name:
            return dict(self.__pydantic_extra__)
        return {
            key: text_of_tiers(value) if key in _PER_TIER else value
            for key, value in self.__pydantic_extra__.items()
        }


class SystemSpec(ComponentSpec):
    """A system by name or as `module:Class`; every other key is one of its parameters."""

    label: StrictStr = ""
    """as results show it; the name if not given"""
    optimizer: Annotated[ComponentSpec, _Shorthand("optimizer")] | None = None
    """what divides the space, for systems that use one"""

    @property
    def title(self) -> str:
        """Name of this system in results."""
        return self.label or self.name


class ExperimentSpec(_Map):
    """An experiment: one workload on one machine, run through several systems."""

    name: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
    """first part of the run's folder"""
    description: StrictStr = ""
    """for people"""
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)] | None = None
    """of all random numbers, and of synthetic workloads without `workload.seed`; 1 if not given"""
    block_bytes: BlockBytes = DEFAULT_BLOCK_BYTES
    """size of a block; 1 if capacities are bytes of objects, as those with a unit are"""
    ops: Literal["reads", "all", "writes"] = "reads"
    """requests that are replayed"""
    interval: IntervalLength = Interval(3600 * 10**9, False)
    """length of the intervals at which results are counted"""
    warm_up: WarmUp | None = None
    """warm-up, which is replayed without being counted: the first part of the workload in whole
    intervals, traces that are replayed before it, the states of an earlier run, or the metadata of
    a deployed dm-cache"""
    workload: WorkloadSpec
    """the VMs"""
    devices: dict[str, DeviceSpec] = {}
    """devices in addition to the catalogue's"""
    tiers: Annotated[list[TierSpec], Field(min_length=1)]
    """the cache, fastest tier first"""
    backend: Annotated[BackendSpec, _Shorthand("backend")] = BackendSpec(device="hdd")
    """where everything is"""
    link: LinkSpec | None = None
    """what tiers that are `over` it are reached by; if not given, that of `hosts`"""
    hosts: HostsSpec | None = None
    """instead of one host several with these tiers each; one backend has everything"""
    plugins: list[StrictStr] = []
    """libraries of eviction policies to load, relative to the file"""
    writes: StrictStr | list[StrictStr] | None = None
    """write mode of all systems that do not state one of their own: through, back or around, with
    exceptions for VMs as in 'through, web_0=back', or a list with a mode for each tier; if not
    given, that of each system's publication"""
    systems: Annotated[list[Annotated[SystemSpec, _Shorthand("systems")]], Field(min_length=1)]
    """what is compared"""
    opt: bool | None = None
    """whether to compute the upper bound on hits: those of OPT in one cache of all VMs, one block
    larger; by default for up to 134 million accesses, about ten seconds"""
    slowdowns: bool | None = None
    """whether to replay each VM alone as well, for `worst VM`, `fairness` and misses by cause; by
    default for up to 64 VMs and 134 million accesses"""
    figures: bool | list[StrictStr] = False
    """whether to draw figures after the run: true for all that apply, or a list of their names"""
    page: bool = False
    """whether to write a page after the run: page.html in its folder"""
    figure_formats: list[FigureFormat] = ["png"]
    """what they are written as: png, pdf or svg"""

    @property
    def random_seed(self) -> int:
        """Seed of policies, optimisers and samples."""
        return 1 if self.seed is None else self.seed

    def profile_seed(self, of: _TracesSpec) -> int | None:
        """Return the seed that draws the profiles of a workload.

        Parameters
        ----------
        of : WorkloadSpec or WarmUpSpec
            Section of the experiment with profiles.

        Returns
        -------
        int or None
            The section's own seed, or else that of the experiment. None: each profile has its own.
        """
        return self.seed if of.seed is None else of.seed

    @property
    def host_count(self) -> int:
        """Number of hosts, each of which has all tiers."""
        return 1 if self.hosts is None else len(self.hosts.names)

    @property
    def space(self) -> list[int]:
        """The blocks of each tier on all hosts together."""
        return [self.host_count * tier.capacity for tier in self.tiers]

    @property
    def in_bytes(self) -> bool:
        """Whether capacities are in bytes, which objects take by their sizes."""
        return self.block_bytes == 1

    @property
    def link_ns(self) -> int:
        """Additional waiting time of a read from another host."""
        return 0 if self.hosts is None else self.hosts.link.latency

    @property
    def warm_up_intervals(self) -> int:
        """Number of intervals at the start of the workload that are not counted."""
        if not isinstance(self.warm_up, Interval):
            return 0
        return self.warm_up.length // self.interval.length

    @property
    def warm_up_traces(self) -> WarmUpSpec | None:
        """Traces that are replayed before the workload, if any."""
        return self.warm_up if isinstance(self.warm_up, WarmUpSpec) else None

    @property
    def saved_states(self) -> str | None:
        """Folder of the states from which the systems start, if any."""
        return self.warm_up.state if isinstance(self.warm_up, SavedStatesSpec) else None

    @property
    def cache_dump(self) -> str | None:
        """Dump of a dm-cache from which the systems start, if any."""
        return self.warm_up.cache_dump if isinstance(self.warm_up, CacheDumpSpec) else None

    @property
    def starts_filled(self) -> bool:
        """Whether the systems start with blocks of an earlier run, or of a deployed cache."""
        return isinstance(self.warm_up, (SavedStatesSpec, CacheDumpSpec))

    def expanded(self) -> dict[str, Any]:
        """Return the whole spec, defaults included, as plain values.

        Returns
        -------
        dict
            Keys of an experiment file; an experiment of this mapping equals the spec.

        Examples
        --------
        >>> mc.run("tiny").spec.expanded()["tiers"][0]["capacity"]
        500
        """
        return self.model_dump(mode="json")
