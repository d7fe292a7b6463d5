"""Files that the folder of a run may have, declared once for writing, reading and removal.

results/<run_id>/
  spec.yaml                 the experiment, every default written out
  environment.json          version, commit, machine, traces and their digests
  metrics.parquet           system × interval × VM × tier: exact counts
  vms.parquet               system × interval × VM: accesses and misses
  curves.parquet            hits of LRU by capacity, per VM, over the whole trace
  reuse_intensity.parquet   per VM and window
  decisions.parquet         decisions of controllers, with provable bounds of their quality
  bounds.parquet            upper bounds on hits (OPT)
  alone.parquet             system × VM: replays of each VM alone with all tiers
  timings.json              seconds per stage and system
  log.txt                   events with their times
  DONE                      written last: checksums of all of these but the log, and its own
  figures/                  drawn from the files above
  page.html                 the page
  seconds-figures.json      seconds of drawing

The names of figures are those that `mcsim.figures` registers.
"""

from __future__ import annotations

import re

from mcsim.results.schemas import SCHEMAS
from mcsim.tables.charts import figure_names

DONE = "DONE"
SPEC = "spec.yaml"
ENVIRONMENT = "environment.json"
TIMINGS = "timings.json"
LOG = "log.txt"
PAGE = "page.html"
SECONDS_OF_FIGURES = "seconds-figures.json"
FIGURES = "figures"
"""A folder; the others are files."""

RUN_FILES = frozenset(
    (
        *(DONE, ENVIRONMENT, LOG, PAGE, SECONDS_OF_FIGURES, SPEC, TIMINGS),
        *(f"{table}.parquet" for table in SCHEMAS),
    )
)
"""Names of all files of the folder itself."""

_EARLIER_FIGURES = ("fig1", *(f"fig{number}" for number in range(4, 15)))
"""Names of figures that version 0.1 drew."""

_FIGURE = re.compile(r"([\w-]+)\.(png|pdf|svg)", re.ASCII)


def is_figure(file: str) -> bool:
    """Return whether a file of the folder `figures` has the name of a figure."""
    found = _FIGURE.fullmatch(file)
    return found is not None and (found[1] in _EARLIER_FIGURES or found[1] in figure_names())


def declared(file: str) -> str:
    """Return the name of a file that is about to be written, which is in `RUN_FILES`."""
    assert file in RUN_FILES, file
    return file
