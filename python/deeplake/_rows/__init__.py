"""Rows and tensors of a dataset, as they are read."""
