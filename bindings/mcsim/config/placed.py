"""The machine of an experiment: its own devices, tiers, the backend and hosts."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    StrictStr,
    WithJsonSchema,
    model_serializer,
)

from mcsim.base import units
from mcsim.config.values import Bandwidth, Bytes, Capacity, Latency, Positive, Price, Quantities


class _Map(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class LinkSpec(_Map):
    """The link to tiers that are outside of the host."""

    latency: Latency
    """round-trip time of each block, in addition to the time of its device"""
    bandwidth: Bandwidth | None = None
    """bytes that it takes in a second; if not given, a block takes no longer for its size"""

    def block_ns(self, block_bytes: int) -> int:
        """How much longer a block takes over it."""
        sent_ns = 0 if self.bandwidth is None else block_bytes * 10**9 / self.bandwidth
        return round(self.latency + sent_ns)


class HostLinkSpec(_Map):
    """The link between hosts, for blocks."""

    latency: Latency
    """waiting time of a read over it, in addition to the time of the tier on the other host"""
    rate: Positive
    """blocks a second that it takes"""

    def block_ns(self, block_bytes: int) -> int:
        """How much longer a block takes over it, of whatever size."""
        del block_bytes
        return round(self.latency + 1e9 / self.rate)


class HostsSpec(_Map):
    """Several hosts, each with tiers of its own, which are alike."""

    names: Annotated[list[StrictStr], Field(min_length=2)]
    """what they are called"""
    vms: dict[StrictStr, StrictStr] = {}
    """where VMs are at first, by name; the first host of those not named"""
    link: HostLinkSpec
    """between any two"""


def _read_over(value: object) -> int | str:
    if value == "link":
        return "link"
    try:
        return units.parse_duration(value)
    except ValueError:
        raise ValueError(f"expected link or a length of time, got {value!r}") from None


Over = Annotated[
    int | Literal["link"],
    BeforeValidator(_read_over),
    PlainSerializer(lambda over: over if over == "link" else units.format_duration(over)),
    WithJsonSchema(
        {"type": ["string", "number"], "description": "link, or a length of time"}
        | {"examples": ["link", "100us"]}
    ),
]


class Map(BaseModel):
    """A map of the schema, written without the keys that were not given."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @model_serializer(mode="wrap")
    def _without_what_is_not_given(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {k: v for k, v in write(self).items() if v is not None or k not in fields}


class DeviceSpec(Map):
    """A device that the catalogue does not have."""

    read: Latency
    """time to read one block"""
    write: Latency
    """time to write one block"""
    price: Price | None = None
    """dollars per 10^9 bytes; without it nothing has a cost"""
    pe_cycles: Positive | None = None
    """program/erase cycles; omit for media that do not wear"""
    drive: Bytes | None = None
    """size of the drive, which wears and is paid as a whole; the tier's capacity if not given"""
    write_amplification: Positive | None = None
    """what it writes for each byte that it is given; 1 if not given"""
    iops: Positive | None = None
    """operations that it can do in a second; if not given, one after the other, as reads take"""
    bandwidth: Bandwidth | None = None
    """bytes that it can read and write in a second; if not given, any number"""
    watts: Positive | None = None
    """power while it works; if not given, tables of runs have no energy"""
    idle_watts: Positive | None = None
    """power while it waits; as while it works if not given"""


class PlacedSpec(Map):
    """A device in its place, with single values overridden at will."""

    device: StrictStr
    """a name of the catalogue or of `devices`, or the time of an access, such as 4ms"""
    read: Latency | None = None
    """instead of the device's own"""
    write: Latency | None = None
    """instead of the device's own"""
    price: Price | None = None
    """instead of the device's own"""
    pe_cycles: Positive | None = None
    """instead of the device's own"""
    drive: Bytes | None = None
    """instead of the device's own"""
    write_amplification: Positive | None = None
    """instead of the device's own"""
    iops: Positive | None = None
    """instead of the device's own"""
    bandwidth: Bandwidth | None = None
    """instead of the device's own"""
    watts: Positive | None = None
    """instead of the device's own"""
    idle_watts: Positive | None = None
    """instead of the device's own"""

    @property
    def quantities(self) -> Quantities:
        """Latencies and price, after devices are resolved; nan if there is no price."""
        assert self.read is not None
        assert self.write is not None
        return Quantities(self.read, self.write, math.nan if self.price is None else self.price)

    @property
    def waits(self) -> tuple[int, int]:
        """Time that a VM waits for a read and for a write of a block, in ns."""
        return self.quantities[:2]

    def drive_bytes(self, blocks: float, block_bytes: int) -> float:
        """Return the bytes of the drive; those of `blocks` if its size is not given."""
        return self.drive or blocks * block_bytes

    def dollars(self, blocks: float, block_bytes: int, hosts: int = 1) -> float:
        """Return the price of the drives on all hosts, or of `blocks`; nan if it has no price."""
        size = hosts * self.drive if self.drive else blocks * block_bytes
        return self.quantities.dollars_per_gb * (size / 1e9)

    @property
    def can_do(self) -> tuple[float, float]:
        """Limits of operations and bytes a second, as the core takes them; 0: no limit."""
        return self.iops or 0, self.bandwidth or 0


class BackendSpec(PlacedSpec):
    """The device that has every block."""

    vms: dict[StrictStr, Latency] | None = None
    """time to read or write one block of VMs with other storage, by name"""


class TierSpec(PlacedSpec):
    """One tier of the cache: a device and its capacity."""

    capacity: Capacity
    """space for all VMs together: blocks, 1GiB, or 10% of the distinct blocks that are replayed"""
    over: Over | None = None
    """where it is elsewhere: `link`, or how much longer a block takes for that"""
    delayed_hits: bool | None = None
    """whether a read of a block that another read is still fetching into this tier waits for it, as
    a delayed hit; if not given, the block is there at once"""

    @property
    def waits(self) -> tuple[int, int]:
        """Times of the device, and of the link if the tier is elsewhere."""
        assert self.over != "link"
        read_ns, write_ns, _ = self.quantities
        return read_ns + (self.over or 0), write_ns + (self.over or 0)
