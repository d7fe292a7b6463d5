"""CloudPhysics: uses of hit ratio curves of customers' disks (Irfan Ahmad, SNIA SDC 2015).

Findings are in four modules beside this one: curves; what sampling costs; sizes, changes and
divisions; controllers, tuning and curves that are bent.
"""

from __future__ import annotations

from mcsim.reproduce.catalogue import Figure, in_document

from . import control, curves, sampling, sharing

__all__ = ["FIGURES"]

_CUSTOMERS = "recorded traces of customers.yaml, or synthetic"

FIGURES = in_document(
    "cloudphysics",
    Figure("example", "Mattson's stack, step by step", 0.1, 0.1, "nothing", curves.find_example),
    Figure("gallery", "Hit ratio curves of customers", 10, 2, _CUSTOMERS, curves.find_gallery),
    Figure("arc", "ARC in miniature", 15, 4, _CUSTOMERS, curves.find_arc),
    Figure("irr", "LIRS and CLOCK-Pro in miniature", 30, 8, _CUSTOMERS, curves.find_irr),
    Figure(
        "shards", "Error over the size of the sample", 8, 4, _CUSTOMERS, sampling.find_sample_sizes
    ),
    Figure("rate", "Sampling rate over references", 3, 1, _CUSTOMERS, sampling.find_rate),
    Figure("errors", "Error, memory and time over traces", 8, 3, _CUSTOMERS, sampling.find_errors),
    Figure(
        "sizing", "A size for a latency, and its verdict", 2, 1, _CUSTOMERS, sharing.find_sizing
    ),
    Figure("whatif", "What a change does to each client", 8, 1, _CUSTOMERS, sharing.find_what_if),
    Figure(
        "tuning",
        "Block size, writes and policy, in miniature",
        5,
        3,
        "recorded trace cloudPhysicsIO, or synthetic",
        control.find_tuning,
    ),
    Figure(
        "partition",
        "The effective size of parts, over mixes",
        100,
        4,
        _CUSTOMERS,
        sharing.find_partition,
    ),
    Figure(
        "adapting", "Parts that follow a change of phase", 3, 2, "synthetic", control.find_adapting
    ),
    Figure("latency", "A latency target over time", 3, 2, "synthetic", control.find_latency),
    Figure("iops", "An IOPS target over time", 3, 2, "synthetic", control.find_iops),
    Figure("bending", "Curves bent to their hulls", 5, 2, "nothing", control.find_bending),
    Figure(
        "monitoring", "What it costs to keep a curve", 1, 1, _CUSTOMERS, sampling.find_monitoring
    ),
)
