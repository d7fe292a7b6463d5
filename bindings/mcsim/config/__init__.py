"""Experiments as YAML: the schema (`spec`) and the strict loader (`load`)."""

from __future__ import annotations

from mcsim.config.load import Source, check_spec
from mcsim.config.spec import ExperimentSpec

__all__ = ["ExperimentSpec", "Source", "check_spec"]
