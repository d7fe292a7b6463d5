"""Options of many commands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from mcsim.base.progress import Reporter
    from mcsim.experiment.code import Permission

Command = TypeVar("Command", bound=Callable[..., Any])

_QUIET = "mcsim.quiet"
_OWN_CODE = "mcsim.own_code"


def folder_to_write(_ctx: click.Context, _param: click.Parameter, given: Any) -> Any:
    """Check that the folder of an option can be written."""
    from mcsim.base.files import check_writable

    if given == "":
        raise click.BadParameter("expected the name of a folder, got ''")
    if given is not None:
        check_writable(Path(given))
    return given


def file_to_write(_ctx: click.Context, _param: click.Parameter, given: Any) -> Any:
    """Check that a file, a parameter's value, can be written: its folder, and what it replaces."""
    from mcsim.base.files import check_writable, named_in_errors
    from mcsim.base.inputs import expect_output

    if given is not None:
        with named_in_errors(Path(given)):
            check_writable(expect_output(Path(given)).parent)
    return given


def folder_or_file(name: str) -> Callable[..., Path | None]:
    """Make a callback that checks a place to write, and returns the path of the file.

    A place is a folder, with the file `name`, if it is one, or if it is new and has no ending.
    """

    def place(ctx: click.Context, param: click.Parameter, given: Path | None) -> Path | None:
        if given is not None and (given.is_dir() or not (given.suffix or given.exists())):
            given /= name
        file_to_write(ctx, param, given)
        return given

    return place


def _remember(ctx: click.Context, _param: click.Parameter, quiet: bool) -> None:
    ctx.meta[_QUIET] = quiet


quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Say nothing while at work: no stages, no progress.",
)


block_bytes_option = click.option(
    "--block-bytes",
    "block_size",
    metavar="SIZE",
    default="4KiB",
    show_default=True,
    help="Size of a block.",
)


def quiet_asked() -> bool:
    """Return whether the current command has --quiet."""
    return bool(click.get_current_context().meta.get(_QUIET))


def reporter_asked() -> Reporter:
    """Return the reporter of the current command's progress; with --quiet it is silent."""
    from mcsim.base.progress import Reporter
    from mcsim.cli.terminal import terminal

    return Reporter(None if quiet_asked() else terminal(stderr=True))


