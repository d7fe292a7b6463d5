"""Exchange: traces written in formats of others, miss streams, proposed mappings of files."""
