"""Base of all packages: units, specs, arrays, errors, progress."""
