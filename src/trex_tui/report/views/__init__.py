"""Comparisons out of the terminal: text, Markdown, JSON, CSV and HTML, and the gates that a build may fail by."""

from __future__ import annotations
