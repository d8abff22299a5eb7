"""Ids: slots that say where a row is."""
