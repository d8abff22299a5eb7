"""Placement: which rows are in use, and which go where."""
