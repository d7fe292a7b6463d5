"""The catalogue: documents and their figures."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence

from mcsim.base.arguments import text
from mcsim.base.errors import ConfigError
from mcsim.base.package import experiments_folder
from mcsim.base.suggest import did_you_mean
from mcsim.reproduce.figure import Figure
from mcsim.reproduce.published import Document, read_document

DOCUMENTS = ("multicache", "eci", "thesis", "cloudphysics")
"""In the order of the catalogue; the `figures.py` of each declares `FIGURES`."""


def figures_of(document: str) -> Sequence[Figure]:
    """Return the figures of a document, in its own order."""
    module = importlib.import_module(f"mcsim.reproduce.documents.{document}.figures")
    figures: Sequence[Figure] = module.FIGURES
    return figures


def document_of(name: str) -> Document:
    """Return the bibliography of a document."""
    return read_document(experiments_folder() / "reproduce" / name)


def chosen(names: Iterable[str]) -> list[Figure]:
    """Return the figures that are asked for, each once, in the order of the catalogue.

    Parameters
    ----------
    names : iterable of str
        Documents, and figures as ``"multicache/fig14"``; none is all.

    Raises
    ------
    ConfigError
        For an unknown name; the message has the nearest one.
    """
    asked = list(names)
    every = [figure for document in DOCUMENTS for figure in figures_of(document)]
    known = [*DOCUMENTS, *(figure.name for figure in every)]
    for name in asked:
        if text("names", name) not in known:
            document = name.partition("/")[0]
            of = [figure.name for figure in every if figure.document == document]
            raise ConfigError(
                f"no document or figure {name!r}{did_you_mean(name, of or known)}; there are "
                f"{', '.join(of or DOCUMENTS)}; see mcsim reproduce --list"
            )
    return [
        figure for figure in every if not asked or figure.name in asked or figure.document in asked
    ]
