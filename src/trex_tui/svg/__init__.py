"""Charts as SVG: strings that stand in an HTML page, or alone in a file. They know no Textual, no numpy, no browser.

`catalogue.picture(chart_id, engine)` draws a chart of `charts/catalogue.py` out of the same data as the terminal's, and gives
its sentences with it; `catalogue.draw` gives the drawing alone. `plot` has what they are made of, for other numbers: `bars`,
`stacked`, `histogram`, `lines`, `scatter`, `columns`; each takes a `Caption` first, and returns `<svg …>…</svg>`.

In a page (`Caption.standalone` false) there is neither title nor text around the plot: `<title>` and `<desc>` tell them to
those who do not see, the page to the others. The page includes `style.stylesheet()` once, in its `<style>`; there are neither
ids, nor scripts, nor style attributes, so that a strict policy lets the picture be, and several share a page. Text and axes
are in the colour of the page's text. Alone, a picture has background, title, sentences and its own style, light and dark.

Everything drawn goes through `marks.escaped`: names are data. Same data, same string.
"""
