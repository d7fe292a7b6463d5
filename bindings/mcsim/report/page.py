"""A page as data, and its HTML: one file that requests nothing.

All text from traces, YAML or results is escaped, by the template or in JSON. The content security
policy of the page forbids all loading. It allows two scripts by their digests: the page's own, and
the chart library, which the page's own script unpacks.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import count
from typing import Any

from mcsim._core import __version__
from mcsim.base.package import require
from mcsim.figures.chart import Chart
from mcsim.report.tables import Table, table_of


@dataclass(frozen=True)
class Prose:
    """A paragraph; `alert` if it must not be missed."""

    text: str
    alert: bool = False

    kind = "prose"


@dataclass(frozen=True)
class Facts:
    """Pairs of a name and a value."""

    pairs: Sequence[tuple[str, str]]

    kind = "facts"


@dataclass(frozen=True)
class Listing:
    """A file, as it is; folded if `folded`."""

    title: str
    text: str

    kind = "listing"


Block = Prose | Facts | Listing | Table | Chart


@dataclass(frozen=True)
class Section:
    """Blocks under a heading.

    Attributes
    ----------
    folded : bool
        Whether the reader has to open it.
    level : {2, 3}
        Level of the heading.
    """

    title: str
    blocks: Sequence[Block]
    folded: bool = False
    level: int = 2


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes
    ----------
    title : str
    lead : str
        The question, in a sentence or two.
    sections : sequence of Section
    command : str
        The command that makes the page; empty if there is none.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    command: str = ""


def render(page: Page) -> str:
    """Return the HTML of a page: the same for the same page.

    Raises
    ------
    ConfigError
        If a package that pages need is missing; the message has the command that installs it.
    """
    require("pages", "bokeh", "jinja2")
    from jinja2 import Environment
    from markupsafe import Markup

    from mcsim.report.plots import library, plot, swatch

    charts = any(isinstance(block, Chart) for part in page.sections for block in part.blocks)
    drawing = library() if charts else ""
    numbers = count(1)

    def drawn(chart: Chart) -> dict[str, Any]:
        return {
            "id": f"chart-{next(numbers)}",
            "json": Markup(_json_in_html(plot(chart))),
            "legend": [
                (Markup(swatch(one.look, chart.kind_of(one))), one.look.label)
                for one in chart.series
                if chart.kind != "map"
            ],
            "table": table_of(chart),
        }

    own = _own("page.js")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_own("page.html")).render(
        page=page,
        drawn=drawn,
        is_chart=lambda block: isinstance(block, Chart),
        style=Markup(_own("page.css")),
        own=Markup(own),
        packed=_packed(drawing),
        notice=Markup(_notice(drawing)),
        digests=" ".join(f"'{_digest(script)}'" for script in (drawing, own) if script),
        version=__version__,
    )


def _own(name: str) -> str:
    return resources.files("mcsim.report").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _packed(script: str) -> str:
    """Compress a script to a third of its size, in the form that the page unpacks."""
    return base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode() if script else ""


def _notice(script: str) -> str:
    """Return a script's first comment: its licence notice, which every copy must show."""
    found = re.search(r"/\*!(.*?)\*/", script, re.DOTALL)
    return re.sub(r"-{2,}|[<>&]", " ", found[1]) if found else ""


def _json_in_html(value: Any) -> str:
    """Return JSON that no HTML parser takes for anything but text."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
