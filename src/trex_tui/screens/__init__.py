"""Screens of the explorer: the tabs of an engine, the list of engines, dialogs."""
