"""The pieces of components whose rows live in chunks."""
