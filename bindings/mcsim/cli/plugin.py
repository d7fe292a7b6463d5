"""The option by which commands learn of eviction policies in libraries."""

from __future__ import annotations

import click

from mcsim.cli.options import Command


def plugin_option(command: Command) -> Command:
    """Give a command the option; the libraries are loaded before the command begins."""
    return click.option(
        "--plugin",
        metavar="LIBRARY",
        multiple=True,
        expose_value=False,
        callback=_load,
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
