"""Results as documents: sections, writers, charts, words."""
