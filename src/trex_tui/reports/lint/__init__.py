"""What lint found, for people, scripts, code hosts and pull requests."""
