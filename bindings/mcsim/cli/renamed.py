"""Commands and options that were renamed: an old one is an error that names the new one."""

from __future__ import annotations

COMMANDS = {
    "config": "build-flags",
    "figures": "results plot",
    "report": "results show, or results page",
    "sweep figures": "results plot SWEEP",
    "sweep table": "results show SWEEP",
}

OPTIONS = {
    "--html": "-o FILE",
    "--latex": "results show SWEEP --latex",
    "--no-figures": "nothing: pictures are written only with -o DIR",
    "--out": "--results DIR for the folder of all results, -o for what is written",
}
