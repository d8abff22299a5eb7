"""What compiled kernels call: small functions that numba puts into the loops.

Copied to `_compiled` of packages that are made with `backend: numba`. Each does to the bit what
numpy does with whole columns.
"""
