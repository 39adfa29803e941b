"""Analysis results as text, JSON, CSV and Markdown. One renderer per format, shared by commands and screens."""
