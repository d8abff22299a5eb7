"""What the tests of all components share: a naive model, its rules, and direct cases.

Everything comes in pieces, one module per policy; a component's tests put together the
pieces of the policies that its schema asks for.
"""