def with_options(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    """Add options to a command, in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def _and_usual_dirs(
    _ctx: click.Context, _param: click.Parameter, given: Sequence[Path]
) -> list[Path]:
    """Append the folders of $MCSIM_TRACE_DIR to the given ones."""
    from mcsim.traces.find import default_trace_dirs

    return [*given, *default_trace_dirs()]


def trace_dirs_option(sought: str = "traces") -> Callable[[Command], Command]:
    """Make the option of additional trace folders, before those of $MCSIM_TRACE_DIR."""
    return click.option(
        "--trace-dir",
        "trace_dirs",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        multiple=True,
        callback=_and_usual_dirs,
        help=f"Where to look for {sought}, before $MCSIM_TRACE_DIR; may be repeated.",
    )


def _results_option(**more: Any) -> Callable[[Command], Command]:
    return click.option(
        "--results",
        "out",
        metavar="DIR",
        type=click.Path(),
        default="results",
        show_default=True,
        help="Folder of all results.",
        **more,
    )


stored_option = _results_option()
results_option = _results_option(callback=folder_to_write)

per_vm_option = click.option(
    "--per-vm", is_flag=True, help="Show all tables: every VM, latencies, devices, cost."
)


class TableFormat(click.Option):
    """An option with the format of a printed table, and a flag for each format but text."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the option and its flags."""
        option, *flags = self.opts
        parser.add_option(self, [option], dest=self.name, action="append")
        for flag in flags:
            form = flag.removeprefix("--")
            parser.add_option(self, [flag], dest=self.name, action="append_const", const=form)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the option with its formats, and its help with the flags."""
        option, *flags = self.opts
        return f"{option} FORM", f"{self.help}  [text, or for short {', '.join(flags)}]"


def _one_form(_ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> str:
    """Return the format that was given, once or several times."""
    forms = [form for form in _FORMS if form in given]
    if len(forms) > 1:
        raise click.UsageError(f"--{forms[0]} and --{forms[1]}: one at a time")
    return forms[0] if forms else _FORMS[0]


_FORMS = ("text", "json", "csv", "markdown", "latex")

table_option = click.option(
    "--table-format",
    *(f"--{form}" for form in _FORMS[1:]),
    "form",
    cls=TableFormat,
    type=click.Choice(_FORMS),
    multiple=True,
    callback=_one_form,
    help="How to print the result. JSON and CSV have all columns, sizes in blocks or bytes, times "
    "in ns; LaTeX is for the package booktabs.",
)

systems_threads_option = click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(min=1),
    help="Systems replayed at a time; all cores if not given.",
)


def _remember_own_code(ctx: click.Context, _param: click.Parameter, allowed: bool) -> None:
    ctx.meta[_OWN_CODE] = allowed


def _permission(ctx: click.Context, _param: click.Parameter, named: Sequence[str]) -> Permission:
    from mcsim.experiment.code import Permission

    return Permission(ctx.meta[_OWN_CODE], frozenset(named))


def code_options(command: Command) -> Command:
    """Add the options that allow Python code, as a `Permission` in the parameter `code`."""
    options = [
        click.option(
            "--allow-code",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_remember_own_code,
            help="Allow the Python classes and the libraries in the folder of the experiment, or "
            "in the working directory.",
        ),
        click.option(
            "--code",
            "code",
            metavar="NAME",
            multiple=True,
            hidden=True,
            callback=_permission,
            help="Allow this module or library, wherever it is; may be repeated.",
        ),
    ]
    return with_options(command, options)


def devices_options(command: Command) -> Command:
    """Add the options of the devices of a cache and of its backend."""
    options = [
        click.option(
            "--tier",
            metavar="DEVICE",
            default="flash",
            show_default=True,
            help="Device of the cache (see mcsim list), or the time of an access, such as 80us.",
        ),
        click.option(
            "--backend",
            metavar="DEVICE",
            default="hdd",
            show_default=True,
            help="Device behind the cache, or the time of an access, such as 4ms.",
        ),
        click.option(
            "--device",
            "devices",
            metavar="NAME=KEY:VALUE,...",
            multiple=True,
            hidden=True,
            help="A device that is not in the list, such as mine=read:80us,write:20us,price:0.2, "
            "with the keys of a device in an experiment; may be repeated.",
        ),
    ]
    return with_options(command, options)


def overrides_option(help: str) -> Callable[[Command], Command]:
    """Make the option by which values of an experiment are changed."""
    return click.option("--set", "overrides", metavar="KEY=VALUE", multiple=True, help=help)


def seed_option(help: str, default: int | None = 1) -> Callable[[Command], Command]:
    """Make the option of a seed of random numbers."""
    return click.option(
        "--seed",
        metavar="N",
        type=click.IntRange(min=0, max=2**63 - 1),
        default=default,
        show_default=default is not None,
        help=help,
    )


shard_option = click.option(
    "--shard", metavar="I/N", help="Run the I-th of N parts, from 0: for job arrays."
)

dask_option = click.option(
    "--dask", "scheduler", metavar="ADDRESS", help="Run the cells on this Dask scheduler."
)


_FORMATS = ("png", "pdf", "svg")


def _formats(_ctx: click.Context, _param: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    """Read formats, each option one or several with commas in between."""
    names = [name.strip() for text in given for name in text.split(",")]
    for name in names:
        if name not in _FORMATS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(_FORMATS)}.")
    return tuple(dict.fromkeys(names))


def formats_option(
    *default: str, otherwise: str = "", hidden: bool = False
) -> Callable[[Command], Command]:
    """Make the option of figure formats; `otherwise` describes the default."""
    return click.option(
        "--figure-format",
        "formats",
        metavar="[png|pdf|svg],...",
        multiple=True,
        default=default,
        callback=_formats,
        hidden=hidden,
        help=f"What to write figures as.  [default: {otherwise or ', '.join(default)}]",
    )


systems_option = click.option(
    "--systems",
    metavar="NAME,...",
    multiple=True,
    help="Systems that charts show.  [default: at most ten, the best and Global LRU]",
)


def style_option(
    default: str | None, otherwise: str = "", hidden: bool = False
) -> Callable[[Command], Command]:
    """Make the option of the style of figures; `otherwise` describes the default."""
    return click.option(
        "--style",
        type=click.Choice(["screen", "paper"]),
        default=default,
        hidden=hidden,
        help="Look of figures; for papers: as wide as a column, text in 8 points, without title "
        f"and run.  [default: {otherwise or default}]",
    )


def plugin_option(command: Command) -> Command:
    """Add the option of plugins; the libraries are loaded before the command begins."""
    return click.option(
        "--plugin",
        metavar="LIBRARY",
        multiple=True,
        expose_value=False,
        callback=_load,
        hidden=True,
        help="Load eviction policies from this shared library; may be repeated.",
    )(command)


def _load(_context: click.Context, _param: click.Parameter, libraries: tuple[str, ...]) -> None:
    if not libraries:
        return
    from mcsim.base.errors import mistakes_in
    from mcsim.policies.specs import load_policies

    for library in libraries:
        with mistakes_in("--plugin"):
            load_policies(library)


def sizes_given(text: str, unique: int, block_bytes: int | None) -> list[int]:
    """Read `--sizes`: capacities in blocks, in their order and each once."""
    from mcsim.base.errors import mistakes_in
    from mcsim.base.sizes import parse_capacities, sizes_in

    with mistakes_in("--sizes"):
        return sorted(
            {
                capacity
                for size in sizes_in(text)
                for capacity in parse_capacities(size, unique, block_bytes)
            }
        )


def check_only(what: str, allowed: Collection[str]) -> None:
    """Raise ConfigError for an option that was given, and that `what` does not use."""
    from mcsim.base.errors import ConfigError

    context = click.get_current_context()
    for param in context.command.params:
        given = context.get_parameter_source(param.name or "")
        is_default = given in (None, click.core.ParameterSource.DEFAULT)
        if not is_default and param.name not in allowed:
            raise ConfigError(f"{what} and {param.opts[-1]}: not together")
