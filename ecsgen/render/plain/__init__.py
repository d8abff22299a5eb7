"""Kernels with `backend: numpy`: blocks of rows, or loops over rows that Python itself runs."""
