"""`mcsim report`: what finished runs came to, on the terminal or as a page."""

from __future__ import annotations

import click

from mcsim.cli.options import file_to_write, systems_option

__all__ = ["report"]


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    callback=file_to_write,
    help="Write a page instead: one file that opens offline, with plots that zoom.",
)
@systems_option
def report(runs: tuple[str, ...], html: str | None, systems: tuple[str, ...]) -> None:
    """Show the tables of finished runs again, named by their folders or by the beginnings of ids.

    With --html several runs come to one page, side by side; RUN may also be the folder of a sweep.
    """
    from mcsim.cli.results import show_tables
    from mcsim.results.results import Results
    from mcsim.results.runs import folder_of

    paths = [folder_of(run) for run in runs]
    if html is not None:
        if len(paths) == 1 and (paths[0] / "plan.parquet").exists():
            from mcsim.sweeps.page import write_page

            write_page(paths[0], html)
        else:
            from mcsim.report.make import report as make_page

            make_page(*paths, html=html, systems=systems or None)
        click.echo(html)
        return
    for results in [Results.open(path) for path in paths]:
        show_tables(results)
