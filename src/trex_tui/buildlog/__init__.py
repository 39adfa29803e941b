"""Read build and run logs of every producer."""
