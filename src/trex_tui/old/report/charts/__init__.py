"""Charts: pure functions of an engine and some of its layers, drawn in terminal cells or as SVG.

`figure` has the parts of a chart, `*_charts` the charts, `catalogue.CHARTS` all of them; `cells.draw` and
`svg_painter.picture` draw one. A new chart is a function that returns a `Figure`, and its entry in `CHARTS` below it.
"""
