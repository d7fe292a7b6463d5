"""The best hierarchy of two tiers, found with few replays of it."""
