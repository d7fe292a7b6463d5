"""`mcsim cache`: what is kept of traces in the user's cache folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.help import Commands
from mcsim.cli.options import table_option
from mcsim.cli.terminal import Form, print_result

if TYPE_CHECKING:
    from mcsim.traces.cache import Entry

_DAMAGED = 1  # exit code


@click.group(cls=Commands)
def cache() -> None:
    """List, verify and remove what is kept of traces, so that nothing is made twice.

    A missing entry is made again when it is needed. Beyond $MCSIM_CACHE_LIMIT, or a tenth of the
    file system and at most 16 GiB, the least recently used entries are removed.
    """


_folder_option = click.option(
    "--cache-dir",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The folder; $MCSIM_CACHE_DIR or the user's cache if not given.",
)


@cache.command("ls", short_help="List entries.")
@_folder_option
@table_option
def list_(folder: Path | None, form: Form) -> None:
    """List the entries of the trace cache, the most recently used last.

    Small entries are digests of parsed files. They link an unchanged file to its entry without
    reading it.
    """
    from mcsim.base.units import format_size
    from mcsim.tables.result_columns import TABLES
    from mcsim.tables.result_table import ResultTable
    from mcsim.traces.cache import cache_limit

    where, found = _entries(folder)
    found.sort(key=lambda entry: entry.used_ns)
    total, limit = sum(entry.bytes for entry in found), cache_limit(where)
    rows = [_row(entry, entry.describe()) for entry in found if entry.kind.is_listed]
    small = len(found) - len(rows)
    beside = f" and {small:,} small {'one' if small == 1 else 'ones'}" if small else ""
    entries = "entry" if len(rows) == 1 else "entries"
    table = ResultTable.of_rows(TABLES["entries"], rows, "entries")
    print_result(
        form,
        *([table] if rows else []),
        f"{len(rows):,} {entries}{beside}; {format_size(total)} of at most {format_size(limit)} "
        f"in {where}",
        data=table.to_arrow,
        whole=lambda: {
            **{"folder": str(where), "bytes": total, "limit": limit},
            "entries": [_as_mapping(entry) for entry in found],
        },
        listing=True,
    )


def _row(entry: Entry, content: str) -> tuple[Any, ...]:
    name, path = entry.path.name, str(entry.path)
    return name, entry.kind.name, entry.used, entry.bytes, content, path


def _as_mapping(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.path.name,
        "kind": entry.kind.name,
        "used": entry.used.isoformat(),
        "bytes": entry.bytes,
        "path": str(entry.path),
    }


@cache.command(short_help="Verify the checksums of all entries.")
@click.option("--remove", is_flag=True, help="Remove what is damaged.")
@_folder_option
@table_option
def verify(remove: bool, folder: Path | None, form: Form) -> None:
    """Read all entries and verify their checksums.

    Exit code 1 means that an entry is damaged. Damaged entries are made again at their next use.
    """
    from mcsim.tables.result_columns import TABLES
    from mcsim.tables.result_table import ResultTable
    from mcsim.traces.cache import check_cache

    where, found = _entries(folder)
    check_cache(where)
    damaged = {entry: why for entry in found if (why := entry.fault()) is not None}
    if remove:
        for entry in damaged:
            entry.remove()
    faults = {str(entry.path): why for entry, why in damaged.items()}
    gone = "; the rest is removed" if remove and damaged else ""
    print_result(
        form,
        *damaged.values(),
        f"{len(found) - len(damaged):,} of {len(found):,} entries are whole{gone}",
        data=ResultTable.of_rows(TABLES["faults"], list(faults.items())).to_arrow,
        whole=lambda: {"verified": len(found), "damaged": faults, "removed": remove},
    )
    if damaged:
        sys.exit(_DAMAGED)


@cache.command("rm", short_help="Remove entries.")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All of it.")
@click.option(
    "--to", "limit", metavar="SIZE", help="What was used longest ago, until SIZE is left."
)
@_folder_option
@table_option
def remove_(
    names: tuple[str, ...],
    everything: bool,
    limit: str | None,
    folder: Path | None,
    form: Form,
) -> None:
    """Remove what is kept by its names, as ls has them, or patterns such as 'web_*'.

    \b
    mcsim cache rm --to 10GiB
    mcsim cache rm 'web_*'
    """  # noqa: D301
    from mcsim.base.errors import ConfigError
    from mcsim.base.units import format_size
    from mcsim.tables.result_columns import TABLES
    from mcsim.tables.result_table import ResultTable

    if bool(names) + everything + (limit is not None) != 1:
        raise ConfigError("give names, --all or --to SIZE: one of them")
    where, found = _entries(folder)
    if limit is None:
        removed = [entry for entry in _chosen(found, names) if entry.remove()]
    else:
        removed = _make_room(where, limit)
    freed = format_size(sum(entry.bytes for entry in removed))
    table = ResultTable.of_rows(
        TABLES["freed"], [(str(entry.path), entry.bytes) for entry in removed], "removed"
    )
    print_result(
        form,
        *([table] if removed else []),
        f"{freed} freed" if removed else "nothing to remove",
        data=table.to_arrow,
        whole=lambda: {"removed": [_as_mapping(entry) for entry in removed]},
        listing=True,
    )


def _chosen(found: list[Entry], names: Sequence[str]) -> list[Entry]:
    from mcsim.base.suggest import names_matching

    if not names:
        return found
    chosen = set(names_matching(names, [entry.path.name for entry in found], "entry"))
    return [entry for entry in found if entry.path.name in chosen]


def _make_room(folder: Path, limit: str) -> list[Entry]:
    from mcsim.base.errors import mistakes_in
    from mcsim.base.units import parse_bytes
    from mcsim.traces.cache import make_room

    with mistakes_in("--to"):
        size = parse_bytes(limit)
    return make_room(folder, size)


def _entries(folder: Path | None) -> tuple[Path, list[Entry]]:
    from mcsim.traces.cache import cache_directory, entries

    where = folder or cache_directory()
    return where, list(entries(where))
