"""The bodies of commands, a module for each family."""
