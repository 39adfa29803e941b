"""Many engines: histories of builds, and tables with a row per engine."""
