"""What is the same for every schema: real Python, tested here, copied into each generated package.

The modules are bundled into `generated/_runtime.py` in the order of
`ecsgen.render.bundle`. They import numpy, the standard library and each other (as `from
.errors import …`), nothing else.
"""
