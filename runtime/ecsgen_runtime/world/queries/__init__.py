"""Queries: entities that have several components, and their rows."""
