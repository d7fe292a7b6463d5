"""Compare published numbers of documents with measured ones: `mcsim reproduce`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.help import Sectioned
from mcsim.cli.options import (
    file_to_write,
    formats_option,
    quiet_option,
    reporter_asked,
    results_option,
    seed_option,
    style_option,
    systems_threads_option,
    trace_dirs_option,
)
from mcsim.cli.terminal import terminal

if TYPE_CHECKING:
    from mcsim.reproduce.reproduction import Reproduction


@click.command(cls=Sectioned)
@click.argument("names", metavar="[DOCUMENT[/FIGURE]]...", nargs=-1)
@click.option(
    "--list", "listing", is_flag=True, help="Run nothing: list figures, what they need, how long."
)
@click.option("--quick", is_flag=True, help="Replay a sixteenth of the blocks, picked by hash.")
@click.option("--check", is_flag=True, help="Exit with 1 if a result contradicts a document.")
@seed_option("Seed of all experiments and synthetic workloads, instead of their own.", None)
@trace_dirs_option()
@results_option
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    callback=file_to_write,
    help="Write a page there, too: one file that opens offline.",
)
@click.option(
    "--markdown",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    callback=file_to_write,
    help="Write all tables there, too.",
)
@systems_threads_option
@click.option("--force", is_flag=True, help="Find again what was found before.")
@formats_option(otherwise="those that there are, or png, svg")
@style_option(None, otherwise="that of those that there are, or screen")
@quiet_option
def reproduce(
    names: tuple[str, ...],
    listing: bool,
    check: bool,
    html: str | None,
    markdown: str | None,
    **options: Any,
) -> None:
    """Reproduce published figures, and compare published numbers with measured ones.

    Without a NAME, all documents are reproduced. Stored findings are used again, so that the same
    command continues after an interruption. Several commands may fill one folder of results.
    """
    if listing:
        _list(names, options["quick"])
        return
    reproduction = _run(names, **options)
    _show(reproduction)
    _write(reproduction, _command(names, **options), html, markdown)
    if check and reproduction.failures:
        for line in reproduction.failures:
            click.echo(f"mcsim: {line}", err=True)
        raise SystemExit(1)


def _list(names: Sequence[str], quick: bool) -> None:
    from mcsim.reproduce.catalogue import chosen
    from mcsim.reproduce.render import listing

    for line in listing(chosen(names), quick):
        click.echo(line)


def _run(names: Sequence[str], **options: Any) -> Reproduction:
    from mcsim.reproduce.reproduction import reproduce

    return reproduce(*names, reporter=reporter_asked(), **options)


def _show(reproduction: Reproduction) -> None:
    from mcsim.reproduce.render import render_outcome, totals

    console = terminal()
    for outcome in reproduction.outcomes:
        console.print(render_outcome(outcome))
        console.print()
    console.print(totals(reproduction), highlight=False)


def _command(names: Sequence[str], *, quick: bool, seed: int | None, **_: Any) -> str:
    """Return the command that reproduces the same tables on any machine."""
    options = ["--quick"] if quick else []
    options += [] if seed is None else [f"--seed {seed}"]
    return " ".join(["mcsim reproduce", *names, *options])


def _write(
    reproduction: Reproduction, command: str, html: str | None, markdown: str | None
) -> None:
    from mcsim.base.files import write_whole
    from mcsim.reproduce.render import in_html, in_markdown

    for file, write in ((markdown, in_markdown), (html, in_html)):
        if file is not None:
            write_whole(Path(file), write(reproduction, command))
