"""Build the documentation site: assemble its sources, then run Sphinx."""
