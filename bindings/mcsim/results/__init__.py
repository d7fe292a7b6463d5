"""What a run leaves behind, and the tables and numbers read off it."""
