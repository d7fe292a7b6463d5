"""Pictures of estimates."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.text import Text

import mcsim as mc
from mcsim.figures.estimates import gallery
from mcsim.figures.style import Style, styled


@pytest.mark.parametrize(("style", "width"), [("screen", 7.0), ("paper", 3.5)])
@pytest.mark.parametrize("count", [1, 5, 27])
def test_a_gallery_fits_on_a_page_and_shows_all(style: Style, width: float, count: int) -> None:
    rng = np.random.default_rng(count)
    curves = [
        (f"disk {i}", mc.hit_ratio_curve(rng.zipf(1.3, 5000).astype(np.uint64) % 1000))
        for i in range(count)
    ]
    with styled(style):
        figure = gallery(curves).figure
        figure.draw_without_rendering()
    assert figure.get_figwidth() == width
    assert figure.get_figheight() < 9
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == [name for name, _ in curves]
    for axes, (_, curve) in zip(shown, curves, strict=True):
        (line, _) = axes.lines
        assert line.get_ydata()[-1] == pytest.approx(100 * curve.best_ratio)
        extent = axes.get_tightbbox()
        assert extent.x0 >= -1
        assert extent.x1 <= figure.bbox.x1 + 1
    every = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    if style == "paper":
        assert {text.get_fontsize() for text in every} == {8.0}
    assert {"Hit ratio (%)", "Size / footprint"} <= {text.get_text() for text in every}
