"""What every other room may use: units, specs, columns, errors, progress."""
