"""The hosts of an experiment, and the link between them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from mcsim.config.values import Latency, Positive

__all__ = ["HostsSpec", "LinkSpec"]


class LinkSpec(BaseModel):
    """What hosts send each other blocks over."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    latency: Latency
    """what a read over it waits for besides the tier that has the block on the other host"""
    rate: Positive
    """blocks a second that it takes"""


class HostsSpec(BaseModel):
    """Several hosts, each with tiers of its own, which are alike."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    names: Annotated[list[StrictStr], Field(min_length=2)]
    """what they are called"""
    vms: dict[StrictStr, StrictStr] = {}
    """where VMs are at first, by name; the first host of those not named"""
    link: LinkSpec
    """between any two"""
