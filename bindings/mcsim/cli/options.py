"""Options that many commands share: where they write, and how much they say while they work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from mcsim.base.progress import Reporter

__all__ = ["file_to_write", "folder_to_write", "quiet_option", "reporter_asked"]

_QUIET = "mcsim.quiet"


def folder_to_write(_ctx: click.Context, _param: click.Parameter, given: Any) -> Any:
    """Hold a folder that results go to, an option's value, to be one that can be written."""
    from mcsim.base.files import check_writable

    if given is not None:
        check_writable(Path(given))
    return given


def file_to_write(_ctx: click.Context, _param: click.Parameter, given: Any) -> Any:
    """Hold the folder of a file that is to be made, a parameter's value, to take it."""
    from mcsim.base.files import check_writable

    if given is not None:
        check_writable(Path(given).parent)
    return given


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


def reporter_asked() -> Reporter:
    """Return what tells of the progress of the command under way, or keeps quiet."""
    from mcsim.base.progress import Reporter
    from mcsim.cli.terminal import terminal

    quiet = click.get_current_context().meta.get(_QUIET)
    return Reporter(None if quiet else terminal(stderr=True))
