"""Pure functions over an engine: the only source of the numbers in screens, reports and commands."""
