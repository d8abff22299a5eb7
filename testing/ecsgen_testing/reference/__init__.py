"""Reference interpreter: the language of kernels in plain Python, one row at a time, from what the
schemas say.

It shares no code with the generator, and of the library takes `normal` alone. The schemas come as
JSON (`schema`). A *world* of the interpreter (`world`) is made of rows in lists; a *run* (`run`) is
one call of a kernel, whose texts are compiled to closures first (`expressions`, `statements`).
"""
