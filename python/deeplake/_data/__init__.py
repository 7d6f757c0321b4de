"""Datasets and views, and the functions that open and make them."""
