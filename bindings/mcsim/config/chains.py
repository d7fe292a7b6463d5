"""A workload of chains in an experiment: requests of KV caches, from a file or generated."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, StrictInt, StrictStr, model_validator

from mcsim.config.placed import Map
from mcsim.config.values import Interval, IntervalLength

_Count = Annotated[StrictInt, Field(ge=1, le=10_000_000)]
_Blocks = Annotated[StrictInt, Field(ge=0, le=1_000_000)]


class ChainTenantSpec(Map, BaseModel):
    """A generated tenant: each prompt extends the last one of its session."""

    requests: _Count
    """number of requests"""
    sessions: _Count
    """number of sessions, of which each request draws one"""
    instructions: _Blocks = 0
    """blocks with which all sessions of the tenant begin"""
    turn: Annotated[list[_Count], Field(min_length=2, max_length=2)]
    """least and greatest number of blocks by which a prompt is longer than the last one"""
    longest: _Count
    """blocks of a prompt after which its session begins anew"""
    start: IntervalLength = Interval(0, False)
    """time since the workload's start at which the requests of the tenant begin"""
    end: IntervalLength | None = None
    """time at which they end; the duration of the workload if not given"""

    @model_validator(mode="after")
    def _is_increasing(self) -> Self:
        if self.turn[0] > self.turn[1]:
            raise ValueError(f"turn: expected least and greatest, got {self.turn}")
        return self


class ChainsSpec(Map, BaseModel):
    """Requests that are chains of blocks; tenants are the VMs of the experiment."""

    file: StrictStr | None = None
    """JSON Lines as of `mcsim kv`, relative to the experiment, or a name to look up in the trace
    folders"""
    ids: Literal["auto", "prefix", "content"] = "auto"
    """what an id of the file names: a prefix, or the content of a block"""
    fields: dict[StrictStr, StrictStr] = {}
    """names of fields of the file, as `--field` of `mcsim kv`"""
    block_tokens: Annotated[StrictInt, Field(ge=1, le=2**31)] | None = None
    """tokens of a block; of a file, that of its collection if not given"""
    tenants: dict[StrictStr, ChainTenantSpec] = {}
    """generated tenants, in place of a file"""
    duration: IntervalLength | None = None
    """length of the generated requests"""

    @model_validator(mode="after")
    def _is_file_or_generated(self) -> Self:
        if (self.file is None) == (not self.tenants):
            raise ValueError("expected either a file or tenants")
        if self.file is None:
            if self.duration is None or self.block_tokens is None:
                raise ValueError("tenants: duration and block_tokens are missing")
            if self.fields or self.ids != "auto":
                raise ValueError("ids and fields: only of a file")
        elif self.duration is not None:
            raise ValueError("duration: only of tenants")
        return self
