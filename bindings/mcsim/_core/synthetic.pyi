from typing import Any

class StackModel:
    def __init__(self, *, curve: list[tuple[int, float]], log: bool) -> None: ...

class ZipfModel:
    def __init__(self, *, blocks: int, alpha: float) -> None: ...

class LoopModel:
    def __init__(self, *, blocks: int) -> None: ...

class ScanModel:
    def __init__(self) -> None: ...

class Component:
    def __init__(
        self,
        *,
        name: str,
        model: StackModel | ZipfModel | LoopModel | ScanModel,
        sizes: list[tuple[int, float]],
        of_class: int | None = None,
    ) -> None: ...
    def validate(self) -> None: ...
    def bytes_needed(self, block_bytes: int) -> float: ...

class Diurnal:
    def __init__(self, *, amplitude: float, peak: int) -> None: ...

class Bursts:
    def __init__(
        self,
        *,
        period: int,
        length: int,
        share: float,
        reads: list[tuple[str, float]],
        writes: list[tuple[str, float]],
    ) -> None: ...

class Client:
    def __init__(self, *, cache_blocks: int, hit: int, miss: int, write: int) -> None: ...
    def validate(self) -> None: ...

class Phase:
    def __init__(
        self,
        *,
        start: int,
        duration: int,
        requests: int,
        think: int | None = None,
        read_share: float,
        reads: list[tuple[str, float]],
        writes: list[tuple[str, float]],
        diurnal: Diurnal | None = None,
        bursts: Bursts | None = None,
    ) -> None: ...
    def validate(self, components: list[str], client: Client | None) -> None: ...

class Vm:
    def __init__(
        self,
        *,
        name: str,
        components: list[Component],
        phases: list[Phase],
        client: Client | None = None,
    ) -> None: ...
    def validate(self) -> None: ...

def validate(vms: list[Vm]) -> None: ...

class Generator:
    def __init__(self, *, vms: list[Vm], block_bytes: int, seed: int) -> None: ...
    @property
    def request_count(self) -> int: ...
    def next(self, limit: int) -> dict[str, Any]: ...
