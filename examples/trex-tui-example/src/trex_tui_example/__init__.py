"""Example of plug-ins for trex-tui. A package needs only the parts that it offers."""
