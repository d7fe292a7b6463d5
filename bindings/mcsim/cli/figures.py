"""`mcsim figures`: the figures of finished runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from mcsim.cli.options import folder_to_write, formats_option, style_option

if TYPE_CHECKING:
    from mcsim.config.spec import FigureFormat
    from mcsim.figures.style import Style

__all__ = ["figures"]


@click.command()
@click.argument("named", metavar="RUN...", nargs=-1, type=click.Path())
@click.option(
    "--list", "listing", is_flag=True, help="Draw nothing: list the figures, and if a RUN has them."
)
@click.option(
    "--only", "names", metavar="NAME", multiple=True, help="Draw this figure; may be repeated."
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(),
    callback=folder_to_write,
    help="Folder of the figures; the run's own for one.",
)
@formats_option(otherwise="as the experiment of the first run says")
@style_option("screen")
def figures(
    named: tuple[str, ...],
    listing: bool,
    names: tuple[str, ...],
    out: str | None,
    formats: tuple[FigureFormat, ...],
    style: Style,
) -> None:
    """Draw the figures of a finished run again, or those that compare several runs."""
    from mcsim.base.errors import ConfigError
    from mcsim.figures import draw, missing
    from mcsim.results.results import Results
    from mcsim.results.runs import folder_of

    runs = [Results.open(folder_of(name)) for name in named]
    if listing:
        _list_figures(missing(runs) if runs else {})
        return
    if not runs:
        raise ConfigError("RUN: name a finished run, by its folder or id (or --list)")
    skipped: list[str] = []
    drawn = draw(
        runs,
        names or None,
        out,
        formats=formats or runs[0].spec.figure_formats,
        style=style,
        processes=len(os.sched_getaffinity(0)),
        on_skip=skipped.append,
    )
    for path in drawn:
        click.echo(path)
    if skipped and names:
        there = [name for name, reason in missing(runs).items() if not reason]
        raise ConfigError(f"{'; '.join(skipped)}; there are {', '.join(there) or 'none'}")
    for why in skipped:
        click.echo(why, err=True)


def _list_figures(reasons: Mapping[str, str]) -> None:
    """Print every figure's names and what it shows; of a run, also why it cannot be drawn."""
    from mcsim.figures import ALIASES, FIGURES

    alias = {name: f" ({short})" for short, name in ALIASES.items()}
    names = {name: name + alias.get(name, "") for name in FIGURES}
    width = max(map(len, names.values()))
    for name, figure in FIGURES.items():
        why = f"  [not of this: {reasons[name]}]" if reasons.get(name) else ""
        click.echo(f"  {names[name]:<{width}}  {figure.shows}{why}")
