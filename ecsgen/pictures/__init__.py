"""Layouts as pictures."""
