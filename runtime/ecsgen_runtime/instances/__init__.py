"""Instances: lists of the rows of one entity."""
