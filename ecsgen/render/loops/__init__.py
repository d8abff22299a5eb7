"""Kernels as loops over rows: for numba, or for Python itself."""
