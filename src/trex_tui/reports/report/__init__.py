"""The report of one or more engines: one document, told as HTML, Markdown and JSON."""
