"""mcsim: a simulator of host-side storage caches shared by many virtual machines.

    import mcsim as mc

    trace = mc.Trace.open("web_0.csv.gz")
    mc.hit_ratio_curve(trace).at(10_000)
    results = mc.run("tiny", figures=False)
    results.metrics()

Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
import sys as _sys
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcsim.base.errors import ConfigError as ConfigError
    from mcsim.base.errors import HostError as HostError
    from mcsim.base.errors import InternalError as InternalError
    from mcsim.base.errors import McsimError as McsimError
    from mcsim.base.errors import MissingOutputError as MissingOutputError
    from mcsim.base.errors import OutOfMemoryError as OutOfMemoryError
    from mcsim.base.errors import TraceError as TraceError
    from mcsim.base.package import get_cmake_dir as get_cmake_dir
    from mcsim.base.package import get_include as get_include
    from mcsim.config import ExperimentSpec as ExperimentSpec
    from mcsim.contests.contest import arena as arena
    from mcsim.contests.ranking import Ranking as Ranking
    from mcsim.experiment.allocator import Allocator as Allocator
    from mcsim.experiment.allocator import Decision as Decision
    from mcsim.experiment.allocator import Observation as Observation
    from mcsim.experiment.answers import Migration as Migration
    from mcsim.experiment.catalogue import describe as describe
    from mcsim.experiment.catalogue import device_names as device_names
    from mcsim.experiment.catalogue import experiment_names as experiment_names
    from mcsim.experiment.catalogue import format_names as format_names
    from mcsim.experiment.catalogue import system_names as system_names
    from mcsim.experiment.misses import misses as misses
    from mcsim.experiment.runner import run as run
    from mcsim.locality.curve import HitRatioCurve as HitRatioCurve
    from mcsim.locality.distances import distance_histogram as distance_histogram
    from mcsim.locality.estimators import estimate as estimate
    from mcsim.locality.estimators import estimator_names as estimator_names
    from mcsim.locality.estimators import hit_ratio_curve as hit_ratio_curve
    from mcsim.locality.estimators import reuse_distances as reuse_distances
    from mcsim.locality.measure import HitRatioCurves as HitRatioCurves
    from mcsim.locality.measure import hit_ratio_curves as hit_ratio_curves
    from mcsim.locality.mix import Mix as Mix
    from mcsim.locality.mix import mix as mix
    from mcsim.locality.prefix_divisions import prefix_partition as prefix_partition
    from mcsim.locality.prefix_parts import prefix_tiers as prefix_tiers
    from mcsim.locality.prefix_sharing import prefix_sharing as prefix_sharing
    from mcsim.locality.prefixes import PrefixCurve as PrefixCurve
    from mcsim.locality.prefixes import prefix_curve as prefix_curve
    from mcsim.locality.prefixes import prefix_curves as prefix_curves
    from mcsim.locality.whatif import WhatIf as WhatIf
    from mcsim.locality.whatif import what_if as what_if
    from mcsim.optimizers.optimizer import Solution as Solution
    from mcsim.optimizers.optimizer import optimize as optimize
    from mcsim.policies.comparison import compare as compare
    from mcsim.policies.miniatures import miniature as miniature
    from mcsim.policies.prefix_replays import prefix_replay as prefix_replay
    from mcsim.policies.python_policies import Policy as Policy
    from mcsim.policies.python_policies import PriorityPolicy as PriorityPolicy
    from mcsim.policies.simulation import memory_needed as memory_needed
    from mcsim.policies.simulation import simulate as simulate
    from mcsim.policies.simulation import simulate_lines as simulate_lines
    from mcsim.policies.specs import library_versions as library_versions
    from mcsim.policies.specs import load_policies as load_policies
    from mcsim.policies.specs import policy_names as policy_names
    from mcsim.policies.specs import wrapper_names as wrapper_names
    from mcsim.policies.tuning import tune as tune
    from mcsim.references.blocks import Blocks as Blocks
    from mcsim.references.objects import in_bytes as in_bytes
    from mcsim.report.make import report as report
    from mcsim.reproduce.reproduction import Reproduction as Reproduction
    from mcsim.reproduce.reproduction import reproduce as reproduce
    from mcsim.results.results import Results as Results
    from mcsim.searches.advice import Advice as Advice
    from mcsim.searches.advice import advise as advise
    from mcsim.searches.search import search as search
    from mcsim.searches.search_state import Found as Found
    from mcsim.sweeps.sweep import sweep as sweep
    from mcsim.sweeps.swept import Sweep as Sweep
    from mcsim.tables.result_table import ResultTable as ResultTable
    from mcsim.traces.cache_counters import cache_counters as cache_counters
    from mcsim.traces.cache_device import cache_device as cache_device
    from mcsim.traces.chains import ChainTrace as ChainTrace
    from mcsim.traces.chains import read_chains as read_chains
    from mcsim.traces.trace import Trace as Trace

# Where public names live.
_HOME = {
    name: home
    for home, names in {
        "_core": ("__version__",),
        "base.errors": (
            "ConfigError",
            "HostError",
            "InternalError",
            "McsimError",
            "MissingOutputError",
            "OutOfMemoryError",
            "TraceError",
        ),
        "base.package": ("get_cmake_dir", "get_include"),
        "tables.result_table": ("ResultTable",),
        "config": ("ExperimentSpec",),
        "contests.contest": ("arena",),
        "contests.ranking": ("Ranking",),
        "experiment.allocator": ("Allocator", "Decision", "Observation"),
        "experiment.catalogue": (
            *("describe", "device_names", "experiment_names", "format_names", "system_names"),
        ),
        "experiment.answers": ("Migration",),
        "experiment.misses": ("misses",),
        "experiment.runner": ("run",),
        "locality": (
            "HitRatioCurve",
            "HitRatioCurves",
            "estimate",
            "estimator_names",
            "hit_ratio_curve",
            "reuse_distances",
        ),
        "locality.distances": ("distance_histogram",),
        "locality.measure": ("hit_ratio_curves",),
        "locality.mix": ("Mix", "mix"),
        "locality.prefix_divisions": ("prefix_partition",),
        "locality.prefix_parts": ("prefix_tiers",),
        "locality.prefix_sharing": ("prefix_sharing",),
        "locality.prefixes": ("PrefixCurve", "prefix_curve", "prefix_curves"),
        "locality.whatif": ("WhatIf", "what_if"),
        "optimizers": ("Solution", "optimize"),
        "policies.comparison": ("compare",),
        "policies.miniatures": ("miniature",),
        "policies.prefix_replays": ("prefix_replay",),
        "policies.python_policies": ("Policy", "PriorityPolicy"),
        "policies.simulation": ("memory_needed", "simulate", "simulate_lines"),
        "policies.specs": ("library_versions", "load_policies", "policy_names", "wrapper_names"),
        "policies.tuning": ("tune",),
        "report.make": ("report",),
        "reproduce.reproduction": ("Reproduction", "reproduce"),
        "results.results": ("Results",),
        "searches.advice": ("Advice", "advise"),
        "searches.search_state": ("Found",),
        "searches.search": ("search",),
        "searches.settings": ("FoundSettings", "search_settings"),
        "sweeps.sweep": ("sweep",),
        "sweeps.swept": ("Sweep",),
        "references.blocks": ("Blocks",),
        "references.objects": ("in_bytes",),
        "traces.cache_counters": ("cache_counters",),
        "traces.cache_device": ("cache_device",),
        "traces.chains": ("ChainTrace", "read_chains"),
        "traces.trace": ("Trace",),
    }.items()
    for name in names
}

__all__ = sorted(_HOME)

# Packages with documented names of their own, such as `mcsim.optimizers.Optimizer`.
_ROOMS = ("figures", "locality", "optimizers", "policies", "results", "traces")


class _Package(_ModuleType):
    """The package: its functions `report` and `reproduce` keep their names."""

    def __setattr__(self, name: str, value: Any) -> None:
        # An import of a subpackage sets it as an attribute; these two have a function's name.
        if not (name in _HOME and isinstance(value, _ModuleType)):
            super().__setattr__(name, value)
        if name == "tables":  # Charts are in rooms above that of tables.
            importlib.import_module("mcsim.tables.charts").load_with(_load_charts)


_sys.modules[__name__].__class__ = _Package


def _load_charts() -> None:
    importlib.import_module("mcsim.figures.tables")


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
