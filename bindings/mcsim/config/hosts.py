"""The hosts of an experiment, and what is reached over a link."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictStr,
    WithJsonSchema,
)

from mcsim.base import units
from mcsim.config.values import Bandwidth, Latency, Positive


class _Map(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class LinkSpec(_Map):
    """What tiers that are elsewhere are reached over."""

    latency: Latency
    """what each block waits for besides the device that has it, there and back"""
    bandwidth: Bandwidth | None = None
    """bytes that it takes in a second; if not given, a block takes no longer for its size"""

    def block_ns(self, block_bytes: int) -> int:
        """How much longer a block takes over it."""
        sent_ns = 0 if self.bandwidth is None else block_bytes * 10**9 / self.bandwidth
        return round(self.latency + sent_ns)


class HostLinkSpec(_Map):
    """What hosts send each other blocks over."""

    latency: Latency
    """what a read over it waits for besides the tier that has the block on the other host"""
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
