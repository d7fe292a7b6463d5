"""mcsim: a simulator of host-side storage caches shared by many virtual machines.

    import mcsim as mc

    trace = mc.Trace.open("web_0.csv.gz")
    results = mc.run("experiments/web.yaml")
    results.to_pandas("metrics")

Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcsim.config import ExperimentSpec
    from mcsim.errors import ConfigError, McsimError, TraceError
    from mcsim.locality import (
        HitRatioCurve,
        estimate,
        estimator_names,
        hit_ratio_curve,
        reuse_distances,
    )
    from mcsim.miniatures import miniature
    from mcsim.optimizers import optimize
    from mcsim.policies import memory_needed, policy_names, simulate, wrapper_names
    from mcsim.results import Results
    from mcsim.runner import run
    from mcsim.traces import Trace

CORE_IS_MISSING = (
    "the compiled core of mcsim is missing: run `pip install .` in the source tree, or use its "
    "launcher `./mcsim`"
)

_HOME = {
    "ConfigError": "errors",
    "ExperimentSpec": "config",
    "HitRatioCurve": "locality",
    "McsimError": "errors",
    "Results": "results",
    "Trace": "traces",
    "TraceError": "errors",
    "__version__": "_core",
    "estimate": "locality",
    "estimator_names": "locality",
    "hit_ratio_curve": "locality",
    "memory_needed": "policies",
    "miniature": "miniatures",
    "optimize": "optimizers",
    "policy_names": "policies",
    "reuse_distances": "locality",
    "run": "runner",
    "simulate": "policies",
    "wrapper_names": "policies",
}

__all__ = [
    "ConfigError",
    "ExperimentSpec",
    "HitRatioCurve",
    "McsimError",
    "Results",
    "Trace",
    "TraceError",
    "__version__",
    "estimate",
    "estimator_names",
    "hit_ratio_curve",
    "memory_needed",
    "miniature",
    "optimize",
    "policy_names",
    "reuse_distances",
    "run",
    "simulate",
    "wrapper_names",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'mcsim' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f"mcsim.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "mcsim._core":
            raise
        raise ImportError(CORE_IS_MISSING, name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
