"""Charts as text: pure functions of an engine, some of its layers and a size. They know no terminal and no Textual.

`catalogue.CHARTS` lists them, `figure.draw` makes one of them exactly as large as asked. Styles are theme tokens, so that a
chart follows the theme without being drawn anew.
"""
