"""Typed kernels as numpy code: ufuncs with `out=` over blocks of rows."""
