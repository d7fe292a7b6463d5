"""Commands and options that were renamed or belong elsewhere: an error names the right one."""

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

ELSEWHERE = {
    "reproduce --page": "a page is written with --html FILE",
    "trace map --option": "it is of commands that read with a --format, such as mcsim trace info; "
    "edit the file of --save instead",
}
"""Options of other commands, by command and option, and what to use instead."""
