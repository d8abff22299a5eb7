"""Foundations of the library: errors, handles, callbacks, locks, compilation by numba."""
