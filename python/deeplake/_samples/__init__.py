"""Samples on their way in: files, links, pictures, tables, times."""
