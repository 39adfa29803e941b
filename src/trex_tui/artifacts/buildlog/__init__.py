"""The log of a build or of a run, understood."""
