"""Commits, branches, tags, differences, merges and copies."""
