"""Worlds over several processes."""
