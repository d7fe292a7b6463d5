"""A page as data, and its HTML: one file that asks nobody for anything.

Everything that comes from traces, YAML or results is escaped, by the template or in JSON. The
page forbids itself by its content security policy to load anything, and to run any script but
the two that are named there by their digests.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any
from urllib.parse import quote

from mcsim._core import __version__
from mcsim.base.errors import ConfigError
from mcsim.report.charts import Chart
from mcsim.report.swatches import swatch
from mcsim.report.tables import Table

__all__ = ["Facts", "Listing", "Page", "Picture", "Prose", "Section", "lean", "render"]

ABSENT = "pages need the packages jinja2 and bokeh: pip install mcsim[report]"


@dataclass(frozen=True)
class Prose:
    """A paragraph; `alert` if it must not be missed."""

    text: str
    alert: bool = False

    kind = "prose"


@dataclass(frozen=True)
class Facts:
    """Names with what is known of them."""

    pairs: Sequence[tuple[str, str]]

    kind = "facts"


@dataclass(frozen=True)
class Listing:
    """A file, as it is; folded if `folded`."""

    title: str
    text: str

    kind = "listing"


@dataclass(frozen=True)
class Picture:
    """An image for print.

    Attributes
    ----------
    title : str
        What it shows.
    media : str
        Such as ``image/svg+xml``.
    content : bytes or str
        Of text it is the shorter.
    """

    title: str
    media: str
    content: bytes | str

    kind = "picture"

    @property
    def address(self) -> str:
        """The image itself, as an address."""
        if isinstance(self.content, str):
            return f"data:{self.media},{quote(self.content, safe=_KEPT)}"
        return f"data:{self.media};base64,{base64.b64encode(self.content).decode()}"


# Of what an address may hold, all that neither ends it nor HTML takes for its own.
_KEPT = " =:;,/?@!$*()[]|'"


def lean(svg: str) -> str:
    """Return an SVG without comments, and with paths to a tenth of a point, or three figures."""
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(?<= d=")[^"]*', lambda path: _rounded(" ".join(path[0].split())), svg)
    return re.sub(r"\s*\n\s*", "\n", svg)


def _rounded(path: str) -> str:
    return re.sub(r"(\d\d\.\d|\d\.\d\d)\d+", r"\1", path)


Block = Prose | Facts | Listing | Picture | Table | Chart


@dataclass(frozen=True)
class Section:
    """Blocks under a heading.

    Attributes
    ----------
    folded : bool
        Whether the reader has to open it.
    level : {2, 3}
        Of the heading.
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
    """

    title: str
    lead: str
    sections: Sequence[Section]


def render(page: Page) -> str:
    """Return the HTML of a page: the same for the same page.

    Raises
    ------
    ConfigError
        If the packages that pages need are not there; it says how to install them.
    """
    try:
        from jinja2 import Environment
        from markupsafe import Markup

        from mcsim.report.plots import library, plot
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in ("mcsim",):
            raise
        raise ConfigError(ABSENT) from error
    charts: list[dict[str, Any]] = []

    def drawn(chart: Chart) -> dict[str, Any]:
        entry = {
            "id": f"chart-{len(charts) + 1}",
            "json": Markup(_json_in_html(plot(chart))),
            "legend": [(Markup(swatch(s.look, chart.kind)), s.look.label) for s in chart.series],
        }
        charts.append(entry)
        return entry

    scripts = [_own("page.js")]
    if any(isinstance(block, Chart) for section in page.sections for block in section.blocks):
        scripts.insert(0, library())
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_own("page.html")).render(
        page=page,
        drawn=drawn,
        is_chart=lambda block: isinstance(block, Chart),
        style=Markup(_own("page.css")),
        scripts=[Markup(script) for script in scripts],
        digests=" ".join(f"'{_digest(script)}'" for script in scripts),
        version=__version__,
    )


def _own(name: str) -> str:
    return resources.files("mcsim.report").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _json_in_html(value: Any) -> str:
    """Return JSON that no HTML parser takes for anything but text."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
