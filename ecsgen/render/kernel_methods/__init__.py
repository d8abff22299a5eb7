"""What kernels and reductions need whatever they are compiled to: arguments, docstrings, tests."""
