"""Trace files: opened, parsed once, stored, cut, generated, joined."""
