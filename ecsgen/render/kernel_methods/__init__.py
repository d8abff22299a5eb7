"""Code of kernels and reductions that both printers share: arguments, docstrings, tests."""
