from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .locality import Characterised, MeterSpec
from .optimizers import Optimizer
from .trace import Chunk

ParamValue = bool | int | float | str | Mapping[str, float]

class VmInfo:
    @property
    def name(self) -> str: ...
    @property
    def first_id(self) -> int: ...
    @property
    def unique_blocks(self) -> int: ...
    @property
    def requests(self) -> int: ...
    @property
    def accesses(self) -> int: ...

class Accesses:
    @property
    def vms(self) -> list[VmInfo]: ...
    @property
    def block_bytes(self) -> int: ...
    @property
    def time_base(self) -> str: ...
    @property
    def line_blocks(self) -> int: ...
    @property
    def warm_up(self) -> int: ...
    @property
    def departures(self) -> list[tuple[int, int]]: ...
    @property
    def given(self) -> dict[str, list[int]]: ...
    @property
    def ids(self) -> NDArray[np.uint32]: ...
    @property
    def request_begin(self) -> NDArray[np.uint64]: ...
    @property
    def request_time(self) -> NDArray[np.int64]: ...
    @property
    def request_vm(self) -> NDArray[np.uint16]: ...
    @property
    def request_op(self) -> NDArray[np.uint8]: ...
    @property
    def request_response(self) -> NDArray[np.int64]: ...
    @property
    def request_class(self) -> NDArray[np.uint8]: ...
    @property
    def request_bytes(self) -> NDArray[np.uint32]: ...
    @property
    def request_head(self) -> NDArray[np.uint32]: ...
    @property
    def block_address(self) -> NDArray[np.uint64]: ...
    @property
    def discard_request(self) -> NDArray[np.uint64]: ...
    @property
    def discard_block(self) -> NDArray[np.uint32]: ...
    @property
    def discard_requests(self) -> int: ...
    @property
    def access_count(self) -> int: ...
    @property
    def request_count(self) -> int: ...
    @property
    def id_count(self) -> int: ...
    def passed(self, begin: int, end: int) -> None: ...

ACCESSES_VERSION: int

def write_accesses(accesses: Accesses, path: str | bytes, *, packed: bool = False) -> None: ...
def describe_accesses(path: str | bytes) -> tuple[int, int, int]: ...
def vm_accesses(accesses: Accesses, vm: int, requests: NDArray[np.int64]) -> Accesses: ...
def open_accesses(path: str | bytes, *, checked: bool = False) -> Accesses: ...

class StreamInterner:
    def __init__(
        self,
        *,
        block_bytes: int = 4096,
        ops: str = "reads",
        key: str = "aligned",
        bytes: bool = False,
    ) -> None: ...
    def add(self, chunk: Chunk) -> bool: ...
    def finish(self, vms: Sequence[str], time_base: str) -> Accesses: ...

class AccessBuilder:
    def __init__(
        self,
        *,
        block_bytes: int = 4096,
        ops: str = "reads",
        key: str = "aligned",
        whole_seconds: bool = False,
        line_blocks: int = 1,
        responses: bool = False,
        classes: bool = False,
        bytes: bool = False,
        cut_bytes: int = 0,
        sample_rate: float = 1.0,
        sample_seed: int = 1,
        time_base: str = "clock",
        path: str | bytes | None = None,
    ) -> None: ...
    def begin_vm(self, name: str) -> None: ...
    def add(
        self,
        time: NDArray[np.int64],
        vm: NDArray[np.uint16],
        op: NDArray[np.uint8],
        offset: NDArray[np.uint64],
        length: NDArray[np.uint32],
        response: NDArray[np.int64] | None = None,
        classes: NDArray[np.uint8] | None = None,
        *,
        only: int | None = None,
        shift: int = 0,
    ) -> None: ...
    def end_warm_up(self) -> None: ...
    def arrive(self, time: int) -> None: ...
    def depart(self, time: int) -> None: ...
    def finish(self) -> Accesses: ...

