"""Configuration of Sphinx; ``./mcsim docs`` builds the site."""

from __future__ import annotations

from typing import Any

import mcsim

project = "mcsim"
author = "The mcsim maintainers"
project_copyright = "The mcsim maintainers"
release = version = mcsim.__version__

extensions = [
    "_site.mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
]
exclude_patterns = ["paper.md", "notes"]

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

smartquotes = False
html_theme = "furo"
html_title = f"mcsim {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7cb8ff", "color-brand-content": "#7cb8ff"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
html_show_search_summary = False  # a page opened as a file cannot read other pages


def make_accessible(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give captions of the navigation a level, and let the keyboard scroll code and tables."""
    del app, pagename, templatename, doctree
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )
    body = context.get("body", "")
    body = body.replace("<pre>", '<pre tabindex="0">')
    context["body"] = body.replace(
        '<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'
    )


def setup(app: Any) -> None:
    """Connect the changes to Furo's pages."""
    app.connect("html-page-context", make_accessible, priority=900)
