"""Write the pages of the command line, from the declared commands."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click

from _site.reference import cell
from mcsim.cli.help import option_records
from mcsim.cli.main import cli


def write(root: Path, source: Path) -> None:
    """Write a page for each command, with its subcommands, and their list."""
    del root
    folder = source / "reference" / "cli"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Command line", "", cli.help or "", "", "| command | task |", "|---|---|"]
    names = []
    for name, command in subcommands(cli):
        if command.hidden:
            continue
        names.append(name)
        (folder / f"{name}.md").write_text(page(f"mcsim {name}", command), encoding="utf-8")
        lines.append(f"| [`mcsim {name}`]({name}.md) | {cell(first_paragraph(command))} |")
    every = "\n".join(names)
    lines += ["", f"```{{toctree}}\n:hidden:\n\n{every}\n```", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def subcommands(group: click.Group) -> list[tuple[str, click.Command]]:
    """Return the commands of a group by name, in the order of `--help`."""
    context = click.Context(group)
    found = [(name, group.get_command(context, name)) for name in group.list_commands(context)]
    return [(name, command) for name, command in found if command is not None]


def first_paragraph(command: click.Command) -> str:
    """Return the task of a command."""
    return " ".join((command.help or "").split("\n\n")[0].split())


def page(name: str, command: click.Command, level: int = 1) -> str:
    """Return the section of a command and of its subcommands."""
    parts = [f"{'#' * level} `{name}`", description(command)]
    if isinstance(command, click.Group):
        parts += [
            page(f"{name} {word}", found, level + 1)
            for word, found in subcommands(command)
            if not found.hidden
        ]
        return "\n\n".join(parts)
    context = click.Context(command, info_name=name)
    usage = " ".join(command.collect_usage_pieces(context))
    parts.append(f"```text\n{name} {usage}\n```")
    for title, records in option_records(command, context, rare=True).items():
        rows = [f"| `{cell(option)}` | {cell(meaning)} |" for option, meaning in records]
        parts.append("\n".join([f"| {title.lower()} | meaning |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def description(command: click.Command) -> str:
    """Return the help of a command as Markdown; examples become code."""
    out = []
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        lines = [line.strip("\b").rstrip() for line in paragraph.strip("\n").splitlines()]
        lines = [line for line in lines if line]
        if any(re.match(r"\s*(\S+ \| )?mcsim ", line) for line in lines):
            out.append("```sh\n" + "\n".join(line.strip() for line in lines) + "\n```")
        else:
            out.append(cell(" ".join(lines)))
    return "\n\n".join(out)
