"""Commands, a module per family: its options and what it does. Nothing heavy is imported before a command runs."""
