"""Base of all packages: units, specs, columns, errors, progress."""
