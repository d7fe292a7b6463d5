from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ParamValue = bool | int | float | str | Mapping[str, float]
_Config = tuple[str | PythonPolicy, Mapping[str, _ParamValue], int]

class PythonPolicy:
    def __init__(
        self, name: str, is_function: bool, factory: Callable[[int, int], object]
    ) -> None: ...

def put(name: str, policy: PythonPolicy) -> None: ...
def describe() -> list[dict[str, Any]]: ...
def wrappers() -> list[str]: ...
def describe_weighing() -> list[dict[str, Any]]: ...
def describe_libraries() -> list[dict[str, Any]]: ...
def load(path: str | bytes) -> list[str]: ...
def number(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint32], int]: ...
def spread(blocks: NDArray[np.uint32], unique: int) -> tuple[float, int]: ...

_Discards = tuple[NDArray[np.uint64], NDArray[np.uint32]]
_Requests = tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32], int]

def simulate(
    blocks: NDArray[np.uint32],
    unique: int,
    configs: Sequence[_Config],
    ops: NDArray[np.uint8] | None = None,
    seed: int = 1,
    threads: int = 1,
    memory: int = ...,
    one_pass: bool = True,
    progress: Callable[[int], object] | None = None,
    line_blocks: int = 1,
    warm_up: int = 0,
    discards: _Discards | None = None,
    requests: _Requests | None = None,
    weights: NDArray[np.uint32] | None = None,
    times: NDArray[np.int64] | None = None,
) -> dict[str, NDArray[Any]]: ...
def read_times(configs: Sequence[_Config]) -> bool: ...
def memory_needed(
    blocks: NDArray[np.uint32],
    unique: int,
    configs: Sequence[_Config],
    memory: int = ...,
    one_pass: bool = True,
    line_blocks: int = 1,
    weights: NDArray[np.uint32] | None = None,
) -> NDArray[np.int64]: ...
def miniature_rate(capacity: int, rate: float, min_blocks: int, seeds: int) -> float: ...
def miniatures(
    blocks: NDArray[np.uint32],
    unique: int,
    configs: Sequence[_Config],
    rate: float,
    min_blocks: int,
    sample_seeds: Sequence[int],
    ops: NDArray[np.uint8] | None = None,
    seed: int = 1,
    threads: int = 1,
    memory: int = ...,
    progress: Callable[[int], object] | None = None,
    discards: _Discards | None = None,
    weights: NDArray[np.uint32] | None = None,
    times: NDArray[np.int64] | None = None,
) -> dict[str, NDArray[Any]]: ...

_Chains = tuple[NDArray[np.int64], NDArray[np.uint32], int]

leaf_rules: tuple[str, ...]

def chain_depths(chains: _Chains) -> NDArray[np.uint32]: ...
def chain_conflicts(chains: _Chains) -> int: ...
def count_values(values: NDArray[np.uint32], end: int) -> NDArray[np.int64]: ...
def prefix_hits(
    chains: _Chains,
    policy: str,
    params: Mapping[str, _ParamValue],
    capacity: int,
    seed: int,
    head_first: bool,
) -> NDArray[np.uint32]: ...
def trie_prefix_hits(
    chains: _Chains,
    rule: str,
    capacity: int,
    finishes: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None,
) -> NDArray[np.uint32]: ...
def divided_prefix_hits(
    chains: _Chains,
    divisions: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64], int],
) -> NDArray[np.uint32]: ...
def tiers_of_copies(chains: _Chains, tiers: Sequence[int]) -> NDArray[np.uint8]: ...
