"""Saving and loading a world that is one of several."""
