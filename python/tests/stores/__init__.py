"""Tests against real object stores, in a package: its files may share names with those above."""
