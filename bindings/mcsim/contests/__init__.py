"""A contest of eviction policies: candidates in limited processes, miniatures, full replays."""