class Device:
    def __init__(
        self,
        name: str,
        read_ns: float,
        write_ns: float,
        dollars_per_gb: float,
        iops: float = 0,
        bandwidth: float = 0,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def read_ns(self) -> float: ...
    @property
    def write_ns(self) -> float: ...
    @property
    def dollars_per_gb(self) -> float: ...
    @property
    def iops(self) -> float: ...
    @property
    def bandwidth(self) -> float: ...
    def busy_ns(self, bytes: float) -> float: ...

class Fleet:
    def __init__(
        self,
        hosts: Sequence[str] = (),
        host_of_vm: Mapping[str, int] = {},
        *,
        latency_ns: float = 0.0,
        blocks_per_second: float = 0.0,
    ) -> None: ...

class Machine:
    def __init__(
        self,
        tiers: Sequence[tuple[Device, int]],
        backend: Device,
        vm_backend_ns: Mapping[str, float] = {},
        fleet: Fleet = ...,
        in_bytes: bool = False,
        *,
        delayed_hits: Sequence[bool] = [],
    ) -> None: ...

class CacheDump:
    def __init__(
        self,
        *,
        file: str,
        policy: str,
        block_bytes: int,
        cache_blocks: int,
        has_hints: bool,
        text_line: int,
        cache_block: NDArray[np.uint32],
        origin_block: NDArray[np.uint64],
        is_dirty: NDArray[np.uint8],
        hint: NDArray[np.uint32],
        text_lines: NDArray[np.int64],
    ) -> None: ...

class System:
    def __init__(
        self,
        name: str,
        params: Mapping[str, ParamValue],
        machine: Machine,
        optimizer: Optimizer | None = None,
        *,
        interval: int = ...,
        seed: int = 1,
        vms: Sequence[str] = (),
        warm_up: int = 0,
        counts_lookups: bool = False,
    ) -> None: ...
    @staticmethod
    def from_python(
        allocator: object,
        machine: Machine,
        *,
        interval: int = ...,
        seed: int = 1,
        vms: Sequence[str] = (),
    ) -> System: ...
    def view(
        self,
        *,
        block_bytes: int = 4096,
        ops: str = "reads",
        key: str = "aligned",
        whole_seconds: bool = False,
        line_blocks: int = 1,
        responses: bool = False,
        classes: bool = False,
        bytes: bool = False,
    ) -> dict[str, Any]: ...
    def use_cache_dump(self, dump: CacheDump, /) -> None: ...
    @property
    def needs_classes(self) -> bool: ...
    @property
    def default_optimizer(self) -> str | None: ...
    @property
    def timers(self) -> list[tuple[str, int, bool]]: ...
    @property
    def meters(self) -> list[MeterSpec]: ...
    @property
    def chooses_write_modes(self) -> bool: ...

class RunResult:
    @property
    def tiers(self) -> dict[str, NDArray[np.int64]]: ...
    @property
    def vms(self) -> dict[str, NDArray[np.int64]]: ...
    @property
    def lengths(self) -> NDArray[np.int64]: ...
    @property
    def decisions(self) -> list[dict[str, Any]]: ...
    @property
    def replay_seconds(self) -> float: ...
    @property
    def decide_seconds(self) -> float: ...

def aligned_cuts(accesses: Accesses, length: int) -> NDArray[np.int64]: ...
def describe_systems() -> list[dict[str, Any]]: ...
def describe_admission() -> list[dict[str, Any]]: ...
def describe_prefetchers() -> list[dict[str, Any]]: ...
def run(
    accesses: Accesses,
    system: System,
    measured: Characterised,
    cuts: NDArray[np.int64],
    progress: Callable[[int], object] | None = None,
    log: BackendLog | None = None,
    *,
    state_from: str | bytes = "",
    state_to: str | bytes = "",
    state_setup: str = "",
) -> RunResult: ...

class BackendLog:
    def __init__(self) -> None: ...
    def take(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint8]]: ...
