"""Snapshots of one schema as those of another, policy by policy."""
