"""Entities: handles, arrays of them, and the queue of free indices."""
