"""Views: sections of results, as raw values for every renderer."""

from __future__ import annotations
