"""Archetypes: entities with the same components, in chunks of rows."""
