"""Common parts of commands about references: options, reading, printing, writing."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import click

from mcsim.base.inputs import plain_name, printable, stem_of
from mcsim.cli.options import Command, block_bytes_option, reporter_asked, seed_option, with_options
from mcsim.cli.output import Output, Picture
from mcsim.cli.reading import open_trace, reading_options, vms_named, vms_option
from mcsim.cli.terminal import Form, Line, print_result

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.base.progress import Reporter
    from mcsim.figures.chart import Sheet
    from mcsim.locality.measure import EstimatorSpec, Measured
    from mcsim.locality.sharing import Sharing
    from mcsim.references.blocks import Blocks
    from mcsim.traces.batches import Kind
    from mcsim.traces.trace import Trace


def references_options(command: Command) -> Command:
    """Add the options that convert requests to references."""
    options = [
        block_bytes_option,
        click.option(
            "--ops",
            type=click.Choice(["reads", "all", "writes"]),
            default="reads",
            show_default=True,
            help="Which requests reach the cache.",
        ),
        vms_option,
    ]
    return with_options(command, options)


_LIKE_LENGTH = re.compile(r"\s*[+-]?[\d.,_]+\s*(\w*|%)\s*", re.ASCII)  # if no file is

warm_up_option = click.option(
    "--warm-up",
    "warm_up",
    metavar="LENGTH|TRACE",
    help="Not counted, but replayed first: the first 1h, or '50000 references' without a clock, or "
    "another trace.",
)


def stream_options(*, seed: str, threads: str) -> Callable[[Command], Command]:
    """Make the options of a `Source`, with these help texts."""
    options = [
        references_options,
        seed_option(seed),
        click.option(
            "--threads", metavar="N", type=click.IntRange(min=1), hidden=True, help=threads
        ),
        reading_options,
    ]
    return lambda command: with_options(command, options)


@dataclass
class Source:
    """The references that the command is about."""

    files: tuple[str, ...]
    block_size: str
    ops: Any
    vms: str | None
    seed: int
    threads: int
    reading: dict[str, Any]
    synthetic: bool = False
    """Whether any of what was read is."""
    kinds: set[Kind] = field(default_factory=set)
    """Those of traces that were read, each alone."""
    has_prefixes: bool = False
    """Whether requests of a trace are prefixes, and their blocks hit one by one."""
    usual_ops: str = "reads"
    warm_up: str | None = None
    sizes: str | None = None
    """Sizes of caches; if one is in bytes, all capacities of objects are."""
    addresses: bool = False
    """Whether an estimator needs the addresses of blocks."""
    seconds: dict[str, float] = field(default_factory=dict)  # by stage

    def read(self, reporter: Reporter, *, requests: bool = False) -> Blocks:
        """Read, split and merge the traces; with `requests`, the command reads these later."""
        from mcsim.traces.streamed import View

        self.seconds = reporter.seconds
        is_one = len(self.files) == 1 and not (requests or self.vms or self.warm_up)
        view = View(self.block_bytes, self.ops, addresses=self.addresses)
        is_streamed = is_one and self.ops != "writes"
        return self.split(self.open(reporter, view if is_streamed else None), reporter)

    def split(self, traces: Sequence[Trace], reporter: Reporter) -> Blocks:
        """Split and merge traces that were read."""
        from mcsim.base.errors import mistakes_in
        from mcsim.references.blocks import Blocks
        from mcsim.references.objects import sized_for
        from mcsim.traces.trace import Trace

        warm_up = self._warm_up(reporter)
        read = [*traces, warm_up] if isinstance(warm_up, Trace) else traces
        requests = sum(trace.request_count for trace in read)
        with reporter.stage("intern", total=requests, unit="requests") as stage:
            vms = None if self.vms is None else self.named(traces)
            blocks = Blocks.of(
                traces,
                self.ops,
                self.block_bytes,
                vms,
                warm_up=warm_up,
                addresses=self.addresses,
                progress=stage.update,
            )
        with mistakes_in("--sizes"):
            return sized_for(replace(blocks, label=self.name), self.sizes)

    def open(self, reporter: Reporter, view: Any = None) -> list[Trace]:
        """Read the traces, and join those that have VMs with the same name."""
        from mcsim.traces.joined import joined_by_vm, note_on

        traces: list[Trace] = []
        for file in self.files:
            traces.append(open_trace(file, reporter, **self.reading, view=view))
            for complaint in traces[-1].metadata.complaints:
                reporter.note(f"skipped: {complaint}")
        self.synthetic = any(trace.metadata.synthetic for trace in traces)
        self.has_prefixes = any(trace.metadata.has_prefixes for trace in traces)
        joined = joined_by_vm(traces)
        for trace in joined:
            if trace not in traces and (note := note_on(trace)) is not None:
                reporter.note(note)
        return joined

    def _warm_up(self, reporter: Reporter) -> Trace | str | None:
        """Open `--warm-up` unless it is a length."""
        from mcsim.base.errors import ConfigError, TraceError, exit_code_of
        from mcsim.base.units import parse_interval

        if self.warm_up is None:
            return None
        try:
            parse_interval(self.warm_up)
        except ValueError:
            try:
                return open_trace(self.warm_up, reporter, **self.reading)
            except (ConfigError, TraceError) as error:
                if _LIKE_LENGTH.fullmatch(self.warm_up):
                    raise ConfigError(
                        "--warm-up: expected a length such as 1h, or '50000 references' without a "
                        f"clock, or a trace; got {self.warm_up!r}"
                    ) from None
                raise type(error)(f"--warm-up: {error}") from None
            except OSError as error:
                if exit_code_of(error) != ConfigError.exit_code:
                    raise
                raise ConfigError(f"--warm-up: {error}") from None
        return self.warm_up

    def chosen(self, traces: Sequence[Trace]) -> list[Trace]:
        """Return those VMs of traces that `--vms` names; an error if one names none at all."""
        kept = self.named(traces)
        parts = [(trace, [name for name in trace.vms if name in set(kept)]) for trace in traces]
        return [trace.slice(vms=of_trace) for trace, of_trace in parts if of_trace]

    def named(self, traces: Sequence[Trace]) -> list[str]:
        """Return the VMs that `--vms` names, all if it is not given."""
        names = list(dict.fromkeys(name for trace in traces for name in trace.vms))
        return names if self.vms is None else vms_named("--vms", self.vms, names)

    @property
    def block_bytes(self) -> int:
        """Size of a block in bytes; raises ConfigError if the option is wrong."""
        from mcsim.references.pieces import bytes_of_block

        return bytes_of_block("--block-bytes", self.block_size)

    @property
    def name(self) -> str:
        """The traces, for people: at most three."""
        more = len(self._stems) - 3
        others = f" and {more} more" if more > 0 else ""
        return ", ".join(self._stems[:3]) + others + (" (synthetic)" if self.synthetic else "")

    @property
    def file_name(self) -> str:
        """Base of file names: the traces, and the options of references that are not defaults."""
        from mcsim.base.units import format_bytes

        stems = [plain_name(stem_of(file)) for file in self.files]
        more = len(stems) - 3
        traces = "+".join(stems[:3]) + (f"-and-{more}-more" if more > 0 else "")
        unusual = [
            self.ops if self.ops != self.usual_ops else "",
            format_bytes(self.block_bytes) if self.block_bytes != 4096 else "",
            "" if self.vms is None else plain_name(self.vms),
            "" if self.warm_up is None else f"after-{plain_name(self.warm_up)}",
        ]
        return "-".join([traces, *filter(None, unusual)])

    @property
    def _stems(self) -> list[str]:
        return [printable(stem_of(file)) for file in self.files]

    def marked(self, table: pa.Table) -> pa.Table:
        """Append columns with the options of the references."""
        import numpy as np
        import pyarrow as pa

        for name, value in {"ops": self.ops, "block_bytes": self.block_bytes}.items():
            if name not in table.column_names:
                table = table.append_column(name, pa.array(np.full(table.num_rows, value)))
        return table

    def heading(self, blocks: Stream | Sharing, by: str = "") -> str:
        """Describe the references in a line, with the method `by`."""
        from mcsim.references.blocks import Blocks
        from mcsim.references.objects import described

        vms = f"{len(blocks.vms)} VMs, " if len(blocks.vms) > 1 else ""
        what = {"reads": "reads", "writes": "writes", "all": "reads and writes"}[self.ops]
        warm_up = blocks.warm_up if isinstance(blocks, Blocks) else 0
        after = f" after a warm-up of {warm_up:,}" if warm_up else ""
        return (
            f"{self.name}: {vms}{what}, {len(blocks) - warm_up:,} accesses{after} to "
            f"{described(blocks, self.block_bytes)}{f'; {by}' if by else ''}"
            f"{'; hits are of blocks, not of prefixes (see mcsim kv)' if self.has_prefixes else ''}"
        )


@dataclass
class Report(ABC):
    """The result of a command about a source: lines for people, data for programs, a figure."""

    source: Source

    subject: ClassVar[str]
    suffix: ClassVar[str]
    """Ending of the base of file names."""

    @abstractmethod
    def heading(self) -> str:
        """Return a line that names the source and its references."""

    @abstractmethod
    def lines(self) -> Sequence[Line]:
        """Return the lines and tables for people."""

    @abstractmethod
    def data(self) -> pa.Table:
        """Return the table for programs."""

    @abstractmethod
    def sheet(self, *, log: bool) -> Sheet:
        """Return the figure."""

    def whole(self) -> Any:
        """Return what is printed as JSON."""
        stages = self.source.seconds
        return {"trace": self.source.name, "stages": stages, "rows": self.data().to_pylist()}

    def tables(self, *, log: bool) -> dict[str, pa.Table]:
        """Return the tables that are written, by the ending of their files."""
        return {".csv": self.data()}

    def show(self, form: Form, output: Output) -> None:
        """Print the result, and write figure and tables if a folder was named."""
        lines = () if form in ("json", "csv") else self.lines()
        print_result(form, *lines, data=self.data, whole=self.whole)
        if output.folder is None:
            return
        picture = Picture(
            lambda: self.sheet(log=output.log), self.title, self.footer(), self.source.synthetic
        )
        base = f"{self.source.file_name}{self.suffix}"
        for path in output.write(base, picture, self.tables(log=output.log)):
            click.echo(path, err=form != "text")

    @property
    def title(self) -> str:
        """Title of pictures."""
        return f"{self.subject}: {self.source.name}"

    def footer(self) -> str:
        """Return the small print of pictures."""
        from mcsim._core import __version__

        return f"mcsim {__version__}, {self.heading().partition(': ')[2]}"


class Stream(Protocol):
    """References that a report is about."""

    @property
    def kind(self) -> Kind:
        """Blocks or objects."""

    @property
    def unique(self) -> int:
        """Distinct blocks."""

    @property
    def capacity_unit(self) -> int | None:
        """Bytes of a block; None for objects."""

    @property
    def vms(self) -> Sequence[str]:
        """Names of the VMs."""

    def __len__(self) -> int: ...


@dataclass
class StreamReport(Report):
    """A result about references."""

    blocks: Stream
    by: str
    """Method of the measurement; may be empty."""

    def heading(self) -> str:
        """Return a line that names the source and its references."""
        return self.source.heading(self.blocks, self.by)

    @property
    def size_heads(self) -> list[str]:
        """Headings of the columns of a size."""
        if self.blocks.kind == "blocks":
            return ["size", "blocks"]
        return ["objects"] if self.blocks.capacity_unit is None else ["size", "bytes"]

    def size_cells(self, blocks: int) -> list[str]:
        """Return a size, a cell for each heading."""
        from mcsim.base.units import format_size

        unit = self.blocks.capacity_unit
        return [*([] if unit is None else [format_size(blocks * unit)]), f"{blocks:,}"]


estimator_option = click.option(
    "--estimator",
    metavar="NAME[(PARAM=VALUE,...)]",
    default="exact",
    show_default=True,
    help="How the curve is made (see mcsim list, mcsim describe NAME).",
)


def estimator_given(text: str) -> EstimatorSpec:
    """Read `--estimator`."""
    from mcsim.base.errors import mistakes_in
    from mcsim.locality.measure import parse_estimator

    with mistakes_in("--estimator"):
        return parse_estimator(text)


curve_options = stream_options(
    seed="Of estimators.",
    threads="Threads: curves made at a time, or for one alone; all cores if not given.",
)


def make_curves(
    source: Source,
    estimators: Sequence[EstimatorSpec],
    streams_of: Callable[[Blocks], Sequence[Blocks]],
) -> tuple[Blocks, list[Measured]]:
    """Read the traces and make the curve of every stream by every estimator."""
    from mcsim.locality.measure import measure
    from mcsim.references.block_keys import SAMPLED_BY_KEY

    source.addresses = any(spec.name in SAMPLED_BY_KEY for spec in estimators)
    source.block_bytes  # noqa: B018  # validated before the work begins
    reporter = reporter_asked()
    with reporter.live():
        blocks = source.read(reporter)
        tasks = [(stream, spec) for stream in streams_of(blocks) for spec in estimators]
        measured = measure(
            tasks,
            seed=source.seed,
            threads=source.threads,
            reporter=reporter,
            one_at_a_time=len(estimators) > 1,
        )
    return blocks, measured
