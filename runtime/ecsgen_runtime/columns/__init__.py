"""Columns: the buffers that they are cut from, and the names of fields."""
