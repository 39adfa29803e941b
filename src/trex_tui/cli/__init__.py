"""The command line: a command is a file here with `HELP`, `add_arguments` and `run`."""
