from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

def formats() -> list[dict[str, Any]]: ...
def detect_format(path: str | bytes) -> str: ...
def vm_name_of(path: str | bytes) -> str: ...
def check_vm_name(name: str) -> None: ...
def wrong_in(
    time: npt.NDArray[np.int64],
    vm: npt.NDArray[np.uint16],
    op: npt.NDArray[np.uint8],
    offset: npt.NDArray[np.uint64],
    length: npt.NDArray[np.uint32],
    response: npt.NDArray[np.int64],
    classes: npt.NDArray[np.uint8] | None = None,
    *,
    vms: int,
    kind: Literal["blocks", "objects"] = "blocks",
    first_row: int = 0,
    after: int | None = None,
) -> str | None: ...
def checksum(
    time: npt.NDArray[np.int64],
    vm: npt.NDArray[np.uint16],
    op: npt.NDArray[np.uint8],
    offset: npt.NDArray[np.uint64],
    length: npt.NDArray[np.uint32],
    response: npt.NDArray[np.int64],
    classes: npt.NDArray[np.uint8] | None = None,
    *,
    first_row: int,
) -> int: ...

class RowCounts:
    @property
    def filtered(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def flushes(self) -> int: ...
    @property
    def repeated(self) -> int: ...
    @property
    def complaints(self) -> list[str]: ...

class Reader:
    def __init__(
        self,
        path: str | bytes,
        format: str,
        params: Mapping[str, bool | int | float | str],
        skip_bad_lines: bool,
        keep_unsorted: bool,
        vm_name: str | None = None,
    ) -> None: ...
    def next(
        self,
    ) -> tuple[npt.NDArray[Any], ...] | None: ...
    @property
    def time_base(self) -> Literal["clock", "index"]: ...
    @property
    def has_lengths(self) -> bool: ...
    @property
    def vms(self) -> list[str]: ...
    @property
    def unsorted(self) -> bool: ...
    @property
    def consumed(self) -> int: ...
    @property
    def kind(self) -> Literal["blocks", "objects"]: ...
    @property
    def rows(self) -> RowCounts: ...
    @property
    def keys(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]] | None: ...

class TableRows(Reader):
    def __init__(
        self,
        name: str,
        columns: Sequence[str],
        params: Mapping[str, bool | int | float | str],
        vm_name: str,
        skip_bad_rows: bool,
        keep_unsorted: bool,
    ) -> None: ...
    def uses(self, column: int) -> bool: ...
    def add(
        self,
        columns: Sequence[
            tuple[npt.NDArray[Any], npt.NDArray[np.uint8] | None, npt.NDArray[np.uint8] | None]
            | None
        ],
        rows: int,
    ) -> tuple[npt.NDArray[Any], ...]: ...

class VmSummary:
    def __init__(self) -> None: ...
    @property
    def requests(self) -> int: ...
    @property
    def discards(self) -> int: ...
    @property
    def read_requests(self) -> int: ...
    @property
    def blocks(self) -> int: ...
    @property
    def read_blocks(self) -> int: ...
    @property
    def unique_blocks(self) -> int: ...
    @property
    def unique_read_blocks(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def first_time(self) -> int: ...
    @property
    def last_time(self) -> int: ...
    @property
    def largest_request(self) -> int: ...
    @property
    def median_request(self) -> float: ...

class Summary:
    def __init__(self, block_bytes: int, kind: Literal["blocks", "objects"] = "blocks") -> None: ...
    def add(
        self,
        time: npt.NDArray[np.int64],
        vm: npt.NDArray[np.uint16],
        op: npt.NDArray[np.uint8],
        offset: npt.NDArray[np.uint64],
        length: npt.NDArray[np.uint32],
    ) -> None: ...
    def vms(self) -> list[VmSummary]: ...
    def total(self) -> VmSummary: ...
