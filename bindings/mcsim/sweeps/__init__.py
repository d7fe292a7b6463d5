"""Sweeps: the cells of a grid planned, run by whatever executes them, joined into one table."""
