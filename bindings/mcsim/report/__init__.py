"""Pages: one HTML file that shows runs, a sweep or a reproduction, and opens offline.

A page is made of neutral parts, `mcsim.report.page` and `mcsim.report.charts`, that say what is
shown; `mcsim.figures.declared` makes charts of tables as whoever has them declares it;
`mcsim.report.plots` turns charts into Bokeh's, and a template the whole into HTML. `of_run`,
`of_runs` and `reproduction` tell what is on a page.
"""
