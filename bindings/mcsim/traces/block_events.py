"""Events of all kinds of one device, from blktrace."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mcsim.base.errors import TraceError, host_faults
from mcsim.base.inputs import note_input, printable

QUEUED, COMPLETED, REMAPPED = 1, 8, 15
"""Events: a request enters the device, ends, or was mapped to it from a device above."""

WRITE, META, DISCARD = 1 << 1, 1 << 12, 1 << 13
"""Bits of categories."""

_PASS_THROUGH, _NOTIFY = 1 << 9, 1 << 10
_HAS_CGROUP = 1 << 8  # of the event; the id of a control group precedes the other data
_EVENT = 0xFEFF
SECTOR = 512
_MAGIC, _VERSION = 0x656174, 7
_RECORD = np.dtype(
    [
        ("magic", "<u4"), ("sequence", "<u4"), ("time", "<u8"), ("sector", "<u8"),
        ("bytes", "<u4"), ("event", "<u2"), ("category", "<u2"), ("process", "<u4"),
        ("device", "<u4"), ("processor", "<u4"), ("error", "<u2"), ("payload", "<u2"),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class BlockEvents:
    """Events of one device in the order of time.

    Attributes
    ----------
    device : int
        Its number: 12 bits of the major one, 20 of the minor one.
    time, sector, bytes, event, category : array
        One value for each event.
    from_device, from_sector : array
        The device above and its sector, of events that are remaps; 0 in others.
    """

    device: int
    time: NDArray[np.int64]
    sector: NDArray[np.int64]
    bytes: NDArray[np.int64]
    event: NDArray[np.int64]
    category: NDArray[np.int64]
    from_device: NDArray[np.int64]
    from_sector: NDArray[np.int64]

    @property
    def name(self) -> str:
        """The device as blkparse prints it, such as 8,0."""
        return device_name(self.device)


def device_name(device: int) -> str:
    """Return the major and minor number of a device."""
    return f"{device >> 20},{device & 0xFFFFF}"


def read_block_events(files: Sequence[Path]) -> BlockEvents:
    """Read the files of one device, one for each processor; they may be compressed.

    Raises
    ------
    TraceError
        If a file is no blktrace, or has events of several devices.
    """
    parts = [_read(file) for file in files]
    records = np.concatenate([records for records, _ in parts])
    remaps = np.concatenate([remaps for _, remaps in parts])
    named = printable(str(files[0]))
    devices = np.unique(records["device"])
    if len(devices) != 1:
        names = ", ".join(device_name(int(device)) for device in devices[:5])
        raise TraceError(f"{named}: expected events of one device, got {names or 'none'}")
    order = np.argsort(records["time"], kind="stable")
    records, remaps = records[order], remaps[order]

    def column(name: str) -> NDArray[np.int64]:
        return records[name].astype(np.int64)

    return BlockEvents(
        device=int(devices[0]),
        time=column("time"),
        sector=column("sector"),
        bytes=column("bytes"),
        event=column("event") & _EVENT,
        category=column("category"),
        from_device=remaps[:, 0],
        from_sector=remaps[:, 1],
    )


def _read(file: Path) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Return the events of a file without messages, and what remaps are from."""
    import pyarrow as pa

    note_input(file)
    named = printable(str(file))
    with host_faults(file), pa.input_stream(str(file)) as opened:
        data = bytes(opened.read())
    if not data:  # of an idle processor
        return np.empty(0, _RECORD), np.zeros((0, 2), np.int64)
    order: Literal["<", ">"] = "<" if data[:1] == bytes([_VERSION]) else ">"
    if data[:4] != struct.pack(f"{order}I", _MAGIC << 8 | _VERSION):
        raise TraceError(f"{named}: not a binary file of blktrace, version {_VERSION}")
    layout = _RECORD.newbyteorder(order)
    starts = _starts(data, order, named)
    gathered = np.frombuffer(data, np.uint8)[starts[:, None] + np.arange(layout.itemsize)]
    records = gathered.view(layout).reshape(-1).astype(_RECORD)
    for at in np.flatnonzero(records["magic"] != (_MAGIC << 8 | _VERSION))[:1]:
        magic = int(records["magic"][at])
        raise TraceError(
            f"{named}: record {at + 1}: expected 0x{_MAGIC << 8 | _VERSION:08x}, got 0x{magic:08x}"
        )
    is_event = records["category"] & (_NOTIFY | _PASS_THROUGH) == 0
    records, starts = records[is_event], starts[is_event]
    remaps = np.zeros((len(records), 2), np.int64)
    for at in np.flatnonzero((records["event"] & _EVENT) == REMAPPED):
        prefix = 8 if records["event"][at] & _HAS_CGROUP else 0
        if records["payload"][at] >= prefix + 16:
            device, _, sector = struct.unpack_from(">IIQ", data, starts[at] + 48 + prefix)
            remaps[at] = device, sector
    return records, remaps


def _starts(data: bytes, order: str, named: str) -> NDArray[np.int64]:
    """Return where records begin: each states the length of the data after it."""
    starts: list[int] = []
    at, size = 0, _RECORD.itemsize
    read_length = struct.Struct(f"{order}H").unpack_from
    while at + size <= len(data):
        starts.append(at)
        at += size + read_length(data, at + size - 2)[0]
    if at != len(data):
        raise TraceError(f"{named}: record {len(starts) + (at < len(data))}: the file ends in it")
    return np.array(starts, np.int64)
