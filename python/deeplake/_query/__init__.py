"""Queries, and views saved by name."""
