"""Trusts: nothing. docs/columns.md has the columns of `mcsim.tables.result_columns`.

`python tests/lint/test_columns_page.py` writes the page.
"""

from __future__ import annotations

from pathlib import Path

from mcsim.tables.column import Column
from mcsim.tables.result_columns import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "columns.md"

TITLES = {
    "comparison": "`results.comparison()`: hits and latency by system and VM",
    "overview": "`results.overview()`: one row a system, all VMs together",
    "systems": "`results.systems()`: cost and speed by system",
    "yardsticks": "`results.yardsticks()`: how far from what is possible, how fair",
    "requests": "`results.requests()`: latency of whole requests",
    "devices": "`results.devices()`: load and life of devices",
    "misses": "`results.misses()`: misses by cause",
    "prefix_hits": "`results.prefix_hits()`: hits of KV caches by system and tenant",
    "metrics": "`results.metrics()`: counts by system, interval, VM and tier",
    "vms": "`results.vms()`: counts by system, interval and VM",
    "decisions": "`results.decisions()`: decisions of systems that divide space",
    "curves": "`results.curves()`: hits of LRU by capacity",
    "reuse_intensity": "`results.reuse_intensity()`: reuse intensity by window",
    "bounds": "`results.bounds()`: upper bounds on hits",
    "alone": "`results.alone()`: replays of each VM alone with all tiers",
    "summary": "`sweep.to_arrow()`: the axes, the columns of `comparison`, and these",
    "reads": "`mcsim.results.models.reads_behind_writes`: reads that queue in tiers",
    "demands": "`mcsim.results.demands.demands`: demand of devices by interval",
    "policies": "`mcsim.simulate`, `simulate_lines`, `miniature`, `memory_needed`",
    "reductions": "`mcsim.compare(…, each=True)`: a row a size and policy",
    "by-trace": "`compare(…, each=True).by_trace`: a row a cache",
    "distances": "`mcsim.distance_histogram`: a row a class of distances",
    "tuning": "`mcsim.tune`: a row for every point of the grid",
    "sizes": "Sizes that `size` prints: a row a size",
    "mix": "`mcsim.mix`: a row a size",
    "whatif": "`mcsim.what_if`: a row a VM",
    "situation": "`what_if(…).before.rows` and `.after.rows`",
    "stress": "`mcsim trace info --csv`, `Trace.info()`: what a trace stresses, a row a VM",
    "cache-device": "`mcsim.cache_device`: a row a class of requests",
    "search": "`mcsim.search`: a row a hierarchy",
    "settings": "`mcsim.search_settings`: a row a setting",
    "prefixes": "`prefix_curve(…).table(…)`, and `kv --csv`: a row a capacity",
    "prefix-policies": "`mcsim.prefix_replay`, and `kv --policies --csv`: a row a cache",
    "arena": "`mcsim.arena`: a row a candidate",
    "arena-by-trace": "`arena(…).by_trace`: a row a full replay",
    "advice": "`mcsim.advise`: a row a candidate",
    "runs": "`mcsim results ls --csv`: a row a run",
    "sweeps": "`mcsim results ls`: a row a sweep",
    "entries": "`mcsim cache ls --csv`: a row an entry",
    "faults": "`mcsim cache verify --csv`, `mcsim results verify --csv`: a row an entry or run",
    "freed": "`mcsim results gc --csv`, and `cache rm` so: a row a file or folder",
    "names": "`mcsim list --csv`: a row a name",
    "collections": "`mcsim trace catalogue`: a row a collection",
}


def page() -> str:
    """Return the page."""
    lines = [
        "# Columns of result tables",
        "",
        "Each column is declared once, in `bindings/mcsim/tables/run_columns.py` or",
        "`result_columns.py`; this page is made from there. Shares are fractions in data and",
        "percent in tables for people. Columns marked * are left out where no row has a value.",
    ]
    for name, title in TITLES.items():
        lines += [
            "",
            f"## {title}",
            "",
            "| column | heading | type | unit | meaning |",
            "|---|---|---|---|---|",
        ]
        lines += [_row(column) for column in TABLES[name]]
    return "\n".join([*lines, ""])


def _row(column: Column) -> str:
    kind = str(column.arrow_type).replace("element: ", "").replace("item: ", "")
    name = f"`{column.name}`{' *' if column.rare else ''}"
    unit = column.unit if column.unit not in ("text", "flag", "number", "index", "") else ""
    return f"| {name} | {column.heading} | {kind} | {unit} | {column.help} |"


def test_the_page_has_the_columns() -> None:
    assert set(TITLES) == set(TABLES)
    assert PAGE.read_text("utf-8") == page(), f"python {__file__} writes it"


def test_columns_have_unique_names_and_a_meaning() -> None:
    for name, columns in TABLES.items():
        names = [column.name for column in columns]
        assert len(set(names)) == len(names), name
        for column in columns:
            assert column.heading, column
            assert column.help, column
            assert not column.help.endswith("."), column


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
