"""The commands, one file each; `main` is the entry and imports the others when they run."""
