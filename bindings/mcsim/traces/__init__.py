"""Trace files: opened, parsed once, stored, cut, generated, merged into a workload."""
