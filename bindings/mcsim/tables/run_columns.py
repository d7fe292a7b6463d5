"""The columns of the tables of a run, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mcsim.tables.column import Column, counts, hidden

_SYSTEM = Column("system", "system", "text", "title of the system")
_VM = Column("vm", "VM", "text", "name of the VM; null: all VMs together")
_TIER = Column("tier", "tier", "count", "0 is the fastest tier", stored="int32")
_INTERVAL = Column("interval", "interval", "count", "number of the interval", stored="int32")
_INTERVALS = Column(
    "intervals", "intervals", "count", "empty intervals in a row without a change", rare=True
)
_TIMES = Column(
    "times", "times", "count", "number of equal decisions in a row, in empty intervals", rare=True
)
_WARM_UP = Column(
    "warm_up", "warm-up", "flag", "whether it fills caches; not stored", optional=True, rare=True
)
_ACCESSES = Column("accesses", "accesses", "count", "accesses: one for each block of a request")
_HITS = Column("hits", "hits", "count", "accesses that are not misses or delayed", "more")
_HIT_RATIO = Column("hit_ratio", "hit %", "share", "hits divided by accesses", "more")
REQUEST_RATIOS = (
    Column("request_hit_ratio", "requests %", "share", "requests of which all blocks hit", "more"),
    Column("byte_hit_ratio", "bytes %", "share", "bytes of requests in blocks that hit", "more"),
)
DELAYED = (
    Column("delayed_ratio", "delayed %", "share", "delayed hits divided by accesses", "less"),
    Column("delayed_wait_ns", "delay", "ns", "mean wait of a delayed hit", "less"),
)
_FORESIGHT = Column(
    "foresight", "knows", "text", "what a yardstick knows beforehand, next or whole; null: nothing"
)
_PATH = (
    Column("writes", "writes", "text", "write mode; null: only reads were replayed"),
    Column("policy", "policy", "text", "eviction policy"),
    Column("chain", "chain", "text", "how tiers share blocks"),
)
_OVER_LEGACY = (
    Column("gain_over_legacy", "gain % over legacy", "relative", "`gain` against legacy LRU"),
    Column("gain_absolute_over_legacy", "points over legacy", "points", "points against it"),
)
_DECIDE = Column(
    "decide_seconds", "decide", "s", "time of the controller's decisions", "less", optional=True
)
_OPT_HITS = Column("opt_hits", "OPT hits", "count", "hits of OPT in one cache of all VMs")
_CERTAIN = (
    Column("compulsory", "compulsory", "count", "misses of first accesses to a block"),
    Column(
        "invalidated",
        "invalidated",
        "count",
        "other misses at any size: of blocks written around, discarded or not admitted",
        optional=True,
    ),
)
_CAPACITY = Column("capacity", "blocks", "count", "capacity in blocks")

_OF_BACKEND = counts(
    "blocks",
    ("reads_served", "reads that waited for the backend"),
    ("writes_served", "writes that waited for the backend"),
    ("read_requests", "read requests whose slowest block waited for the backend"),
    ("write_requests", "write requests whose slowest block waited for the backend"),
)

RUN_TABLES: Mapping[str, Sequence[Column]] = {
    "comparison": [
        _SYSTEM,
        replace(_VM, is_first=True),
        _ACCESSES,
        hidden(_HITS),
        Column("tier_hits", "hits", "count", "hits by tier", "more", by="tier", shown=False),
        _HIT_RATIO,
        *map(hidden, (*REQUEST_RATIOS, *DELAYED)),
        Column("tier_hit_ratio", "%", "share", "hits of each tier by accesses", by="tier"),
        Column("mean_latency_ns", "latency", "ns", "mean latency of an access", "less"),
        Column("gain", "gain %", "relative", "hit ratio against Global LRU, relative", "more"),
        Column("gain_absolute", "points", "points", "hit ratio less that of Global LRU", "more"),
        Column("latency_gain", "saved %", "relative", "latency saved against Global LRU", "more"),
        *map(hidden, _OVER_LEGACY),
        hidden(
            Column(
                "latency_gain_over_legacy", "saved % over legacy", "relative", "latency against it"
            )
        ),
        *map(hidden, _PATH),
        hidden(_FORESIGHT),
    ],
    "systems": [
        _SYSTEM,
        hidden(_HIT_RATIO),
        hidden(Column("mean_latency_ns", "latency", "ns", "mean latency of an access", "less")),
        *_OVER_LEGACY,
        Column("device_writes", "writes", "blocks", "blocks written, by tier", by="tier"),
        Column("cost_dollars", "cost $", "number", "price of the blocks granted, mean", "less"),
        Column(
            "performance_per_cost",
            "1/s/$",
            "number",
            "accesses per second that one client completes, per dollar",
            "more",
        ),
        Column("replay_seconds", "replay", "s", "time of the replay"),
        _DECIDE,
        Column("accesses_per_second", "rate", "1/s", "speed of the replay", "more"),
        *map(hidden, _PATH),
        hidden(_FORESIGHT),
    ],
    "yardsticks": [
        _SYSTEM,
        _HIT_RATIO,
        Column("share_of_opt", "% of OPT", "share", "hits divided by those of OPT", "more"),
        Column(
            "over_hindsight",
            "points over hindsight",
            "points",
            "hit ratio less that of the best fixed division; null without hindsight in the run",
            "more",
        ),
        Column("fairness", "fairness", "index", "Jain's index of the VMs' slowdowns", "more"),
        Column(
            "worst_slowdown",
            "worst VM",
            "factor",
            "largest factor between the latency of a VM and its latency alone with all tiers",
            "less",
        ),
        Column(
            "churn",
            "moved",
            "blocks",
            "blocks of targets that move in an interval",
            "less",
            stored="double",
            optional=True,
        ),
        Column(
            "infeasible",
            "infeasible",
            "count",
            "decisions that could not have what was asked for",
            "less",
            optional=True,
        ),
        hidden(_DECIDE),
        hidden(_FORESIGHT),
    ],
    "requests": [
        _SYSTEM,
        _VM,
        Column("requests", "requests", "count", "requests"),
        Column("read_hit_ratio", "read hit %", "share", "read blocks that a tier held", "more"),
        Column(
            "served_by_cache",
            "cache %",
            "share",
            "requests that did not wait for the backend",
            "more",
        ),
        Column("mean_ns", "mean", "ns", "mean latency of a request: of its slowest block", "less"),
        *(
            Column(
                f"p{q}_ns",
                "median" if q == 50 else f"{q} %",
                "ns",
                f"quantile {q} %",
                "less",
                stored="int64",
            )
            for q in (50, 95, 99)
        ),
    ],
    "devices": [
        _SYSTEM,
        Column("device", "device", "text", "name of the device"),
        Column("tier", "tier", "count", "its tier; null: the backend", stored="int32", shown=False),
        Column("reads", "reads", "blocks", "blocks read, also to be written elsewhere"),
        Column("writes", "writes", "blocks", "blocks written"),
        Column("written_bytes_per_day", "GB/day", "bytes/day", "writes by time; null: no rates"),
        Column("lifetime_years", "years", "years", "life of a medium that wears", "more"),
        Column("drive_writes_per_day", "DWPD", "number", "writes of the whole drive a day", "less"),
        Column("utilization", "busy %", "share", "work by time; null: no rates"),
        Column("peak_utilization", "peak %", "share", "the same in the busiest interval"),
        Column(
            "saturated_intervals",
            "saturated",
            "count",
            "intervals with more work than time",
            "less",
            optional=True,
        ),
        Column(
            "queueing_ns",
            "queueing",
            "ns",
            "mean wait at the mean load; null: more work than time",
            "less",
        ),
        Column("asked", "asked %", "share", "mean demand by `iops` or `bandwidth`", rare=True),
        Column("peak_asked", "peak asked %", "share", "demand of the worst interval", rare=True),
        Column(
            "overloaded_intervals",
            "overloaded",
            "count",
            "intervals with more demand than supply",
            "less",
            optional=True,
            rare=True,
        ),
        Column("energy_joules", "kJ", "J", "energy, by the device's power", "less", rare=True),
    ],
    "reads": [
        _SYSTEM,
        _VM,
        Column("reads", "reads", "count", "blocks, of intervals in which no tier was saturated"),
        Column("mean_ns", "mean", "ns", "mean latency with queueing in tiers", "less"),
        Column("queueing_ns", "queueing", "ns", "what of it is queueing", "less"),
        Column("left_out", "left out", "count", "blocks of the other intervals", optional=True),
    ],
    "demands": [
        _SYSTEM,
        Column("device", "device", "text", "name of the device"),
        Column("tier", "tier", "count", "its tier; null: the backend", stored="int32"),
        _INTERVAL,
        Column("operations", "operations", "count", "blocks read and written"),
        Column("bytes", "bytes", "bytes", "bytes read and written"),
        Column("asked", "asked %", "share", "demand by what the device can do; null: no rates"),
    ],
    "misses": [
        _SYSTEM,
        _VM,
        _ACCESSES,
        *_CERTAIN,
        Column("capacity", "capacity", "count", "other misses of the VM alone with all tiers"),
        Column("interference", "interference", "count", "all others; negative: fewer than alone"),
    ],
    "prefix_hits": [
        *(_SYSTEM, _VM),
        Column("accesses", "blocks", "count", "blocks of prompts, each of which is looked up"),
        Column("hits", "hits", "count", "blocks in cached prefixes", "more"),
        Column("tokens", "tokens", "count", "their tokens"),
        Column("token_hits", "hit tokens", "count", "tokens in cached prefixes", "more"),
        Column("token_hit_ratio", "token hit %", "share", "by all tokens", "more"),
        Column("saved_seconds", "saved", "s", "time to first token that hits save", "more"),
    ],
    "bounds": [_SYSTEM, _OPT_HITS],
    "alone": [
        _SYSTEM,
        Column("vm", "VM", "text", "name of the VM"),
        _ACCESSES,
        *_CERTAIN,
        Column("misses", "misses", "count", "misses of the VM alone; null: it is the only VM"),
        Column("mean_latency_ns", "latency", "ns", "mean latency of an access alone", "less"),
    ],
    "curves": [
        Column("vm", "VM", "text", "name of the VM"),
        Column("scope", "scope", "text", "trace: the whole trace"),
        _CAPACITY,
        Column("hits", "hits", "count", "hits of LRU at this capacity"),
        _ACCESSES,
    ],
    "reuse_intensity": [
        Column("vm", "VM", "text", "name of the VM"),
        Column("window_end_ns", "window end", "count", "end of the window since the first access"),
        Column("reuse_intensity", "reuse intensity", "number", "reuse intensity of the window"),
        _ACCESSES,
    ],
    "decisions": [
        _SYSTEM,
        Column("interval", "interval", "count", "first interval that it acts in", stored="int32"),
        Column("request", "request", "count", "request before which it was made"),
        Column("objective", "objective", "number", "value of the optimiser's objective"),
        Column("upper_bound", "upper bound", "number", "upper bound of the objective"),
        Column("evaluations", "evaluations", "count", "evaluations of the optimiser"),
        Column("infeasible", "infeasible", "text", "why the request cannot be met; empty: it can"),
        Column(
            "admits",
            "admits",
            "flag",
            "whether each VM is admitted; null: no change",
            by="vm",
            rare=True,
        ),
        Column(
            "write_modes",
            "write modes",
            "text",
            "of each VM: back, or through / back by tier",
            by="vm",
            rare=True,
        ),
        Column("timer", "timer", "text", "name of the timer that fired", rare=True),
        Column("note", "note", "text", "further findings of the system; null: none", rare=True),
        Column(
            "throughputs", "throughputs", "number", "blocks a second of each VM", by="vm", rare=True
        ),
        Column("moved", "moved", "blocks", "blocks of extents that move", rare=True),
        _TIMES,
        _WARM_UP,
    ],
    "metrics": [
        _SYSTEM,
        _INTERVAL,
        Column("vm", "VM", "text", "name of the VM"),
        _TIER,
        *counts(
            "blocks",
            ("hits", "accesses whose block this tier held, and no faster one"),
            ("write_hits", "hits that write"),
            ("fills", "blocks that came in from the backend or with a write"),
            ("promotions", "blocks that came in from a slower tier"),
            ("demotions", "blocks that came in from a faster tier"),
            ("updates", "writes to blocks that the tier held"),
            ("moved_up", "blocks that left for a faster tier"),
            ("moved_down", "victims that a slower tier holds afterwards"),
            ("evictions", "victims that went to no slower tier"),
            ("invalidations", "blocks written around, discarded, or released with a copy or VM"),
            ("copied_out", "blocks read from the device to be written elsewhere"),
            ("occupancy", "blocks held at the end of the interval"),
            ("target", "blocks granted; the capacity if nothing is divided"),
            ("reads_served", "reads that waited for this tier"),
            ("writes_served", "writes that waited for this tier"),
            ("read_requests", "read requests whose slowest block waited for this tier"),
            ("write_requests", "write requests whose slowest block waited for this tier"),
        ),
        *counts(
            "blocks",
            ("transfers", "blocks that came from another host and were written here"),
            ("remote_reads", "reads that waited for the link to another host as well"),
            ("remote_requests", "read requests that waited for it"),
            ("prefetched", "blocks that this tier read before they were accessed"),
            ("prefetch_used", "prefetched blocks whose first access was a read"),
            ("prefetch_wasted", "prefetched blocks that left or were overwritten before a read"),
            ("prefetch_unread", "prefetched blocks held and not yet accessed at the end"),
            rare=True,
        ),
        _INTERVALS,
        _WARM_UP,
    ],
    "vms": [
        _SYSTEM,
        _INTERVAL,
        Column("vm", "VM", "text", "name of the VM"),
        Column("begin_ns", "begin", "count", "start since the first access; or references"),
        *counts(
            "blocks",
            ("accesses", "accesses: one for each block of a request"),
            ("misses", "accesses whose block no tier and no staging area held"),
            ("writes", "accesses that write"),
            ("write_misses", "misses that write"),
            ("backend_reads", "read misses, prefetched blocks, and extents that move to a tier"),
            ("backend_writes", "writes that wait for the backend, and write-backs"),
            ("write_backs", "dirty blocks written to the backend"),
            ("dirtied", "clean blocks that became dirty"),
            ("dirty", "blocks that the backend does not have, at the end"),
        ),
        *_OF_BACKEND,
        Column("host", "host", "text", "host of the VM", rare=True),
        *counts(
            "blocks",
            ("sent", "blocks that follow the VM to another host"),
            ("transferred", "of these: came in the background"),
            ("on_demand", "of these: came when read"),
            ("left_behind", "of these: never came"),
            ("on_the_way", "of these: have not come yet"),
            ("staged_hits", "reads served from a staging area in memory"),
            ("staged_requests", "requests of nothing else"),
            ("staged_ns", "their time"),
            ("delayed_hits", "reads that waited for a block on its way: neither hits nor misses"),
            ("delayed_ns", "their time"),
            ("delayed_requests", "requests that waited longest for such a block"),
            ("request_delay_ns", "their time"),
            ("discarded_dirty", "dirty blocks that were discarded, not written back"),
            rare=True,
        ),
        *counts(
            "count",
            ("requests", "requests with blocks"),
            ("request_hits", "requests of which all blocks hit"),
            rare=True,
        ),
        *counts(
            "bytes",
            ("bytes", "bytes of requests"),
            ("byte_hits", "bytes of requests in blocks that hit"),
            rare=True,
        ),
        _INTERVALS,
        _WARM_UP,
    ],
    "summary": [_OPT_HITS, Column("synthetic", "synthetic", "flag", "a generated workload")],
}
