"""Loaders: what an epoch delivers, and the steps of Python in it."""
