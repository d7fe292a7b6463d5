"""Lets `python -m mcsim` be the command line."""

from mcsim.cli import main

if __name__ == "__main__":
    main()
