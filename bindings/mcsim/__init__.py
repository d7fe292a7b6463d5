"""mcsim: a simulator of host-side storage caches shared by many virtual machines.

    import mcsim as mc

    trace = mc.Trace.open("web_0.csv.gz")
    mc.hit_ratio_curve(trace).at(10_000)
    results = mc.run("experiments/tiny.yaml", figures=False)
    results.metrics()

Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcsim.base.errors import ConfigError, McsimError, TraceError
    from mcsim.base.package import get_cmake_dir, get_include
    from mcsim.base.rows import Rows
    from mcsim.config import ExperimentSpec
    from mcsim.experiment.allocator import Allocator, Decision, Observation
    from mcsim.experiment.migration import Migration
    from mcsim.experiment.runner import run
    from mcsim.locality.curves import HitRatioCurves
    from mcsim.locality.estimators import (
        HitRatioCurve,
        estimate,
        estimator_names,
        hit_ratio_curve,
        reuse_distances,
    )
    from mcsim.locality.measure import hit_ratio_curves
    from mcsim.locality.mix import mix
    from mcsim.locality.whatif import what_if
    from mcsim.optimizers.optimizer import optimize
    from mcsim.policies.miniatures import miniature
    from mcsim.policies.python_policies import Policy, PriorityPolicy
    from mcsim.policies.simulation import memory_needed, simulate, simulate_lines
    from mcsim.policies.specs import load_policies, policy_names, wrapper_names
    from mcsim.policies.tuning import tune
    from mcsim.report.make import report
    from mcsim.reproduce.reproduction import reproduce
    from mcsim.results.results import Results
    from mcsim.searches.search import search
    from mcsim.sweeps.sweep import sweep
    from mcsim.sweeps.swept import Sweep
    from mcsim.traces.blocks import Blocks
    from mcsim.traces.trace import Trace

_HOME = {
    "Allocator": "experiment.allocator",
    "Blocks": "traces.blocks",
    "ConfigError": "base.errors",
    "Decision": "experiment.allocator",
    "ExperimentSpec": "config",
    "HitRatioCurve": "locality",
    "HitRatioCurves": "locality",
    "McsimError": "base.errors",
    "Migration": "experiment.migration",
    "Observation": "experiment.allocator",
    "Policy": "policies.python_policies",
    "PriorityPolicy": "policies.python_policies",
    "Results": "results.results",
    "Rows": "base.rows",
    "Sweep": "sweeps.swept",
    "Trace": "traces.trace",
    "TraceError": "base.errors",
    "__version__": "_core",
    "estimate": "locality",
    "estimator_names": "locality",
    "get_cmake_dir": "base.package",
    "get_include": "base.package",
    "hit_ratio_curve": "locality",
    "hit_ratio_curves": "locality.measure",
    "load_policies": "policies.specs",
    "memory_needed": "policies.simulation",
    "miniature": "policies.miniatures",
    "mix": "locality.mix",
    "optimize": "optimizers",
    "policy_names": "policies.specs",
    "report": "report.make",
    "reuse_distances": "locality",
    "run": "experiment.runner",
    "search": "searches.search",
    "simulate": "policies.simulation",
    "simulate_lines": "policies.simulation",
    "sweep": "sweeps.sweep",
    "tune": "policies.tuning",
    "what_if": "locality.whatif",
    "wrapper_names": "policies.specs",
}

__all__ = [
    "Allocator",
    "Blocks",
    "ConfigError",
    "Decision",
    "ExperimentSpec",
    "HitRatioCurve",
    "HitRatioCurves",
    "McsimError",
    "Migration",
    "Observation",
    "Policy",
    "PriorityPolicy",
    "Results",
    "Rows",
    "Sweep",
    "Trace",
    "TraceError",
    "__version__",
    "estimate",
    "estimator_names",
    "get_cmake_dir",
    "get_include",
    "hit_ratio_curve",
    "hit_ratio_curves",
    "load_policies",
    "memory_needed",
    "miniature",
    "mix",
    "optimize",
    "policy_names",
    "report",
    "reproduce",
    "reuse_distances",
    "run",
    "search",
    "simulate",
    "simulate_lines",
    "sweep",
    "tune",
    "what_if",
    "wrapper_names",
]


# Rooms whose own names are documented, `help(mcsim.optimizers.Optimizer)`, or that can be called.
_ROOMS = ("figures", "locality", "optimizers", "policies", "reproduce", "results", "traces")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"mcsim.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'mcsim' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f"mcsim.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "mcsim._core":
            raise
        from mcsim.base.errors import CORE_IS_MISSING

        raise ImportError(CORE_IS_MISSING, name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
