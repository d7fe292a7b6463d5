"""Hit ratio curves: exact, estimated, and their queries."""

from __future__ import annotations

from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import (
    Estimator,
    estimate,
    estimator_names,
    hit_ratio_curve,
    reuse_distances,
)
from mcsim.locality.hit_units import COLD
from mcsim.locality.measure import HitRatioCurves
from mcsim.locality.partial import PartialDistances, analyse, merge
from mcsim.locality.steps import Knee

__all__ = [
    "COLD",
    "Estimator",
    "HitRatioCurve",
    "HitRatioCurves",
    "Knee",
    "PartialDistances",
    "analyse",
    "estimate",
    "estimator_names",
    "hit_ratio_curve",
    "merge",
    "reuse_distances",
]
