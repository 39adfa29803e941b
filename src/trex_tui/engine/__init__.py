"""An engine is three tables and a graph."""
