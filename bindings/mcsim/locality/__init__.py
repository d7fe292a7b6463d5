"""Hit ratio curves: estimated, measured on traces, asked."""

from __future__ import annotations

from mcsim.locality.curve import HitRatioCurve, Knee
from mcsim.locality.estimators import (
    COLD,
    Estimator,
    PartialDistances,
    analyse,
    estimate,
    estimator_names,
    hit_ratio_curve,
    merge,
    reuse_distances,
)

__all__ = [
    "COLD",
    "Estimator",
    "HitRatioCurve",
    "Knee",
    "PartialDistances",
    "analyse",
    "estimate",
    "estimator_names",
    "hit_ratio_curve",
    "merge",
    "reuse_distances",
]
