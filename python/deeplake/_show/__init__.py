"""The visualizer, its exported pages, and pictures of rows."""
