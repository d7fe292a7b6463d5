"""`mcsim figures`: the figures of finished runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from mcsim.cli.options import folder_to_write, formats_option, style_option, systems_option

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
@systems_option
@formats_option(otherwise="as the experiment of the first run says")
@style_option("screen")
def figures(
    named: tuple[str, ...],
    listing: bool,
    names: tuple[str, ...],
    out: str | None,
    systems: tuple[str, ...],
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
        _list_figures(missing(runs, systems or None) if runs else {})
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
        systems=systems or None,
        on_skip=skipped.append,
    )
    for path in drawn:
        click.echo(path)
    if skipped and names:
        there = [name for name, reason in missing(runs, systems or None).items() if not reason]
        raise ConfigError(f"{'; '.join(skipped)}; there are {', '.join(there) or 'none'}")
    for why in skipped:
        click.echo(why, err=True)


def _list_figures(reasons: Mapping[str, str]) -> None:
    """Print the name and content of every figure; of a run, also why it cannot be drawn."""
    from mcsim.figures import FIGURES

    width = max(map(len, FIGURES))
    for name, figure in FIGURES.items():
        why = f"  [not of this: {reasons[name]}]" if reasons.get(name) else ""
        click.echo(f"  {name:<{width}}  {figure.shows}{why}")
