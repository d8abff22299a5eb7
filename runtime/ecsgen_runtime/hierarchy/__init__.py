"""Hierarchies: links between rows, and walks along them."""
