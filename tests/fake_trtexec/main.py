"""Starts `program`, which Python compiles once and not at each start, as it does a script."""

from program import main

if __name__ == "__main__":
    main()
