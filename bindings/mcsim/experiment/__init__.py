"""Experiments that run: YAML built into parts, and the stages of a run."""
