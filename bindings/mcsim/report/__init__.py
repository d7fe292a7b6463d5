"""Pages: one HTML file that shows runs, a sweep or a reproduction, and opens offline.

A page is made of neutral parts, `mcsim.report.page` and `mcsim.report.charts`, that say what is
shown; `mcsim.figures.declared` makes charts of tables as whoever has them declares it;
`mcsim.report.plots` turns charts into Bokeh's, and a template the whole into HTML. `of_run`,
`of_runs` and `reproduction` tell what is on a page.

The room can be called: ``mcsim.report(results)`` is `mcsim.report.make.report`.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *runs: Any, **options: Any) -> Any:
        from mcsim.report.make import report

        return report(*runs, **options)


sys.modules[__name__].__class__ = _Callable
