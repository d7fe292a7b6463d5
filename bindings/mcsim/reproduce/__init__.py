"""Figures of four documents: published and measured numbers.

A document is a folder `experiments/reproduce/<document>/`. Its `figures.py` has the list `FIGURES`.
Its experiments, published numbers and notes on differences are YAML files. A figure's `find` runs
ordinary experiments and analyses through a `Context` and returns `Found`. Verdicts compare its
values with the published numbers.
"""
