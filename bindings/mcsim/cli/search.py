"""`mcsim search`: the best hierarchy of two tiers for a workload."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.help import Sectioned
from mcsim.cli.options import (
    code_options,
    folder_or_file,
    overrides_option,
    quiet_option,
    reporter_asked,
    table_option,
    trace_dirs_option,
)
from mcsim.cli.output import write_table
from mcsim.cli.terminal import Form, Line, print_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcsim.experiment.code import Permission
    from mcsim.searches.search_state import Found
    from mcsim.tables.result_table import ResultTable

_SHOWN = 10

_OF_HIERARCHIES = (
    *("sizes", "policies", "objective", "limits", "no_refine", "most", "exhaustive"),
    *("rate", "seeds"),
)
"""Parameters of the search over hierarchies alone."""

_SOUGHT = {
    "latency": "the lowest latency",
    "hit-ratio": "the highest hit ratio",
    "per-dollar": "the most accesses a second and dollar",
    "dollars": "the lowest price",
}


@click.command(cls=Sectioned)
@click.argument("file", type=click.Path())
@click.option(
    "--sizes",
    metavar="SIZE,... / SIZE,...",
    help="By tier: SIZE,... or log(FROM, TO, COUNT), such as log(64MiB, 1GiB, 12) / 1%,10%.  "
    "[default: from an eighth to eight times the file's]",
)
@click.option(
    "--policies",
    metavar="NAME,...",
    help="Eviction policies, of which every pair is tried, or pairs such as 'arc / lru'.  "
    "[default: the file's]",
)
@click.option(
    "--objective",
    type=click.Choice(["latency", "hit-ratio", "per-dollar", "dollars"]),
    help="What is to be best.  [default: latency]",
)
@click.option(
    "--limit",
    "limits",
    metavar="NAME=VALUE",
    multiple=True,
    help="To be kept: dollars, device_writes, latency at most; years, hit_ratio at least; may be "
    "repeated.  [default: the price of the file's own tiers]",
)
@click.option(
    "--settings",
    is_flag=True,
    help="Find the best setting of each deployed cache instead, such as dm-cache.",
)
@click.option("--no-refine", is_flag=True, help="Look at those sizes alone, not between them.")
@click.option(
    "--most",
    metavar="N",
    type=click.IntRange(min=1),
    help="Replays in full, at most. If not given, a fifth of the grid, or all if that is quicker.",
)
@click.option("--exhaustive", is_flag=True, help="Replay the whole grid instead.")
@click.option(
    "--mini",
    "rate",
    metavar="RATE",
    default="0.02",
    show_default=True,
    help="Share of the blocks that miniatures are given (0.01, 1% or 1/16).",
)
@click.option(
    "--seeds",
    metavar="N",
    type=click.IntRange(min=1, max=1000),
    default=3,
    show_default=True,
    help="Samples of which the mean is taken.",
)
@overrides_option("Change a value of the file; may be repeated.")
@code_options
@trace_dirs_option()
@click.option(
    "--threads", metavar="N", type=click.IntRange(min=1), hidden=True, help="Miniatures at a time."
)
@click.option(
    "-o",
    "--output",
    "file_out",
    metavar="DIR|FILE",
    type=click.Path(path_type=Path),
    callback=folder_or_file("search.csv"),
    help="Write all hierarchies that were compared, as CSV; search.csv in a folder.",
)
@table_option
@quiet_option
def search(
    file: str,
    policies: str | None,
    settings: bool,
    limits: tuple[str, ...],
    no_refine: bool,
    rate: str,
    file_out: Path | None,
    form: Form,
    code: Permission,
    **asked: Any,
) -> None:
    """Find the best hierarchy of two tiers for the workload of the experiment FILE.

    The search varies the sizes and policies of both tiers. By default the price is at most that of
    FILE's own tiers; options or a key `search` of FILE set other limits. Every hierarchy is
    estimated, LRU by exact curves and others by miniatures. Only the most promising ones are
    replayed in full. The table has these, the best first.

    With --settings, FILE has deployed caches, and any tiers. Their settings are replayed in full,
    one parameter after the other.

    Exit code 2 also means that no replayed hierarchy is within the limits.

    \b
    mcsim search mine.yaml
    mcsim search mine.yaml --policies lru,arc --limit dollars=0.05 -o found.csv
    mcsim search mine.yaml --sizes 'log(100,2000,8) / log(500,8000,8)' --limit latency=3ms
    mcsim search deployed --settings
    """  # noqa: D301
    from mcsim.base.errors import ConfigError
    from mcsim.base.sizes import share_given
    from mcsim.searches.search import search as find

    if settings:
        _refuse_given(_OF_HIERARCHIES)
        _show_settings(file, code, file_out, form, asked)
        return
    found = find(
        file,
        policies=None if policies is None else _split(policies),
        limits=_limits(limits),
        refine=not no_refine,
        rate=share_given("--mini", rate),
        allow_code=code,
        reporter=reporter_asked(),
        **asked,
    )
    if file_out is not None:
        write_table(file_out, found.to_arrow())
    print_result(form, *_lines(found), data=found.to_arrow, whole=lambda: _whole(found))
    if found.best is None:
        raise ConfigError(_refusal(found))


def _refuse_given(names: Sequence[str]) -> None:
    """Check that none of these options was given."""
    from click.core import ParameterSource

    from mcsim.base.errors import ConfigError

    context = click.get_current_context()
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name in names and source is ParameterSource.COMMANDLINE:
            raise ConfigError(f"{option.opts[0]}: not with --settings")


def _show_settings(
    file: str, code: Permission, file_out: Path | None, form: Form, asked: Mapping[str, Any]
) -> None:
    from mcsim.searches.settings import search_settings

    given = {name: value for name, value in asked.items() if name not in _OF_HIERARCHIES}
    found = search_settings(file, allow_code=code, reporter=reporter_asked(), **given)
    if file_out is not None:
        write_table(file_out, found.to_arrow())
    words = [word for override in found.overrides for word in ("--set", override)]
    command = shlex.join(["mcsim", "run", file, *words])
    print_result(form, found.answer, found, "", command, data=found.to_arrow)


def _split(policies: str) -> list[str]:
    from mcsim.base.specs import split_outside

    return [word.strip() for word in split_outside(policies)]


def _limits(given: tuple[str, ...]) -> dict[str, Any] | None:
    from mcsim.base.errors import ConfigError

    limits: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--limit {text}: expected NAME=VALUE, such as dollars=12")
        limits[name.strip().replace("-", "_")] = _number_or_text(value.strip())
    return limits or None


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _lines(found: Found) -> list[Line]:
    heading = f"{found.experiment}: {_SOUGHT[found.objective]}{_kept(found)}"
    lines: list[Line] = [found.answer, heading, _table(found), _remark(found)]
    if found.best is not None:
        words = ["mcsim", "run", found.experiment]
        words += [word for override in found.overrides for word in ("--set", override)]
        lines += ["", shlex.join(words)]
    return lines


def _kept(found: Found) -> str:
    if not found.limits:
        return ""
    least = ("years", "hit-ratio")
    words = [
        f"{_worded(name, value)} {'or more' if name in least else 'at most'}"
        for name, value in found.limits.items()
    ]
    return f"; {', '.join(words)}"


def _worded(name: str, value: float) -> str:
    from mcsim.base.units import format_latency

    if name == "latency":
        return f"latency {format_latency(value)}"
    return f"{name.replace('-', ' ')} {value:.4g}"


def _table(found: Found) -> ResultTable:
    import numpy as np

    from mcsim.tables.column import column
    from mcsim.tables.result_table import ResultTable

    rows = found[found.simulated][:_SHOWN]
    sizes = [
        column(f"{of} blocks", "count", name=f"blocks_{i}") for i, of in enumerate(found.devices)
    ]
    years = [row.years if 0 < row.years < math.inf else None for row in rows]
    return ResultTable(
        {**rows.columns(), "years": np.array(years, float)},
        "search",
        styles=["best" if i == 0 and row.kept else "" for i, row in enumerate(rows)],
        declared=sizes,
    )


def _remark(found: Found) -> str:
    said = f"{len(found):,} hierarchies compared, {found.replay_count:,} replayed in full"
    if found.replay_count < found.grid:
        times = found.grid / found.replay_count
        said += f", {times:.3g} times fewer than the grid's {found.grid:,}"
    if found.replayed:
        said += f"; miniatures replayed {found.replayed:.3g} lengths of the workload beside"
    return said


def _refusal(found: Found) -> str:
    return (
        f"{found.experiment}: none of the {found.replay_count:,} replayed hierarchies keeps the "
        f"limits{_kept(found)}; other --sizes or --limit may"
    )


def _whole(found: Found) -> dict[str, Any]:
    rows = [dict(row) for row in found if row.simulated]
    return {
        "experiment": found.experiment,
        "objective": found.objective,
        "limits": found.limits,
        "compared": len(found),
        "grid": found.grid,
        "simulated": found.replay_count,
        "replayed_in_miniature": found.replayed,
        "best": rows[0] if found.best is not None else None,
        "rows": rows,
    }
