"""Commands and groups of commands, and the sections of their help."""

from __future__ import annotations

import copy

import click

# Headings of options that many commands have alike, and the names of their values.
_SECTIONS = {
    "Input": (
        *("block_size", "ops", "vms", "order", "trace_dirs", "format", "options", "mapping"),
        *("save_mapping", "vm_name", "on_bad_line", "max_skipped", "on_unsorted", "overrides"),
    ),
    "Output": (
        *("out", "folder", "file", "file_out", "per_vm", "form", "figures", "page"),
        *("linear", "formats", "style"),
    ),
    "Execution": (
        *("seed", "threads", "memory", "plugin", "cache_dir", "allow_code", "code"),
        *("force", "quiet", "help"),
    ),
}

_ALL_SHOWN = "mcsim.all_shown"


def _help_with_all(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if asked:
        ctx.meta[_ALL_SHOWN] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_help_with_all,
    help="Show this message with the rare options, too, and exit.",
)


class Sectioned(click.Command):
    """A command with sections in its help: its own options first, then common ones by topic.

    Its hidden options are rare ones: --help-all shows them.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters; --help-all is one of them if an option is rare."""
        params = super().get_params(ctx)
        return [*params, _HELP_ALL] if any(map(_is_rare, params)) else params

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under its heading."""
        shown = option_records(self, ctx, rare=ctx.meta.get(_ALL_SHOWN, False))
        for heading, records in shown.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def _is_rare(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and param.hidden


class Commands(click.Group):
    """A group of commands; an unknown one is an error that names the nearest, or all."""

    command_class = Sectioned

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names."""
        from mcsim.base.suggest import did_you_mean

        known = self.list_commands(ctx)
        if args[0] not in known:
            near = did_you_mean(args[0], known) or f" (one of {', '.join(known)})"
            ctx.fail(f"no such command {args[0]!r}{near}")
        return super().resolve_command(ctx, args)


def option_records(
    command: click.Command, ctx: click.Context, *, rare: bool
) -> dict[str, list[tuple[str, str]]]:
    """Return the options of a command and their help, by heading, rare ones on request."""
    heading_of = {name: heading for heading, names in _SECTIONS.items() for name in names}
    rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in ("Options", *_SECTIONS)}
    for param in command.get_params(ctx):
        if not isinstance(param, click.Option) or (param.hidden and not rare):
            continue
        shown = copy.copy(param)
        shown.hidden = False
        name = "help" if param.opts[-1] in ("--help", "--help-all") else param.name or ""
        if record := shown.get_help_record(ctx):
            rows[heading_of.get(name, "Options")].append(record)
    return {heading: records for heading, records in rows.items() if records}
