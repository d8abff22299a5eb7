"""Kernels and reductions with numpy: blocks of rows, and what they do to columns."""
