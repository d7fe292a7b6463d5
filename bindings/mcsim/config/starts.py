"""What the systems of an experiment start with: states of an earlier run, or a deployed cache."""

from __future__ import annotations

from pydantic import BaseModel, StrictStr

from mcsim.config.placed import Map


class SavedStatesSpec(Map, BaseModel):
    """States of systems that an earlier run saved."""

    state: StrictStr
    """folder that `mcsim run --save-state` wrote, relative to this file: every system starts with
    the blocks that it had there"""


class CacheDumpSpec(Map, BaseModel):
    """Metadata of a deployed dm-cache."""

    cache_dump: StrictStr
    """XML file that `cache_dump` wrote, relative to this one: every system, which must be dm-cache,
    starts with these blocks"""
