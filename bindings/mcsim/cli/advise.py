"""`mcsim advise`: a policy, a size, a write mode and a division for a trace and a drive."""

from __future__ import annotations

import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mcsim.base.threads import threads_given
from mcsim.cli.help import Sectioned
from mcsim.cli.options import (
    block_bytes_option,
    devices_options,
    plugin_option,
    reporter_asked,
    seed_option,
)
from mcsim.cli.output import Output, picture_options
from mcsim.cli.policy_report import memory_option
from mcsim.cli.reading import open_trace, reading_options, vms_option
from mcsim.cli.stream import Report, Source
from mcsim.cli.terminal import Form, Line

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.figures.chart import Sheet
    from mcsim.references.blocks import Blocks
    from mcsim.searches.advice import Advice
    from mcsim.searches.advice_case import Commands


@click.command(cls=Sectioned)
@click.argument("files", metavar="TRACE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--size",
    required=True,
    help="Of the cache: 256GB, 250000 (blocks), or 10% (of the distinct blocks).",
)
@click.option(
    "--target", metavar="RATIO|TIME", help="A hit ratio such as 80%, or a mean latency such as 2ms."
)
@click.option(
    "--drive", metavar="SIZE", help="Size of the drive, which wears as a whole, such as 960GB."
)
@devices_options
@click.option(
    "--policies",
    metavar="NAME[(PARAM=VALUE,...)],...",
    default="all",
    show_default=True,
    help="Eviction policies to choose from (see mcsim list, mcsim describe NAME).",
)
@click.option(
    "--interval",
    metavar="LENGTH",
    help="Time between decisions of systems that divide the cache.  [default: by the trace's span]",
)
@click.option(
    "--mini",
    metavar="RATE",
    default="0.01",
    show_default=True,
    help="Share of the blocks of miniatures that find the leaders; 1 replays all in full.",
)
@click.option(
    "--seeds",
    metavar="N",
    type=click.IntRange(min=1, max=1000),
    default=5,
    show_default=True,
    help="Samples of miniatures.",
)
@memory_option
@plugin_option
@block_bytes_option
@click.option(
    "--ops",
    type=click.Choice(["all", "reads", "writes"]),
    default="all",
    show_default=True,
    help="Which requests reach the cache.",
)
@vms_option
@seed_option("Of policies that draw.")
@click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(min=1),
    hidden=True,
    help="Caches replayed at a time; all cores if not given.",
)
@reading_options
@picture_options
def advise(
    files: tuple[str, ...],
    block_size: str,
    ops: Any,
    vms: str | None,
    seed: int,
    threads: int | None,
    output: Output,
    form: Form,
    **given: Any,
) -> None:
    """Advise on a cache of --size for the requests of TRACEs: five lines, and what proves them.

    The lines are: what the trace is; the eviction policy with most hits; where the hit ratio curve
    bends, or the size for a --target; the write mode with the least mean latency, and how long
    the drive lasts; whether the VMs share the cache or a system divides it.

    Below the lines are commands that print their numbers. Miniatures with a sample of the blocks
    compare all candidates first, and the leaders are replayed in full. So numbers of lines are
    exact. Candidates that differ by up to a tenth of a point of hit ratio, or 1 % of latency, are
    equal; then the simpler one is advised.

    DIR gets the table as .csv, a picture of the curve and, for blocks with a clock, the experiment
    of the last line.

    \b
    mcsim advise web_0.csv.gz --size 1MiB
    mcsim advise web_0.csv.gz --size 1MiB --tier nvme-flash --drive 960GB
    mcsim advise web_*.csv.gz --size 10% --target 50%
    """  # noqa: D301
    from mcsim.base.sizes import share_given
    from mcsim.policies.simulation import memory_given
    from mcsim.searches.advice import advise as advise_on
    from mcsim.searches.advice import check_choices, machine_of
    from mcsim.searches.advised_size import Target

    names = ("size", "target", "drive", "tier", "backend", "devices", "policies", "interval")
    asked = {name: given.pop(name) for name in (*names, "mini", "seeds", "memory")}
    source = Source(
        files, block_size, ops, vms, seed, threads_given(threads), given, usual_ops="all"
    )
    # Arguments are validated before the work begins.
    source.block_bytes  # noqa: B018
    check_choices(asked["size"], asked["policies"], asked["interval"])
    machine_of(*(asked[name] for name in ("tier", "backend", "devices", "drive")))
    if asked["target"] is not None:
        Target.of(asked["target"])
    rate = share_given("--mini", asked.pop("mini"))
    asked["memory"] = memory_given(asked["memory"])
    reporter = reporter_asked()
    with reporter.live():
        blocks = source.read(reporter, requests=True)
        found = advise_on(
            blocks,
            asked.pop("size"),
            rate=rate,
            seed=seed,
            threads=source.threads,
            reporter=reporter,
            commands=_Words(click.get_current_context(), source, blocks, output).commands(),
            **asked,
        )
    _Report(source, blocks, found).show(form, output)


