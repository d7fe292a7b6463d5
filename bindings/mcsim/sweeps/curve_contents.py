"""The content of the files that a piece of a curve depends on.

A piece is current while its files have the content that it was computed from. A file in the same
state is not read; another is read once, and its digest is kept in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.base.errors import ConfigError
from mcsim.locality.curve_pieces import CurvePiece, FileContent
from mcsim.traces.cache import cache_directory
from mcsim.traces.digests import file_state, is_settled
from mcsim.traces.parse import content_digest

if TYPE_CHECKING:
    from mcsim.sweeps.curve_plan import CurvePlan

_DEVICE = 4
"""Position of the device in the state of a file; machines number it differently."""


class Contents:
    """The files of a plan, as they are now.

    Parameters
    ----------
    plan : CurvePlan
    """

    def __init__(self, plan: CurvePlan) -> None:
        self._files: Sequence[Path] = plan.files
        self._cache = Path(plan.reading.cache_dir or cache_directory())
        self._digests: dict[int, str] = {}
        self._states: dict[int, tuple[int, ...]] = {}

    def is_current(self, piece: Path) -> bool:
        """Whether a file is a whole piece, or merge, of the present content of its files."""
        if not piece.is_file():
            return False
        try:
            kept = CurvePiece.contents_in(piece)
        except ConfigError:
            return False
        return all(self._is(at, content) for at, content in kept.items())

    def _is(self, at: int, kept: FileContent) -> bool:
        if at >= len(self._files):
            return False
        is_same = bool(kept.state) and kept.state == self.state(at)
        return is_same or kept.digest == self._digest(at)

    def _digest(self, at: int) -> str:
        if at not in self._digests:
            self._digests[at] = content_digest(self._files[at], self._cache)
        return self._digests[at]

    def state(self, at: int) -> tuple[int, ...]:
        """Return the state of a file; empty if it may change and keep it."""
        if at not in self._states:
            state = file_state(self._files[at])
            kept = state[:_DEVICE] + state[_DEVICE + 1 :]
            self._states[at] = tuple(kept) if is_settled(state) else ()
        return self._states[at]
