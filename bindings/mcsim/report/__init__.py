"""Pages: one HTML file that shows runs, a sweep or a reproduction, and opens offline.

`mcsim.report.page` has the parts of a page and the template. Charts are those of `mcsim.figures`,
which `mcsim.report.plots` draws with Bokeh. `make`, `sweep` and `reproduction` compose pages.
"""
