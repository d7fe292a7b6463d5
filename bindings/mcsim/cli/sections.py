"""Help of commands: their own options first, then those that many commands share."""

from __future__ import annotations

import click

__all__ = ["Sectioned"]

# Headings of options that many commands have alike, and the names of their values.
_SECTIONS = {
    "Input": (
        *("block_size", "ops", "vms", "order", "trace_dirs", "format", "options", "mapping"),
        *("save_mapping", "on_bad_line", "on_unsorted", "overrides"),
    ),
    "Output": (
        *("out", "folder", "file", "file_out", "per_vm", "as_json", "as_csv", "as_markdown"),
        *("as_latex", "figures", "page", "linear", "formats", "style"),
    ),
    "Execution": (
        *("seed", "threads", "memory", "plugin", "cache_dir", "allow_code", "code"),
        *("force", "quiet", "help"),
    ),
}


class Sectioned(click.Command):
    """A command whose help has its own options first, and others under what they are about."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under its heading."""
        heading_of = {name: heading for heading, names in _SECTIONS.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {
            heading: [] for heading in ("Options", *_SECTIONS)
        }
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None or not isinstance(param, click.Option):
                continue
            name = "help" if "--help" in param.opts else param.name or ""
            rows[heading_of.get(name, "Options")].append(record)
        for heading, records in rows.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
