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
    from mcsim.base.errors import ConfigError as ConfigError
    from mcsim.base.errors import McsimError as McsimError
    from mcsim.base.errors import TraceError as TraceError
    from mcsim.base.package import get_cmake_dir as get_cmake_dir
    from mcsim.base.package import get_include as get_include
    from mcsim.base.result_table import ResultTable as ResultTable
    from mcsim.config import ExperimentSpec as ExperimentSpec
    from mcsim.experiment.allocator import Allocator as Allocator
    from mcsim.experiment.allocator import Decision as Decision
    from mcsim.experiment.allocator import Observation as Observation
    from mcsim.experiment.migration import Migration as Migration
    from mcsim.experiment.runner import run as run
    from mcsim.locality.curves import HitRatioCurves as HitRatioCurves
    from mcsim.locality.estimators import HitRatioCurve as HitRatioCurve
    from mcsim.locality.estimators import estimate as estimate
    from mcsim.locality.estimators import estimator_names as estimator_names
    from mcsim.locality.estimators import hit_ratio_curve as hit_ratio_curve
    from mcsim.locality.estimators import reuse_distances as reuse_distances
    from mcsim.locality.measure import hit_ratio_curves as hit_ratio_curves
    from mcsim.locality.mix import mix as mix
    from mcsim.locality.whatif import what_if as what_if
    from mcsim.optimizers.optimizer import optimize as optimize
    from mcsim.policies.miniatures import miniature as miniature
    from mcsim.policies.python_policies import Policy as Policy
    from mcsim.policies.python_policies import PriorityPolicy as PriorityPolicy
    from mcsim.policies.simulation import memory_needed as memory_needed
    from mcsim.policies.simulation import simulate as simulate
    from mcsim.policies.simulation import simulate_lines as simulate_lines
    from mcsim.policies.specs import load_policies as load_policies
    from mcsim.policies.specs import policy_names as policy_names
    from mcsim.policies.specs import wrapper_names as wrapper_names
    from mcsim.policies.tuning import tune as tune
    from mcsim.report.make import report as report
    from mcsim.reproduce.reproduction import reproduce as reproduce
    from mcsim.results.results import Results as Results
    from mcsim.searches.search import search as search
    from mcsim.sweeps.sweep import sweep as sweep
    from mcsim.sweeps.swept import Sweep as Sweep
    from mcsim.traces.blocks import Blocks as Blocks
    from mcsim.traces.trace import Trace as Trace

# Where public names live.
_HOME = {
    name: home
    for home, names in {
        "_core": ("__version__",),
        "base.errors": ("ConfigError", "McsimError", "TraceError"),
        "base.package": ("get_cmake_dir", "get_include"),
        "base.result_table": ("ResultTable",),
        "config": ("ExperimentSpec",),
        "experiment.allocator": ("Allocator", "Decision", "Observation"),
        "experiment.migration": ("Migration",),
        "experiment.runner": ("run",),
        "locality": (
            "HitRatioCurve",
            "HitRatioCurves",
            "estimate",
            "estimator_names",
            "hit_ratio_curve",
            "reuse_distances",
        ),
        "locality.measure": ("hit_ratio_curves",),
        "locality.mix": ("mix",),
        "locality.whatif": ("what_if",),
        "optimizers": ("optimize",),
        "policies.miniatures": ("miniature",),
        "policies.python_policies": ("Policy", "PriorityPolicy"),
        "policies.simulation": ("memory_needed", "simulate", "simulate_lines"),
        "policies.specs": ("load_policies", "policy_names", "wrapper_names"),
        "policies.tuning": ("tune",),
        "report.make": ("report",),
        "results.results": ("Results",),
        "searches.search": ("search",),
        "sweeps.sweep": ("sweep",),
        "sweeps.swept": ("Sweep",),
        "traces.blocks": ("Blocks",),
        "traces.trace": ("Trace",),
    }.items()
    for name in names
}

__all__ = sorted([*_HOME, "reproduce"])

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