@dataclass(frozen=True)
class _Words:
    """Words of the command that commands of the advice have, too."""

    context: click.Context
    source: Source
    blocks: Blocks
    output: Output

    def commands(self) -> Commands:
        """Return the words of commands about the same trace."""
        from mcsim.base.sizes import is_share, parse_capacity
        from mcsim.searches.advice_case import Commands

        size: str = self.context.params["size"]
        if is_share(size):
            size = str(parse_capacity(size, self.blocks.unique, self.blocks.capacity_unit))
        folder = self.output.folder
        return Commands(
            self.source.files,
            size,
            self.source.ops,
            reading=self._given(*_READING),
            chosen=self._given("vms"),
            machine=self._given("tier", "backend", "devices"),
            block_bytes=self.source.block_bytes,
            entries=self._entries(),
            folder=None if folder is None else str(folder),
            again=self._again(),
        )

    def _given(self, *names: str) -> tuple[str, ...]:
        """Return options of the command line, with their values."""
        found: list[str] = []
        for param in self.context.command.params:
            if param.name not in names or not isinstance(param, click.Option):
                continue
            if self.context.get_parameter_source(param.name) != ParameterSource.COMMANDLINE:
                continue
            value = self.context.params[param.name]
            for each in value if param.multiple else [value]:
                found += [param.opts[-1], str(each)]
        return tuple(found)

    def _again(self) -> str:
        """Return this command with a folder for the experiment."""
        names = [param.name or "" for param in self.context.command.params]
        hidden = ("folder", "formats", "style", "quiet", "help", "form")
        words = self._given(*(name for name in names if name not in hidden))
        return shlex.join(("mcsim", "advise", *self.source.files, *words, "-o", "advice"))

    def _entries(self) -> list[dict[str, Any]]:
        """Return the VMs of the files as an experiment names them."""
        from mcsim.cli.reading import params_given

        params = self.context.params
        keys = ("format", "on_bad_line", "on_unsorted", "max_skipped")
        reading = {
            name: params[name]
            for name in keys
            if self.context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        }
        if params["mapping"] is not None:
            reading["mapping"] = str(params["mapping"].resolve())
        if params["options"]:
            reading["options"] = params_given(params["options"])
        files = self._files_by_vm()
        return [
            {"name": name, "trace": files[name], "vm": name, **reading} for name in self.blocks.vms
        ]

    def _files_by_vm(self) -> dict[str, list[str]]:
        """Return the files that have requests of each VM."""
        from mcsim.base.progress import Reporter

        found: dict[str, list[str]] = {}
        for file in self.source.files:
            path = str(Path(file).resolve()) if Path(file).exists() else file
            for name in open_trace(file, Reporter(), **self.source.reading).vms:
                found.setdefault(name, []).append(path)
        return found


_READING = (
    *("trace_dirs", "format", "options", "mapping", "vm_name", "on_bad_line", "max_skipped"),
    *("on_unsorted", "cache_dir"),
)


_WIDTH = 100


def _wrapped(text: str) -> str:
    """Break a line between words, but not between a number and its unit."""
    joined = _UNIT.sub("\\1\N{NO-BREAK SPACE}\\2", text)
    lines = textwrap.wrap(joined, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


_UNIT = re.compile(r"(\d) (%|[A-Za-z]+)")


@dataclass
class _Report(Report):
    """The lines of an advice, their commands, and the table of what was compared."""

    blocks: Blocks
    found: Advice

    subject = "Hit ratio of LRU over cache size"
    suffix = "-advice"

    def heading(self) -> str:
        return self.source.heading(self.blocks, f"a cache of {self.found.capacity:,} blocks")

    def lines(self) -> list[Line]:
        """Return the lines, and the commands."""
        texts: list[Line] = [_wrapped(f"{line.topic}: {line.text}") for line in self.found.lines]
        texts.append("These commands print the numbers:")
        given = [command for line in self.found.lines for command in line.commands]
        return [*texts, *(f"  {command}" for command in dict.fromkeys(given))]

    def whole(self) -> dict[str, Any]:
        """Return the lines, the advice and the table."""
        return {"trace": self.source.name, **self.found.to_dict()}

    def data(self) -> pa.Table:
        """Return a row for each candidate."""
        return self.source.marked(self.found.to_arrow())

    def show(self, form: Form, output: Output) -> None:
        """Print the advice; write the experiment, the table and the picture."""
        super().show(form, output)
        if output.folder is None or self.found.experiment is None:
            return
        from mcsim.searches.advice_case import EXPERIMENT
        from mcsim.searches.advised_sharing import write_experiment

        path = output.folder / EXPERIMENT
        write_experiment(path, self.found.experiment)
        click.echo(path, err=form != "text")

    def sheet(self, *, log: bool) -> Sheet:
        """Draw the hit ratio curve of LRU, with its bends."""
        from mcsim.figures.locality import curves

        return curves([("lru", self.found.curve)], log=log)
