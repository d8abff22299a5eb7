"""Kernels and reductions: their texts to typed trees, which the backends print as code.

`syntax` parses with Python's own parser and lets a whitelist through, `expressions` and `steps`
give every node its type; the trees themselves are defined in `ecsgen.model.typed_tree`. Nothing
here needs numpy, evaluates a text or pastes one into another.
"""
