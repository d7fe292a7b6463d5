"""Search for the best hierarchy of two tiers with few replays."""
