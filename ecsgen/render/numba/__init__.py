"""Typed kernels as loops that numba compiles: one per kernel, each row's steps together."""
