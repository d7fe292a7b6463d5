"""`mcsim compare`: hit ratios of eviction policies over cache size."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.mrc_cli import _console, _cores, _interruptible, _Report, _Source, _table
from mcsim.trace_cli import reading_options

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from mcsim._core import engine

__all__ = ["compare"]

BOUND = "opt"
"""A bound and no policy to choose: it knows the future."""


@click.command()
@click.argument("files", metavar="TRACE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--policies",
    metavar="NAME[:PARAM=VALUE,...],...",
    default="all",
    show_default=True,
    help="Eviction policies (see mcsim list, mcsim describe NAME).",
)
@click.option(
    "--sizes",
    metavar="SIZE,...",
    default="0.1%,1%,10%",
    show_default=True,
    help="Of the caches: 1GiB, 250000 (blocks) or 10% (of the distinct blocks).",
)
@click.option("--block-size", default="4KiB", show_default=True, help="Size of a block.")
@click.option(
    "--ops",
    type=click.Choice(["reads", "all", "writes"]),
    default="reads",
    show_default=True,
    help="Which requests reach the cache.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of policies that draw.")
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Caches replayed at a time; all cores if not given.",
)
@click.option("--linear", is_flag=True, help="Draw sizes on a linear axis.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default="results",
    show_default=True,
    help="Folder of the pictures and the table.",
)
@click.option("--no-figures", is_flag=True, help="Draw no pictures.")
@reading_options
def compare(
    files: tuple[str, ...],
    policies: str,
    sizes: str,
    block_size: str,
    ops: Any,
    seed: int,
    jobs: int | None,
    linear: bool,
    out: Path,
    no_figures: bool,
    **reading: Any,
) -> None:
    """Tabulate and draw the hit ratio of eviction policies for the references of TRACEs.

    Every policy has a cache of every size to itself, which all VMs share. The table is
    printed, the best of each size in bold, but for opt, which knows the future and which none
    can beat; DIR gets a picture (.png, .svg) and all that was counted (.csv).

    \b
    mcsim compare web_0.csv.gz
    mcsim compare web_*.csv.gz --policies lru,arc,s3-fifo,opt --sizes 1GiB,4GiB,16GiB
    mcsim compare web_0.csv.gz --policies arc,arc:step=integer --ops all
    """  # noqa: D301
    from rich.console import Console

    from mcsim.policies import parse_policies, simulate, sizes_in_blocks
    from mcsim.progress import Reporter

    source = _Source(files, block_size, ops, seed, jobs or _cores(), reading)
    # Mistakes are told before the work begins.
    specs = parse_policies(policies)
    wanted = sizes.split(",")
    sizes_in_blocks(wanted, 1, source.block_bytes)
    reporter = Reporter(Console(stderr=True))
    with _interruptible():
        with reporter.live():
            accesses = source.read(reporter)
            capacities = sorted(
                set(sizes_in_blocks(wanted, accesses.id_count, accesses.block_bytes))
            )
            caches = len(specs) * len(capacities)
            with reporter.stage(
                "replay",
                total=accesses.access_count * caches,
                unit="accesses",
                about=f"{caches} caches",
            ) as stage:
                rows = simulate(
                    accesses,
                    [str(spec) for spec in specs],
                    capacities,
                    seed=seed,
                    threads=source.jobs,
                    progress=stage.update,
                )
        report = _Comparison(source, accesses, rows, capacities)
        report.show()
        report.write(out, log=not linear, figures=not no_figures)


@dataclass(frozen=True)
class _Comparison:
    """What is printed, drawn and written; `rows` are those of `mcsim.simulate`."""

    source: _Source
    accesses: engine.Accesses
    rows: np.recarray[Any, Any]
    capacities: list[int]

    @property
    def policies(self) -> list[str]:
        return list(dict.fromkeys(self.rows.policy.tolist()))

    def of(self, policy: str) -> np.recarray[Any, Any]:
        """Return the rows of a policy, by size."""
        chosen: np.recarray[Any, Any] = self.rows[self.rows.policy == policy]
        return chosen

    def heading(self) -> str:
        return _Report(self.source, self.accesses, "", []).heading()

    def show(self) -> None:
        """Print the table."""
        console = _console()
        console.print(self.heading(), markup=False, highlight=False, soft_wrap=True)
        console.print(self.table())

    def table(self) -> Any:
        from rich.text import Text

        from mcsim.units import format_size

        block_bytes = self.accesses.block_bytes
        sizes = [f"{format_size(c * block_bytes)}\n{c:,} blocks" for c in self.capacities]
        table = _table(["policy", *sizes, "M accesses/s", "state"], left=1)
        best = {
            capacity: max(
                (row.hits for row in self.rows if row.capacity == capacity and row.policy != BOUND),
                default=None,
            )
            for capacity in self.capacities
        }
        for policy in self.policies:
            rows = self.of(policy)
            rate = rows.accesses.sum() / max(rows.seconds.sum(), 1e-9) / 1e6
            ratios = [
                Text(
                    f"{row.hit_ratio:.4f}",
                    style="bold" if row.hits == best[row.capacity] and policy != BOUND else "",
                )
                for row in rows
            ]
            table.add_row(policy, *ratios, f"{rate:.1f}", format_size(int(rows.bytes.max())))
        table.caption = "hit ratio; state: memory that the largest of the caches takes here"
        table.caption_justify = "left"
        return table

    @property
    def title(self) -> str:
        return f"Hit ratio of eviction policies over cache size: {self.source.name}"

    def footer(self) -> str:
        from mcsim import __version__

        return f"mcsim {__version__}, {self.heading().partition(': ')[2]}"

    def figure(self, *, log: bool) -> Figure:
        from mcsim.figures.policies import hit_ratios

        ratios = {policy: self.of(policy).hit_ratio.tolist() for policy in self.policies}
        sheet = hit_ratios(self.capacities, self.accesses.block_bytes, ratios, log=log, bound=BOUND)
        return sheet.frame(self.title, self.footer())

    def write(self, out: Path, *, log: bool, figures: bool) -> None:
        """Write picture and table, and print their names."""
        import pyarrow as pa
        from pyarrow import csv

        out.mkdir(parents=True, exist_ok=True)
        base = out / f"{self.source.file_name}-policies"
        written: list[Path] = []
        if figures:
            from mcsim.figures.style import styled, write

            with styled():
                drawn = self.figure(log=log)
            written += write(drawn, base, self.title, self.footer(), ("png", "svg"))
        columns = {name: pa.array(self.rows[name]) for name in self.rows.dtype.names or ()}
        path = base.with_suffix(".csv")
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        csv.write_csv(pa.table(columns), temporary)
        temporary.replace(path)
        for each in [*written, path]:
            click.echo(each)
