"""A page as data, and its HTML: one file that asks nobody for anything.

Everything that comes from traces, YAML or results is escaped, by the template or in JSON. The
page forbids itself by its content security policy to load anything, and to run any script but
the two that are named there by their digests: its own, and the one that draws, which the first
unpacks.
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
from urllib.parse import quote

from mcsim._core import __version__
from mcsim.base.errors import ConfigError
from mcsim.report.charts import Chart
from mcsim.report.swatches import swatch
from mcsim.report.tables import Table

__all__ = ["Facts", "Listing", "Page", "Picture", "Prose", "Section", "render"]

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

        from mcsim.report.models import library
        from mcsim.report.plots import plot

        charts = any(isinstance(block, Chart) for part in page.sections for block in part.blocks)
        drawing = library() if charts else ""
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in ("mcsim",):
            raise
        raise ConfigError(ABSENT) from error
    numbers = count(1)
    forms: dict[str, str] = {}

    def drawn(chart: Chart) -> dict[str, Any]:
        name = f"chart-{next(numbers)}"
        form, columns = plot(chart)
        # Of plots that are alike the first says how they look.
        first = forms.setdefault(_json_in_html(form), name)
        told = {"form": form if first == name else first, "columns": columns}
        return {
            "id": name,
            "json": Markup(_json_in_html(told)),
            "legend": [(Markup(swatch(s.look, chart.kind)), s.look.label) for s in chart.series],
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
    """Return a script in a third of its space, as the page unpacks it."""
    return base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode() if script else ""


def _notice(script: str) -> str:
    """Return a script's first comment, of whose it is, which is to be read on any copy."""
    found = re.search(r"/\*!(.*?)\*/", script, re.DOTALL)
    return re.sub(r"-{2,}|[<>&]", " ", found[1]) if found else ""


def _json_in_html(value: Any) -> str:
    """Return JSON that no HTML parser takes for anything but text."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
