"""What is the same for every schema: real Python, tested by itself, copied into each package that
is made, as far as its modules import it.

The modules import numpy, the standard library and each other, relatively; no public name is
defined twice. What is abstract is so for type checkers, which ask for no `ABC`: that looks for it
anew in each class that is made, a twentieth of a package's import.
"""
