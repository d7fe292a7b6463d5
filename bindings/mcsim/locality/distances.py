"""The histogram of reuse distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import estimate
from mcsim.references.blocks import References
from mcsim.tables.result_table import ResultTable


def distance_histogram(
    references: References | HitRatioCurve, estimator: str = "exact", **params: Any
) -> ResultTable:
    """Count the accesses by LRU reuse distance, in classes that double.

    Parameters
    ----------
    references : Trace, sequence of Trace, Blocks, array_like of int, or HitRatioCurve
        As of `estimate`; a curve has the distances as the differences of its hits.
    estimator, **params
        As of `estimate`.

    Returns
    -------
    ResultTable
        ``from`` and ``to``, the first and last distance of each class in blocks, ``accesses``,
        ``share`` of all accesses, and ``hit_ratio`` of an LRU cache of ``to + 1`` blocks. The
        last row, of first accesses, has -1 as both.

    Raises
    ------
    TypeError, ConfigError
        As of `estimate`.

    References
    ----------
    R. L. Mattson et al., *Evaluation techniques for storage hierarchies*, IBM Systems
    Journal 9(2), 1970.

    Examples
    --------
    >>> mc.distance_histogram([3, 2, 1, 4, 1, 2, 3])[["from", "to", "accesses"]].tolist()
    [(0, 0, 0.0), (1, 1, 1.0), (2, 3, 2.0), (-1, -1, 4.0)]
    """
    if isinstance(references, HitRatioCurve):
        curve = references
    else:
        curve = estimate(references, estimator, **params)
    classes = max(curve.saturation - 1, 0).bit_length() + 1
    ends = 2 ** np.arange(classes)
    hits = curve.at(ends, unresolved=True) * curve.accesses
    counts = np.append(np.diff(hits, prepend=0), curve.accesses - hits[-1])
    if curve.estimator == "exact":
        counts = np.rint(counts)
    shares = counts / max(curve.accesses, 1)
    return ResultTable(
        {
            "from": np.append(ends // 2, -1),
            "to": np.append(ends - 1, -1),
            "accesses": counts,
            "share": shares,
            "hit_ratio": np.append(np.cumsum(shares[:-1]), np.nan),
        },
        "distances",
        title="Accesses by reuse distance",
    )
