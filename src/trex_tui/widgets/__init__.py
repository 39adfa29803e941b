"""Reusable Textual widgets that know nothing of engines."""
