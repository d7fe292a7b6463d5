"""`mcsim reproduce`: what documents show, published beside measured."""

from __future__ import annotations

from pathlib import Path

import click

from mcsim.cli.options import file_to_write, folder_to_write, quiet_option, reporter_asked
from mcsim.cli.terminal import terminal

__all__ = ["reproduce"]


@click.command()
@click.argument("names", metavar="[DOCUMENT[/FIGURE]]...", nargs=-1)
@click.option(
    "--list", "listing", is_flag=True, help="Run nothing: list figures, what they need, how long."
)
@click.option("--quick", is_flag=True, help="Replay a sixteenth of the blocks, picked by hash.")
@click.option("--check", is_flag=True, help="Exit with 1 if a shape fails.")
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    help="Of all experiments, instead of their own.",
)
@click.option(
    "--trace-dir",
    "trace_dirs",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    multiple=True,
    help="Where to look for traces, before $MCSIM_TRACE_DIR; may be repeated.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(),
    default="results",
    callback=folder_to_write,
    help="Folder of all results.",
)
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
@click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(min=1),
    help="Systems replayed at a time; all cores if not given.",
)
@click.option("--force", is_flag=True, help="Find again what was found before.")
@quiet_option
def reproduce(
    names: tuple[str, ...],
    listing: bool,
    quick: bool,
    check: bool,
    seed: int | None,
    trace_dirs: tuple[str, ...],
    out: str,
    html: str | None,
    markdown: str | None,
    threads: int | None,
    force: bool,
) -> None:
    """Run what published documents show, and print what they say beside what comes out.

    All documents if none is named. What was found before is not found again; after an
    interruption the same command goes on.
    """
    from mcsim.base.files import replacing
    from mcsim.reproduce import render
    from mcsim.reproduce.catalogue import chosen
    from mcsim.reproduce.reproduction import reproduce as run_catalogue
    from mcsim.traces.find import default_trace_dirs

    if listing:
        for line in render.listing(chosen(names), quick):
            click.echo(line)
        return
    reproduction = run_catalogue(
        *names,
        quick=quick,
        seed=seed,
        trace_dirs=[*map(Path, trace_dirs), *default_trace_dirs()],
        out=out,
        threads=threads,
        force=force,
        reporter=reporter_asked(),
    )
    console = terminal()
    for outcome in reproduction.outcomes:
        console.print(render.render_outcome(outcome))
        console.print()
    console.print(render.totals(reproduction), highlight=False)
    options = (["--quick"] if quick else []) + ([] if seed is None else [f"--seed {seed}"])
    command = " ".join(["mcsim reproduce", *names, *options])
    for file, write in ((markdown, render.in_markdown), (html, render.in_html)):
        if file is not None:
            with replacing(Path(file)) as temporary:
                temporary.write_text(write(reproduction, command), encoding="utf-8")
    if check and reproduction.failures:
        for line in reproduction.failures:
            click.echo(f"mcsim: shape fails: {line}", err=True)
        raise SystemExit(1)
