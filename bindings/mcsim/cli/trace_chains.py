"""`mcsim trace info` of chain traces: tokens by the requests that have read them before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.cli.terminal import Form, Line, print_result

if TYPE_CHECKING:
    from mcsim.traces.chains import ChainTrace
    from mcsim.traces.trace import Trace

_ALONE = ("chunk_hashes", "prefix_block_hashes")
"""Fields of chains that are read as prefixes alone, not as blocks."""


def has_chains_alone(file: str) -> bool:
    """Return whether a file has chains whose blocks have no numbers, as of LMCache and LiteLLM."""
    from mcsim.base.errors import McsimError
    from mcsim.traces.chain_files import first_fields

    path = Path(file)
    if ".jsonl" not in path.suffixes or not path.is_file():
        return False
    try:
        return any(name in _ALONE for name in first_fields(path))
    except (McsimError, OSError):
        return False


def show_chains(file: str, form: Form) -> None:
    """Print what a file of chains has."""
    from mcsim.locality.prefix_sharing import prefix_sharing
    from mcsim.traces.chains import read_chains

    trace = read_chains(file)
    table = prefix_sharing(trace)
    print_result(
        form,
        *_lines(trace),
        data=table.to_arrow,
        whole=lambda: {
            "requests": len(trace),
            "blocks": len(trace.blocks),
            "distinct": trace.distinct,
            "tokens": int(trace.tokens.sum()),
            "rows": table.to_arrow().to_pylist(),
        },
    )


def chains_of(opened: Trace, file: str, folders: list[Path]) -> list[Line]:
    """Return the lines on the prefixes of a trace; none if its requests are no chains.

    A trace that breaks a rule of chains has a line with the reason.
    """
    from mcsim.base.errors import McsimError
    from mcsim.cli.kv import file_of_chains
    from mcsim.traces.chains import read_chains

    if not opened.metadata.has_prefixes:
        return []
    try:
        return _lines(read_chains(file_of_chains([file], folders)))
    except McsimError as error:
        return [f"prefixes: {error}"]


def _lines(trace: ChainTrace) -> list[Line]:
    from mcsim.locality.prefix_sharing import described_chains, prefix_sharing

    return [*trace.notes, described_chains(trace), prefix_sharing(trace)]
