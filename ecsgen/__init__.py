"""Turns YAML component schemas into specialised, typed, numpy-backed component managers."""

__version__ = "0.1.0"
