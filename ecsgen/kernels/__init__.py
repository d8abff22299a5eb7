"""Kernels and reductions: their texts to typed trees, which the backends print as code.

`parsing` uses Python's own parser, `type_checker` types the nodes of a whitelist, `lowering` turns
typed kernels into statements; the trees are defined in `ecsgen.model.typed_tree`. Nothing here
needs numpy, evaluates a text or pastes one text into another.
"""
