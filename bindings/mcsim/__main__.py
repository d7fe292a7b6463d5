"""Lets `python -m mcsim` be the command line."""

from mcsim.cli.main import main

if __name__ == "__main__":
    main()
