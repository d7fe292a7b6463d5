"""The columns of all result tables, declared once.

`TABLES` serves the schemas of stored tables, the terminal, pages, charts, CSV, LaTeX and
``docs/columns.md``. A new column is one entry of `RUN_TABLES` or `ANALYSIS_TABLES`; its value
comes from the code that makes the rows of its table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcsim.tables.column import Column, counts, hidden
from mcsim.tables.run_columns import REQUEST_RATIOS, RUN_TABLES

if TYPE_CHECKING:
    import pyarrow as pa


_VM = Column("vm", "VM", "text", "name of the VM; null: all VMs together")
_ACCESSES = Column("accesses", "accesses", "count", "accesses: one for each block of a request")
_HITS = Column("hits", "hits", "count", "accesses that are not misses", "more")
_HIT_RATIO = Column("hit_ratio", "hit %", "share", "hits divided by accesses", "more")
_POLICY = Column("policy", "policy", "text", "eviction policy with its parameters")
_CAPACITY = Column("capacity", "blocks", "count", "capacity in blocks, or bytes of objects")
_MEMORY = Column("bytes", "memory", "bytes", "memory of the cache's state", "less")
_CPU = Column("seconds", "time", "s", "processor time", "less")
_NO_BAND = Column("no_band", "no band", "text", "why there is no confidence band; empty: there is")
_CORRECTION = Column("correction", "correction", "text", "none, adj, or exact at rate 1")
_RATE = Column("rate", "rate %", "share", "sampled share of the blocks")
_SCORE = Column("score", "score %", "relative", "share of the distance from LRU to OPT", "more")
_SIZE = Column("size", "size", "text", "size as it was given")

_POLICIES = (
    _POLICY,
    _CAPACITY,
    _ACCESSES,
    _HITS,
    Column("misses", "misses", "count", "accesses that are not hits", "less"),
    _HIT_RATIO,
    *REQUEST_RATIOS,
    Column("gain", "gain", "points", "difference from the hit ratio of `--against`", "more"),
    *counts(
        "count",
        ("writes", "accesses that write"),
        ("write_hits", "hits that write"),
        ("evictions", "evicted blocks"),
        ("partial_misses", "misses whose line is held"),
        ("line_misses", "misses whose line is not held"),
        ("loaded", "blocks read for misses"),
    ),
    Column("low", "low %", "share", "lower end of the 95 % confidence band"),
    Column("high", "high %", "share", "upper end of the 95 % confidence band"),
    Column("plain", "plain %", "share", "hit ratio of the sample"),
    Column("adjusted", "adjusted %", "share", "hit ratio adjusted to the sample's size"),
    _CORRECTION,
    _RATE,
    Column("blocks", "miniature", "count", "capacity of the miniature in blocks"),
    Column("sampled", "sampled", "number", "references of a sample, mean over seeds"),
    Column("write_hits_low", "write hits low", "number", "lower end of their band"),
    Column("write_hits_high", "write hits high", "number", "upper end of their band"),
    _MEMORY,
    _CPU,
    _NO_BAND,
)

_PREFIXES = [
    Column("capacity", "blocks", "count", "capacity in blocks of tokens"),
    Column("bytes", "size", "bytes", "capacity in bytes", is_first=True),
    Column("hits", "hits", "count", "blocks in cached prefixes", "more", shown=False),
    Column("hit_ratio", "block hit %", "share", "hits divided by all blocks", "more"),
    Column("token_hits", "hit tokens", "count", "tokens in cached prefixes", "more"),
    Column("token_hit_ratio", "token hit %", "share", "hit tokens by all tokens", "more"),
    Column("full_hits", "full hits", "count", "requests of which all blocks hit", "more"),
    Column("recomputed", "recomputed", "count", "tokens that are not hits", "less"),
]

ANALYSIS_TABLES: Mapping[str, Sequence[Column]] = {
    "policies": _POLICIES,
    "reductions": [
        _SIZE,
        _POLICY,
        Column("traces", "traces", "count", "traces over which the row is computed"),
        Column("hit_ratio", "hit %", "share", "mean hit ratio over traces", "more"),
        Column("mean", "mean %", "relative", "mean miss ratio reduction over traces", "more"),
        Column("low", "from %", "relative", "lower end of the 95 % interval of `mean`"),
        Column("high", "to %", "relative", "upper end of the 95 % interval of `mean`"),
        Column("median", "median %", "relative", "median miss ratio reduction", "more"),
        Column("won", "won %", "share", "traces with a lower miss ratio than the baseline", "more"),
        Column(
            "best",
            "best %",
            "share",
            "traces on which no policy without foresight hits more",
            "more",
        ),
    ],
    "by-trace": [
        Column("trace", "trace", "text", "name of the trace"),
        Column("distinct", "distinct", "count", "distinct blocks; of a dry run alone"),
        _SIZE,
        *_POLICIES,
        Column("reduction", "reduction %", "relative", "miss ratio reduction", "more"),
    ],
    "arena": [
        Column("rank", "rank", "count", "by the mean score of full replays; 0: none"),
        Column("candidate", "candidate", "text", "name of the candidate"),
        Column("policy", "policy", "text", "its policy with parameters", shown=False),
        _SCORE,
        Column("low", "from %", "relative", "lower end of the 95 % interval of the score"),
        Column("high", "to %", "relative", "upper end of the 95 % interval of the score"),
        Column("worst", "worst %", "relative", "least score of a trace and size", "more"),
        Column("worst_at", "worst at", "text", "trace and size with this score"),
        Column("best", "best %", "relative", "highest score of a trace and size", "more"),
        Column("best_at", "best at", "text", "trace and size with this score"),
        Column("miniature", "miniature %", "relative", "mean score of miniatures", "more"),
        Column("seconds", "time", "s", "processor time", "less", shown=False),
        Column("failure", "failure", "text", "why it has no rank; empty: it did not fail"),
    ],
    "arena-by-trace": [
        Column("candidate", "candidate", "text", "name of the candidate"),
        Column("trace", "trace", "text", "name of the trace"),
        _SIZE,
        _HIT_RATIO,
        Column("lru", "LRU %", "share", "hit ratio of LRU", "more"),
        Column("optimum", "optimum %", "share", "hit ratio of the optimum with refusal", "more"),
        _SCORE,
    ],
    "distances": [
        Column("from", "from", "count", "first reuse distance of the class; -1: first accesses"),
        Column("to", "to", "count", "last reuse distance of the class"),
        Column("accesses", "accesses", "number", "accesses with such a distance"),
        Column("share", "accesses %", "share", "share of all accesses"),
        Column("hit_ratio", "hit %", "share", "hit ratio of LRU with one block more than `to`"),
    ],
    "tuning": [
        Column("pareto", "*", "mark", "no other row is better in all four objectives"),
        _POLICY,
        Column("writes", "writes", "text", "write mode"),
        Column("block", "block", "bytes", "block size"),
        Column("sub_block", "loaded", "bytes", "bytes loaded at a time"),
        Column(
            "hit_ratio", "read hit %", "share", "reads that did not wait for the backend", "more"
        ),
        Column("latency_ns", "latency", "ns", "mean latency of all pieces", "less"),
        Column("device_writes", "written", "bytes", "bytes written to the cache's device", "less"),
        Column("backend_reads", "backend reads", "bytes", "bytes read from the backend", "less"),
        Column("backend_writes", "backend writes", "bytes", "bytes written to the backend", "less"),
        Column("dirty", "dirty", "bytes", "bytes not yet written back at the end", shown=False),
        hidden(_RATE),
        hidden(_CORRECTION),
        Column("bytes", "memory", "bytes", "memory of the cache's state", "less", shown=False),
        hidden(_NO_BAND),
    ],
    "sizes": [
        Column("bytes", "size", "bytes", "size of the cache; null: objects"),
        Column("blocks", "blocks", "count", "size of the cache in blocks"),
        _HIT_RATIO,
        Column("resolved", "resolution", "text", "whether the estimator resolves the size"),
        Column("latency_ns", "latency", "ns", "mean latency; null: unknown", "less"),
        Column("mark", "mark", "text", "the target, a knee, or all there is to hit"),
    ],
    "mix": [
        _CAPACITY,
        _ACCESSES,
        Column("shared", "shared", "count", "misses of one LRU cache that all share", "less"),
        Column("equal", "equal parts", "count", "misses of equal parts", "less"),
        Column("parts", "best parts", "count", "misses of the best parts", "less"),
        Column("effective", "as good as", "count", "shared cache that misses as rarely, blocks"),
        Column("size_gain", "gain %", "relative", "how much larger that is", "more"),
    ],
    "whatif": [
        _VM,
        Column("hit_ratio_before", "before %", "share", "hit ratio before; nan: not there"),
        Column("hit_ratio_after", "after %", "share", "hit ratio after; nan: not there"),
    ],
    "situation": [
        _VM,
        _ACCESSES,
        Column("distinct", "distinct", "count", "distinct blocks"),
        Column("alone", "alone %", "share", "hit ratio with the whole cache to itself", "more"),
        Column("part", "equal part %", "share", "hit ratio in an equal part", "more"),
        Column("shared", "shared %", "share", "hit ratio as it is", "more"),
        Column("thrashed", "thrashed", "flag", "loses more than half a point to others"),
        Column("compulsory", "compulsory %", "share", "misses of first accesses"),
        Column("discarded", "discarded %", "share", "misses of blocks that were discarded"),
        Column("capacity", "capacity %", "share", "other misses in the whole cache alone"),
        Column("interference", "interference %", "share", "hits lost by sharing"),
    ],
    "stress": [
        Column("name", "VM", "text", "name of the VM, or total"),
        Column("once_block_share", "once %", "share", "distinct blocks with one access"),
        Column("once_access_share", "accesses once %", "share", "accesses to these blocks"),
        Column(
            "top_1_percent_share",
            "to top 1 %",
            "share",
            "accesses to the most popular 1 % of blocks",
        ),
        Column(
            "top_10_percent_share",
            "to top 10 %",
            "share",
            "accesses to the most popular 10 % of blocks",
        ),
        Column(
            "zipf_exponent",
            "Zipf exponent",
            "number",
            "least squares of log(accesses) by log(rank) over all distinct blocks",
        ),
        Column(
            "sequential_share",
            "sequential %",
            "share",
            "requests that begin where the VM's previous request ended; null: objects",
        ),
        Column(
            "sequential_byte_share",
            "sequential bytes %",
            "share",
            "bytes of sequential requests",
            shown=False,
        ),
        Column("write_share", "writes %", "share", "requests that write"),
        Column("write_byte_share", "written bytes %", "share", "bytes that are written"),
        Column(
            "growth_by_requests",
            "blocks",
            "count",
            "distinct blocks after each tenth of the trace's requests",
            by="tenth",
            shown=False,
        ),
        Column(
            "growth_by_time",
            "blocks",
            "count",
            "distinct blocks after each tenth of the trace's time; null: no clock",
            by="tenth",
            shown=False,
        ),
    ],
    "cache-device": [
        Column("kind", "class", "text", "class of requests, or copies between the devices"),
        Column("requests", "requests", "count", "number of requests, or of copies"),
        Column("share", "share %", "share", "of all requests of the device"),
        Column("bytes", "bytes", "bytes", "bytes of these requests"),
        Column("mean_latency_ns", "mean", "ns", "mean time from entry to completion", "less"),
        Column("p50_latency_ns", "p50", "ns", "median of this time", "less"),
        Column("p99_latency_ns", "p99", "ns", "its 99th percentile", "less"),
        Column("reason", "reason", "text", "why values are missing; empty: none is"),
    ],
    "search": [
        Column("policy", "policy", "text", "eviction policy of each tier"),
        Column("blocks_0", "tier 0", "count", "blocks of the faster tier"),
        Column("blocks_1", "tier 1", "count", "blocks of the slower tier"),
        hidden(Column("simulated", "replayed", "flag", "replayed in full; others are expected")),
        Column("dollars", "cost $", "dollars", "price of the tiers", "less"),
        _HIT_RATIO,
        Column("latency_ns", "latency", "ns", "mean latency of an access", "less"),
        Column(
            "per_dollar", "1/s/$", "number", "accesses a second of one client, per dollar", "more"
        ),
        hidden(
            Column("worn_blocks", "worn", "blocks", "blocks written to tiers that wear", "less")
        ),
        Column("years", "years", "years", "life of the first tier that wears out", "more"),
        Column("kept", "within limits", "flag", "keeps all limits"),
    ],
    "settings": [
        Column("system", "cache", "text", "label of the deployed cache in the experiment"),
        Column("setting", "setting", "text", "parameters that differ from the installed ones"),
        _HIT_RATIO,
        Column("latency_ns", "latency", "ns", "mean latency of an access", "less"),
        Column("saved", "saved %", "share", "share of the latency without a cache", "more"),
    ],
    "prefixes": _PREFIXES,
    "prefix-policies": [Column("policy", "policy", "text", "policy, or bound"), *_PREFIXES],
    "advice": [
        Column("topic", "topic", "text", "line of the advice: policy, size, writes or sharing"),
        Column("choice", "choice", "text", "candidate: policy, write mode or system"),
        _CAPACITY,
        _HIT_RATIO,
        Column("latency_ns", "latency", "ns", "mean latency; nan where it is not known", "less"),
        _RATE,
        Column("chosen", "advised", "flag", "candidate that is advised"),
    ],
}


_FILE = Column("path", "path", "text", "folder or file")
_HIDDEN_PATH = Column("path", "path", "text", "folder or file", shown=False)

LISTINGS: Mapping[str, Sequence[Column]] = {
    "runs": [
        Column("run", "run", "text", "id of the run"),
        Column("name", "name", "text", "name of the experiment", shown=False),
        Column("started", "started", "time", "start of the run"),
        Column("state", "state", "text", "finished, under way, abandoned or damaged"),
        Column("systems", "systems", "names", "titles of the systems"),
        Column("vms", "VMs", "names", "names of the VMs"),
        Column("workload", "workload", "text", "recorded or synthetic"),
        Column("bytes", "size", "bytes", "size on disk"),
        Column("differs_in", "differs in", "text", "keys with other values than other runs"),
        _HIDDEN_PATH,
        Column("pack", "pack", "text", "folder that the run shares with others", shown=False),
        Column("sweep", "sweep", "text", "sweep that the run is a cell of", shown=False),
    ],
    "sweeps": [
        Column("sweep", "sweep", "text", "name of the sweep"),
        Column("finished", "finished", "count", "finished cells"),
        Column("cells", "cells", "count", "all cells"),
        Column("axes", "axes", "text", "axes of the grid"),
    ],
    "entries": [
        Column("name", "name", "text", "name of the file"),
        Column("kind", "kind", "text", "kind of the entry"),
        Column("used", "used", "time", "last use"),
        Column("bytes", "size", "bytes", "size on disk"),
        Column("content", "content", "text", "what it was made of"),
        _HIDDEN_PATH,
    ],
    "faults": [
        _FILE,
        Column("fault", "fault", "text", "why it is not as it was written"),
    ],
    "freed": [
        _FILE,
        Column("bytes", "size", "bytes", "size on disk"),
    ],
    "names": [
        Column("kind", "kind", "text", "kind of the name", shown=False),
        Column("name", "name", "text", "name"),
        Column("summary", "summary", "text", "what it is"),
        Column("reference", "reference", "text", "publication", shown=False),
    ],
    "collections": [
        Column("name", "name", "text", "name of the collection"),
        Column("year", "year", "text", "year of publication"),
        Column("formats", "opens as", "text", "formats that open its files"),
        Column("stresses", "stresses", "text", "what its traces stress"),
    ],
}

_COMPARED = {column.name: column for column in RUN_TABLES["comparison"]}
_PATH = ("writes", "policy", "chain")
_IN_OVERVIEW = (
    *("hit_ratio", "request_hit_ratio", "byte_hit_ratio", "tier_hit_ratio", "mean_latency_ns"),
    *("gain", "latency_gain"),
)
_NOT_IN_OVERVIEW = [
    column for name, column in _COMPARED.items() if name not in ("system", *_PATH, *_IN_OVERVIEW)
]
_POSSIBLE = ("share_of_opt", "over_hindsight", "worst_slowdown")

TABLES: Mapping[str, Sequence[Column]] = {
    **RUN_TABLES,
    **ANALYSIS_TABLES,
    **LISTINGS,
    "overview": [
        _COMPARED["system"],
        *(_COMPARED[name] for name in _PATH),
        Column("seeds", "seeds", "count", "number of seeds; only of sweeps", rare=True),
        Column("values", "values", "count", "values of the axis of `--over`", rare=True),
        *(hidden(of) if of.name == "gain" else of for of in map(_COMPARED.get, _IN_OVERVIEW) if of),
        Column("others_hit_ratio", "others hit %", "share", "without VMs set apart", rare=True),
        Column("others_latency_gain", "others saved %", "relative", "without these", rare=True),
        *(column for column in RUN_TABLES["yardsticks"] if column.name in _POSSIBLE),
        Column(
            "lifetime_years", "years", "years", "life of the first tier with a `drive`", rare=True
        ),
        *map(hidden, _NOT_IN_OVERVIEW),
    ],
}
"""The columns of every table, in order."""


def column_of(table: str, name: str) -> Column:
    """Return a column of a table; one that is not declared is shown by its name.

    A column of one tier, such as ``tier_hit_ratio_0``, has the declaration of the list.
    """
    declared = {column.name: column for column in TABLES.get(table, ())}
    base = name.rpartition("_")[0] if name[-1:].isdigit() and name not in declared else name
    if base in declared:
        return declared[base]
    of_spread = declared.get(name.removesuffix("_margin").removesuffix("_deviation"))
    if of_spread is not None:
        return Column(name, f"± {of_spread.heading}", of_spread.unit, "half of its 95 % band")
    return Column(name, name.replace("_", " "), "", "")


def schema_of_table(table: str, *, rare: bool = False) -> pa.Schema:
    """Return the schema of the columns that all such tables have, or of those that are rare."""
    import pyarrow as pa

    columns = (column for column in TABLES[table] if column.rare == rare)
    return pa.schema([(column.name, column.arrow_type) for column in columns])
