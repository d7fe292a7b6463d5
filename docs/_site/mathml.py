"""Render formulas as MathML, which browsers show without scripts."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def inline(self: Any, node: nodes.math) -> None:
    """Write a formula of a sentence."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """Write a formula of its own line; it scrolls on narrow screens."""
    formula = convert(node.astext(), display="block")
    self.body.append(f'<div class="formula" tabindex="0">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
