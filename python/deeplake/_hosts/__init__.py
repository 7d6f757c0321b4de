"""Loaders for torch, TensorFlow and JAX."""
