"""Engines that run a job on several machines: what their tasks read and write."""
