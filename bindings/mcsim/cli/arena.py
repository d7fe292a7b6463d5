"""`mcsim arena`: eviction policies ranked by replays in limited processes."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.compare_each import each_alone, named_sources
from mcsim.cli.help import Sectioned
from mcsim.cli.options import code_options, reporter_asked
from mcsim.cli.output import Output, picture_options
from mcsim.cli.stream import Report, Source, stream_options
from mcsim.cli.terminal import Form, Line

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.contests.candidates import Candidate
    from mcsim.contests.ranking import Ranking
    from mcsim.experiment.code import Permission
    from mcsim.figures.chart import Sheet


@click.command(cls=Sectioned)
@click.argument("files", metavar="TRACE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--policies",
    metavar="NAME[(PARAM=VALUE,...)],...",
    help="Candidates: eviction policies (see mcsim list, mcsim describe NAME), or classes of "
    "Python as module:Class.  [default: all, without --candidates]",
)
@click.option(
    "--candidates",
    "listed",
    metavar="FILE",
    type=click.Path(),
    help="Candidates in JSON, - for standard input: a list of policies, or of objects with policy, "
    "name and library.",
)
@click.option(
    "--sizes",
    metavar="SIZE,...",
    default="0.1%,1%,10%",
    show_default=True,
    help="Of the caches: 1GiB, 250000 (blocks), 10% (of each trace's distinct blocks) or log(FROM, "
    "TO, COUNT).",
)
@click.option(
    "--held-out",
    "held_out",
    metavar="TRACE",
    type=click.Path(),
    multiple=True,
    help="A trace that decides the rank, and that candidates do not see before; may be repeated.",
)
@click.option(
    "--leaders",
    metavar="N",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Candidates that are replayed in full: the best in miniature.",
)
@click.option(
    "--mini",
    "rate",
    metavar="RATE",
    default="1%",
    hidden=True,
    help="Share of the blocks in miniatures.",
)
@click.option(
    "--time-limit",
    "limit",
    metavar="DURATION",
    default="60s",
    show_default=True,
    help="For the miniatures of a candidate, and for each full replay.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    hidden=True,
    help="What a process may hold, such as 4GiB; its share of half the machine's memory if not "
    "given.",
)
@code_options
@stream_options(
    seed="Of samples, and of policies that draw.",
    threads="Processes at a time; all cores if not given.",
)
@picture_options
def arena(
    files: tuple[str, ...],
    policies: str | None,
    listed: str | None,
    sizes: str,
    held_out: tuple[str, ...],
    leaders: int,
    rate: str,
    limit: str,
    memory: str | None,
    code: Permission,
    block_size: str,
    ops: Any,
    vms: str | None,
    seed: int,
    threads: int | None,
    output: Output,
    form: Form,
    **reading: Any,
) -> None:
    """Rank eviction policies by the share of the distance from LRU to the optimum, on TRACEs.

    Each candidate is tested on short streams, and replayed in miniature caches of every TRACE and
    size. The leaders are replayed in full, which decides their rank: on the held-out traces if
    there are any, else on TRACEs.

    A candidate runs in a process of its own, with limits of time and memory. A crash costs nothing
    but this candidate. The limits protect the contest, not the machine: code of candidates runs
    only with --allow-code, and has all rights of its user.

    With -o DIR, the command writes a page with ranks, and where each leader gains and loses.

    \b
    mcsim arena web_*.csv.gz --policies 'lru,arc,s3-fifo,2q(kin=0.1),2q(kin=0.5)'
    mcsim arena web_0.csv.gz --held-out web_1.csv.gz --policies lru,sieve --json
    """  # noqa: D301
    from mcsim.base.errors import mistakes_in
    from mcsim.base.signals import interrupted_with
    from mcsim.base.units import parse_duration
    from mcsim.cli.compare_each import texts_of_sizes
    from mcsim.contests.contest import Rules, contest

    candidates = _candidates(policies, listed, code)
    source = Source(files, block_size, ops, vms, seed, threads or 0, reading)
    texts = texts_of_sizes(sizes, source.block_bytes)
    with mistakes_in("--time-limit"):
        seconds = parse_duration(limit) / 1e9
        if seconds == 0:
            raise ValueError(f"expected more than 0, got {limit}")
    rules = Rules.given(texts, leaders, rate, seconds, memory, seed, threads, code)
    source.threads = rules.threads
    reporter = reporter_asked()
    held = named_sources(replace(source, files=held_out), reporter) if held_out else []
    with interrupted_with("an arena that was not finished has no ranks"):
        ranking = contest(named_sources(source, reporter), candidates, rules, held, reporter)
    ArenaReport(source, ranking).show(form, output)


def _candidates(policies: str | None, listed: str | None, code: Permission) -> list[Candidate]:
    """Return the candidates of both options; names of policies in the first are checked."""
    from mcsim.base.errors import mistakes_in
    from mcsim.base.inputs import read_regular
    from mcsim.base.specs import split_specs
    from mcsim.contests.candidates import (
        candidates_given,
        candidates_of_json,
        check_permission,
    )
    from mcsim.policies import has_foresight
    from mcsim.policies.specs import parse_policies, policy_names

    if policies is None and listed is None:
        policies = "all"
    found: list[Candidate] = []
    with mistakes_in("--policies"):
        if policies is not None and policies.strip() == "all":
            found = candidates_given([name for name in policy_names() if not has_foresight(name)])
        elif policies is not None:
            names = [text.strip() for text in split_specs(policies)]
            found = candidates_given(names, "policies")
            for name in names:
                if ":" not in name.partition("(")[0]:
                    parse_policies(name)
        check_permission(found, code)
    if listed is not None:
        with mistakes_in("--candidates"):
            try:
                content = sys.stdin.buffer.read() if listed == "-" else read_regular(Path(listed))
            except OSError as error:
                raise ValueError(str(error)) from None
            given = candidates_of_json(content, "stdin" if listed == "-" else listed)
            found += candidates_given(given)
    return candidates_given(found)


@dataclass
class ArenaReport(Report):
    """Ranks, and the scores of full replays."""

    ranking: Ranking
    suffix = "-arena"
    subject = "Scores of eviction policies"

    def heading(self) -> str:
        """Name the traces and the replayed requests."""
        return each_alone(self.source)

    def lines(self) -> list[Line]:
        """Return the summary and the ranks."""
        return [self.ranking.answer, self.heading(), self.ranking]

    def data(self) -> pa.Table:
        """Return a row for each candidate."""
        return self.ranking.to_arrow()

    def whole(self) -> Any:
        """Return what is printed as JSON."""
        return {
            "answer": self.ranking.answer,
            "rows": [{**row, "rank": row["rank"] or None} for row in self.data().to_pylist()],
            "by_trace": self.ranking.by_trace.to_arrow().to_pylist(),
        }

    def tables(self, *, log: bool) -> dict[str, pa.Table]:
        """Return the candidates, and their full replays."""
        return {".csv": self.data(), "-by-trace.csv": self.ranking.by_trace.to_arrow()}

    def show(self, form: Form, output: Output) -> None:
        """Print the ranks; write the page, the picture and the tables if a folder was named."""
        super().show(form, output)
        if output.folder is not None:
            from mcsim.base.files import write_whole
            from mcsim.contests.page import arena_page

            path = output.folder / f"{self.source.file_name}{self.suffix}.html"
            write_whole(path, arena_page(self.ranking, self.title, ""))
            click.echo(path, err=form != "text")

    def sheet(self, *, log: bool) -> Sheet:
        """Draw the scores of the leaders."""
        from mcsim.figures.arena import scores

        return scores(self.ranking, self.ranking.by_trace)
