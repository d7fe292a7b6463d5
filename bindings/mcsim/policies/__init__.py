"""Eviction policies replayed: whole, in miniature, over a grid; policies in Python."""

BOUND = "opt"
"""Name of the upper bound, which needs foresight."""
