"""Eviction policies replayed: whole, in miniature, over a grid; policies in Python."""
