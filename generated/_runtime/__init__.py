"""What is the same for every schema: real Python, tested by itself, copied into each package that
is made, as far as its modules import it.

The modules import numpy, the standard library and each other, relatively; no public name is
defined twice.
"""
