"""Tests against real object stores. A package, so that its files may be called as those beside it."""
