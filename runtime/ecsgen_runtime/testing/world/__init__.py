"""The pieces of the world, a module for each of its features."""
