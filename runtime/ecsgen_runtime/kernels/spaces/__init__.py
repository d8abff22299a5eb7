"""Positions in cells, and the pairs within a radius of each other."""
