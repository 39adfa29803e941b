"""Rules that find problems and possible savings in an engine."""
